//! Helpers of one plugin, kept warm: calls take a free lane, or start a helper while there are fewer than there may be, or
//! wait their turn. A helper that nobody has used for a while is ended; one that died is found out and replaced.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::helper::{Helper, StartError};
use crate::lane::Lane;
use crate::spec::Spec;

/// How many helpers, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many helpers of one plugin run at most, from 1.
    pub helpers: usize,
    /// How long a helper waits for its next call before it is ended.
    pub idle: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { helpers: 4, idle: Duration::from_secs(60) }
    }
}

/// The pool.
#[derive(Debug)]
pub(crate) struct Pool {
    spec: Spec,
    bounds: Bounds,
    state: Mutex<State>,
    freed: Notify,
    this: Weak<Self>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Idle>,
    helpers: usize,
    is_swept: bool,
}

#[derive(Debug)]
struct Idle {
    seat: Seat,
    since: Instant,
}

/// A lane, and the helper at its other end, which lives as long as one of its lanes.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) lane: Lane,
    pub(crate) helper: Arc<Helper>,
    /// Whether it has waited in the pool.
    pub(crate) was_used: bool,
}

/// One of the helpers that there may be. Dropping it lets another start.
#[derive(Debug)]
pub(crate) struct Place {
    pool: Weak<Pool>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.state().helpers -= 1;
            pool.freed.notify_one();
        }
    }
}

enum Taken {
    Seat(Seat),
    Place(Place),
    Nothing,
}

impl Pool {
    pub(crate) fn new(spec: Spec, bounds: Bounds) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            spec,
            bounds: Bounds { helpers: bounds.helpers.max(1), ..bounds },
            state: Mutex::default(),
            freed: Notify::new(),
            this: this.clone(),
        })
    }

    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// A lane for one call.
    ///
    /// # Errors
    /// Where a helper is needed and cannot be started.
    pub(crate) async fn take(&self) -> Result<Seat, StartError> {
        loop {
            let mut freed = std::pin::pin!(self.freed.notified());
            // From here on nothing that is freed is missed.
            freed.as_mut().enable();
            match self.try_take() {
                Taken::Seat(seat) => return Ok(seat),
                Taken::Place(place) => return self.start(place).await,
                Taken::Nothing => freed.await,
            }
        }
    }

    /// Takes back a lane on which nothing is under way.
    pub(crate) fn give(&self, mut seat: Seat) {
        seat.was_used = true;
        if seat.helper.is_alive() {
            let mut state = self.state();
            state.idle.push(Idle { seat, since: Instant::now() });
            self.sweep_later(&mut state);
        }
        self.freed.notify_one();
    }

    fn try_take(&self) -> Taken {
        let mut dead = Vec::new();
        let mut state = self.state();
        while let Some(idle) = state.idle.pop() {
            if idle.seat.helper.is_alive() {
                drop(state);
                return Taken::Seat(idle.seat);
            }
            dead.push(idle);
        }
        let waits = state.helpers >= self.bounds.helpers && dead.is_empty();
        if !waits {
            state.helpers += 1;
        }
        drop(state);
        // Outside of the lock: their places are given back.
        drop(dead);
        if waits { Taken::Nothing } else { Taken::Place(Place { pool: self.this.clone() }) }
    }

    async fn start(&self, place: Place) -> Result<Seat, StartError> {
        let (helper, lanes) = Helper::start(&self.spec, place).await?;
        let mut seats = lanes.into_iter().map(|lane| Seat { lane, helper: helper.clone(), was_used: false });
        let first = seats.next().ok_or(StartError::NoLane)?;
        seats.for_each(|seat| self.give(seat));
        Ok(first)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sweep_later(&self, state: &mut State) {
        if std::mem::replace(&mut state.is_swept, true) {
            return;
        }
        let (pool, pause) = (self.this.clone(), self.bounds.idle);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(pool) = pool.upgrade() else { return };
                if pool.sweep() == Swept::All {
                    return;
                }
            }
        });
    }

    /// Ends helpers all of whose lanes have been idle for long enough.
    fn sweep(&self) -> Swept {
        let mut state = self.state();
        let idle = std::mem::take(&mut state.idle);
        let all_idle = |helper: &Arc<Helper>| {
            let lanes = idle.iter().filter(|other| Arc::ptr_eq(&other.seat.helper, helper)).count();
            lanes == Arc::strong_count(helper)
        };
        let is_old = |idle: &Idle| idle.since.elapsed() >= self.bounds.idle && all_idle(&idle.seat.helper);
        let ends: Vec<bool> = idle.iter().map(|idle| is_old(idle) || !idle.seat.helper.is_alive()).collect();
        let (old, kept): (Vec<_>, Vec<_>) = idle.into_iter().zip(ends).partition(|(_, ends)| *ends);
        let kept: Vec<Idle> = kept.into_iter().map(|(idle, _)| idle).collect();
        state.idle = kept;
        let swept = if state.idle.is_empty() && state.helpers == 0 { Swept::All } else { Swept::Some };
        let swept = if old.is_empty() { swept } else { Swept::Some };
        state.is_swept = swept == Swept::Some;
        drop(state);
        drop(old);
        swept
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Swept {
    All,
    Some,
}
