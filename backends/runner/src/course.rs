//! A run while it lasts: records, wishes of the caller, limits, and the end of the tree.
//!
//! The tree is ended by cutting the lifeline, whatever the reason; the wrapper is killed only where it does not end
//! by itself then.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use confine_core::policy::Limits;
use confine_core::report::Violation;
use confine_core::{Outcome, Report};
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::control::Received;
use crate::events::{Announcer, Event};
use crate::fault;
use crate::guard::{Aftermath, Due};
use crate::order::Order;
use crate::relay::Phase;
use crate::spawn::{PATIENCE, Spawner};
use crate::standing::Standing;
use crate::story::{Stop, Story, Turn};
use crate::stream::Streams;
use crate::summary::{Ending, Heading};
use crate::tree;
use crate::watch::Stood;

/// Between TERM and the end, when the time limit is reached.
const GRACE: Duration = Duration::from_secs(1);
/// How long the caller's own descriptors may hold up the end of a run that was ended.
const FLUSH: Duration = Duration::from_secs(1);

/// What a run starts with. The wrapper is dropped first: it sees to the reaping and the debts.
pub(crate) struct Start {
    /// The wrapper, and the runner's end of the control socket.
    pub(crate) standing: Standing,
    /// Known for the report.
    pub(crate) heading: Arc<Heading>,
    /// The policy's limits.
    pub(crate) limits: Limits,
    /// What the runner keeps of the streams.
    pub(crate) streams: Streams,
    /// To the reader of events.
    pub(crate) announcer: Announcer,
    /// Wishes; a sender of it lives as long as the run.
    pub(crate) orders: mpsc::UnboundedReceiver<Order>,
    /// Tasks that send orders of their own.
    pub(crate) watchers: JoinSet<()>,
    /// What masks stood on.
    pub(crate) stood: Option<Stood>,
    /// Where the terminal's master goes.
    pub(crate) terminal: Option<oneshot::Sender<OwnedFd>>,
    /// Lives as long as there is a run.
    pub(crate) _spawner: Arc<Spawner>,
    /// When the spawn began.
    pub(crate) clock: Instant,
}

/// A run in its course.
pub(crate) struct Course {
    start: Start,
    ended: AsyncFd<Arc<OwnedFd>>,
    relays: JoinSet<()>,
    phase: watch::Sender<Phase>,
    story: Story,
    violations: Vec<Violation>,
    /// The time limit, then the end of the grace after it.
    deadline: Option<Instant>,
    announced: bool,
}

/// Whether the tree goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Continue,
    End,
}

impl Course {
    /// Starts the relays. Inside a runtime.
    ///
    /// # Errors
    /// When the wrapper's end cannot be watched.
    pub(crate) fn begin(mut start: Start) -> io::Result<Self> {
        let ended = start.standing.process.watch()?;
        let (phase, progress) = watch::channel(Phase::Launch);
        let mut relays = JoinSet::new();
        for relay in start.streams.relays.drain(..) {
            relays.spawn(relay.run(progress.clone()));
        }
        if let Some(feed) = start.streams.feed.take() {
            relays.spawn(feed.run(progress));
        }
        let deadline = start.limits.time.map(|time| start.clock + time);
        Ok(Self {
            start,
            ended,
            relays,
            phase,
            story: Story::default(),
            violations: Vec::new(),
            deadline,
            announced: false,
        })
    }

    /// Until the whole tree is gone and everything is read.
    pub(crate) async fn follow(mut self) -> Report {
        let mut next = match self.start.standing.first.take() {
            Some(received) => self.take(received),
            None => Next::Continue,
        };
        while next == Next::Continue {
            next = self.step().await;
        }
        self.start.watchers.abort_all();
        self.start.standing.control.lifeline().cut();
        let ahead = self.settle_ahead();
        self.reap().await;
        self.compare_masks();
        let outcome = self.outcome();
        self.announce(&outcome);
        self.drain().await;
        let aftermath = match ahead {
            Some(aftermath) => aftermath,
            None => self.settle().await,
        };
        let aftermath = self.tell(aftermath);
        self.report(outcome, aftermath)
    }

    async fn step(&mut self) -> Next {
        let deadline = self.deadline;
        tokio::select! {
            biased;
            received = self.start.standing.control.receive() => match received {
                Ok(Some(received)) => self.take(received),
                // At the end of file nobody is left inside; what is no record comes from nobody we know.
                Ok(None) | Err(_) => Next::End,
            },
            _ = self.ended.readable() => self.take_rest(),
            Some(order) = self.start.orders.recv() => self.obey(order),
            () = passes(deadline) => self.time_is_up(),
        }
    }

    fn take(&mut self, received: Received) -> Next {
        if let (Some(master), Some(terminal)) = (received.descriptor, self.start.terminal.take()) {
            // Nobody may want it.
            let _ = terminal.send(master);
        }
        match self.story.take(received.record) {
            Turn::None => Next::Continue,
            Turn::Started(pid) => {
                self.story.usage.launch_us = micros(self.start.clock.elapsed());
                self.start.announcer.say(Event::Started { pid });
                self.phase.send_replace(Phase::Running);
                self.start.standing.process.has_read();
                Next::Continue
            }
            Turn::Over => {
                let outcome = self.outcome();
                self.announce(&outcome);
                Next::Continue
            }
            Turn::Done => Next::End,
        }
    }

    /// The wrapper is gone: what it sent before is still there.
    fn take_rest(&mut self) -> Next {
        while let Some(received) = self.start.standing.control.try_receive() {
            if self.take(received) == Next::End {
                break;
            }
        }
        Next::End
    }

    fn obey(&mut self, order: Order) -> Next {
        let stop = match order {
            Order::Signal(signal) => {
                self.story.told(signal);
                self.start.standing.control.signal(signal);
                return Next::Continue;
            }
            Order::Cancel(signal) => Stop::Cancelled(signal),
            Order::OverMemory => Stop::Memory,
            Order::MaskLost(path) => {
                self.violated(Violation::MaskLost { path });
                Stop::MaskLost
            }
        };
        self.story.stop(stop);
        Next::End
    }

    fn time_is_up(&mut self) -> Next {
        let Some(limit) = self.start.limits.time.filter(|_| !self.story.is_stopped()) else {
            return Next::End;
        };
        self.story.stop(Stop::Time(limit));
        self.start.standing.control.signal(libc::SIGTERM);
        self.deadline = Some(Instant::now() + GRACE);
        Next::Continue
    }

    /// Waits for the wrapper, and so for the kernel to have ended the whole tree.
    async fn reap(&mut self) {
        if timeout(PATIENCE, self.ended.readable()).await.is_err() {
            let pid = self.start.standing.process.pid();
            let _ = spawn_blocking(move || tree::end(pid)).await;
            // Dropped unreaped, the process is left to a thread of its own.
            let _ = timeout(PATIENCE, self.ended.readable()).await;
        }
        self.start.standing.process.reap();
        self.phase.send_replace(Phase::Dead);
        self.start.announcer.release();
    }

    /// A mask that was lost before anybody watched it.
    fn compare_masks(&mut self) {
        let known = self.violations.iter().any(|one| matches!(one, Violation::MaskLost { .. }));
        let stood = self.start.stood.as_ref().filter(|_| !known);
        if let Some(path) = stood.and_then(Stood::lost) {
            self.violated(Violation::MaskLost { path });
        }
    }

    fn violated(&mut self, violation: Violation) {
        self.start.announcer.say(Event::Violation(violation.clone()));
        self.violations.push(violation);
    }

    /// Everything that is in the pipes; once the run was ended, or its caller wants it to be, the caller's descriptors
    /// cannot hold it up for long.
    async fn drain(&mut self) {
        let (relays, orders, stopped) = (&mut self.relays, &mut self.start.orders, self.story.is_stopped());
        let all = async { while relays.join_next().await.is_some() {} };
        let enough = async {
            while !stopped && !matches!(orders.recv().await, Some(Order::Cancel(_)) | None) {}
            sleep(FLUSH).await;
        };
        tokio::select! {
            biased;
            () = all => {}
            () = enough => {}
        }
    }

    /// Pays what is owed on the host while the wrapper is still ending, where nobody is left inside who could change
    /// anything: that takes the kernel longer than the payment. Not where other runs have a part in it.
    fn settle_ahead(&mut self) -> Option<Aftermath> {
        let guard = self
            .start
            .standing
            .process
            .settle_if(|guard| self.story.is_deserted && guard.due() == Due::Alone)?;
        Some(guard.finish_as(Due::Alone))
    }

    /// Likewise after its end, off the runtime where it may have to wait: a thread costs more than a few names.
    async fn settle(&mut self) -> Aftermath {
        let Some(guard) = self.start.standing.process.settle() else { return Aftermath::default() };
        match guard.due() {
            Due::Alone => guard.finish_as(Due::Alone),
            Due::Shared => spawn_blocking(move || guard.finish_as(Due::Shared)).await.unwrap_or_default(),
        }
    }

    /// Tells the reader of events what was found.
    fn tell(&mut self, mut aftermath: Aftermath) -> Aftermath {
        aftermath.violations.retain(|violation| !self.violations.contains(violation));
        for violation in &aftermath.violations {
            self.start.announcer.say(Event::Violation(violation.clone()));
        }
        aftermath
    }

    fn outcome(&mut self) -> Outcome {
        let (streams, process) = (&self.start.streams, &mut self.start.standing.process);
        self.story.outcome(&self.start.limits, || fault::of_wrapper(&streams.words(), process.reap()))
    }

    fn announce(&mut self, outcome: &Outcome) {
        if !std::mem::replace(&mut self.announced, true) {
            self.start.announcer.say(Event::Exited(outcome.clone()));
        }
    }

    fn report(self, outcome: Outcome, aftermath: Aftermath) -> Report {
        let mut usage = self.story.usage;
        usage.wall_ms = u64::try_from(self.start.clock.elapsed().as_millis()).unwrap_or(u64::MAX);
        let report = self.start.heading.report(Ending {
            outcome,
            violations: self.violations,
            aftermath,
            output: self.start.streams.captured(),
            leftovers: self.story.leftovers,
            left: self.story.left,
            usage,
        });
        for denial in &report.denials {
            self.start.announcer.say(Event::Denial(denial.clone()));
        }
        report
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

async fn passes(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
