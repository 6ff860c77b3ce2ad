//! One run, from the spawn to the report.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use confine_core::{LaunchFault, LaunchStage, Report};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::control::Lifeline;
use crate::events;
use crate::order::Order;
use crate::places::Places;
use crate::probe::cache;
use crate::summary::{Ending, Heading};

pub use crate::events::{Event, Events};

/// Where a descriptor of the program leads. The default of stdin is `Null`, of the others `Capture`.
#[derive(Debug, Default)]
pub enum Stdio {
    /// `/dev/null`.
    #[default]
    Null,
    /// The caller's own. A regular file is relayed through a pipe, whatever it is open for: its mode and its times can
    /// be changed through any descriptor. Its offset afterwards is where the program stopped reading.
    Inherit,
    /// A descriptor; likewise.
    Fd(OwnedFd),
    /// Output only: kept (head and tail) and sent as events.
    Capture,
    /// Output only: relayed live to the caller's own descriptor, and kept (head and tail).
    Tee,
    /// For all three at once (set on stdin): a pseudo-terminal of the program's own; see [`Run::terminal`].
    Pty {
        /// Lines.
        rows: u16,
        /// Columns.
        columns: u16,
    },
}

/// A started run. Dropping it ends the tree, at once and on any thread.
pub struct Run {
    heading: Arc<Heading>,
    pid: u32,
    cancel: Cancel,
    lifeline: Lifeline,
    events: Option<Events>,
    terminal: Option<oneshot::Receiver<OwnedFd>>,
    course: JoinHandle<Report>,
}

/// What a run is made of, once its course is on the runtime.
pub(crate) struct Parts {
    pub(crate) heading: Arc<Heading>,
    pub(crate) pid: u32,
    pub(crate) orders: mpsc::UnboundedSender<Order>,
    pub(crate) lifeline: Lifeline,
    pub(crate) events: Events,
    pub(crate) terminal: Option<oneshot::Receiver<OwnedFd>>,
    pub(crate) course: JoinHandle<Report>,
}

/// Ends a run from elsewhere. Cheap to clone.
#[derive(Clone)]
pub struct Cancel {
    orders: mpsc::UnboundedSender<Order>,
}

impl Cancel {
    /// Ends the tree now; the outcome is `cancelled`, with the signal that asked for it, where one did. After the
    /// program's own end it changes nothing.
    pub fn cancel(&self, signal: Option<i32>) {
        // The run may be over.
        let _ = self.orders.send(Order::Cancel(signal));
    }

    /// Sends a signal to the program's process group. Where it asks the program to end (INT, TERM, HUP, QUIT), the
    /// outcome is `cancelled` from then on, with the program's own exit code.
    pub fn signal(&self, signal: i32) {
        let _ = self.orders.send(Order::Signal(signal));
    }
}

impl Run {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            heading: parts.heading,
            pid: parts.pid,
            cancel: Cancel { orders: parts.orders },
            lifeline: parts.lifeline,
            events: Some(parts.events),
            terminal: parts.terminal,
            course: parts.course,
        }
    }

    /// The run's id: a ULID.
    pub fn id(&self) -> &str {
        &self.heading.stamp.run
    }

    /// The wrapper's process id on the host.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Takes the events. To be called once, before [`Run::wait`]; later ones have already ended.
    pub fn events(&mut self) -> Events {
        self.events.take().unwrap_or_else(|| events::channel().1)
    }

    /// A handle to signal or end it from elsewhere.
    pub fn canceller(&self) -> Cancel {
        self.cancel.clone()
    }

    /// The master of the pseudo-terminal, once the stage has made it. To be called once. Cancel-safe.
    ///
    /// # Errors
    /// Where the run has no pseudo-terminal, or the launch failed first.
    pub async fn terminal(&mut self) -> io::Result<OwnedFd> {
        let Some(terminal) = &mut self.terminal else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the run has no pseudo-terminal"));
        };
        let master = terminal.await;
        self.terminal = None;
        master.map_err(|_| {
            io::Error::new(io::ErrorKind::NotConnected, "the run ended without a pseudo-terminal")
        })
    }

    /// Waits until the whole tree is gone, and says what happened. Events that were not taken are dropped.
    pub async fn wait(mut self) -> Report {
        self.events = None;
        match (&mut self.course).await {
            Ok(report) => {
                if report.launch_fault.is_some() {
                    cache::doubt(&Places::here(), &report);
                }
                report
            }
            Err(_) => {
                let fault =
                    LaunchFault::new(LaunchStage::Status, "follow the run: its runtime was shut down");
                self.heading.report(Ending::of(fault))
            }
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.course.is_finished() {
            // Before the runtime gets to it, and even where it never does.
            self.lifeline.cut();
            self.course.abort();
        }
    }
}
