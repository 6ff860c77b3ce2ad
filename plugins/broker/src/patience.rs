//! How long a call may take, not counting the time that people take to answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often a clock that stands is looked at.
const GLANCE: Duration = Duration::from_millis(50);

/// One call's.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Duration,
    began: Instant,
    waited: Mutex<Waited>,
}

#[derive(Debug, Default)]
struct Waited {
    before: Duration,
    /// How many questions are open, and since when there is one.
    open: Option<(usize, Instant)>,
}

/// An open question.
pub(crate) struct Pause<'p>(&'p Patience);

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, began: Instant::now(), waited: Mutex::default() }
    }

    /// The clock stands until what is answered is dropped.
    pub(crate) fn pause(&self) -> Pause<'_> {
        let mut waited = self.waited();
        let (open, since) = waited.open.unwrap_or((0, Instant::now()));
        waited.open = Some((open + 1, since));
        Pause(self)
    }

    /// Waits until the time is over.
    pub(crate) async fn expired(&self) {
        loop {
            match self.left() {
                Some(Duration::ZERO) => return,
                Some(left) => sleep(left).await,
                None => sleep(GLANCE).await,
            }
        }
    }

    /// `None` while the clock stands.
    fn left(&self) -> Option<Duration> {
        let waited = self.waited();
        if waited.open.is_some() {
            return None;
        }
        Some((self.limit + waited.before).saturating_sub(self.began.elapsed()))
    }

    fn waited(&self) -> MutexGuard<'_, Waited> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let mut waited = self.0.waited();
        match waited.open {
            Some((open, since)) if open > 1 => waited.open = Some((open - 1, since)),
            Some((_, since)) => {
                waited.before += since.elapsed();
                waited.open = None;
            }
            None => {}
        }
    }
}
