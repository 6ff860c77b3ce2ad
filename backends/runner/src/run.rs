//! One run, from the spawn to the report.

use std::os::fd::OwnedFd;

use confine_core::report::Violation;
use confine_core::{Outcome, Report};

/// Where a descriptor of the program leads. The default of stdin is `Null`, of the others `Capture`.
#[derive(Debug, Default)]
pub enum Stdio {
    /// `/dev/null`.
    #[default]
    Null,
    /// The caller's own; a regular file open for writing is relayed through a pipe.
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

/// What happens during a run, in order. The channel is bounded: a slow reader blocks the program, never the memory.
#[derive(Debug)]
pub enum Event {
    /// execve(2) succeeded.
    Started {
        /// The program's process id as the stage sees it.
        pid: i32,
    },
    /// Output.
    Stdout(Vec<u8>),
    /// Output.
    Stderr(Vec<u8>),
    /// Something against the policy was seen.
    Violation(Violation),
    /// The program ended; the tree ends next.
    Exited(Outcome),
}

/// A started run. Dropping it ends the tree.
pub struct Run {}

/// The events of a run; without a reader they are dropped, output is still captured.
pub struct Events {}

impl Events {
    /// The next one; `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        todo!()
    }
}

/// Ends a run from elsewhere. Cheap to clone.
#[derive(Clone)]
pub struct Cancel {}

impl Cancel {
    /// Ends the tree now; the outcome is `cancelled`, with the signal that asked for it, where one did.
    pub fn cancel(&self, _signal: Option<i32>) {
        todo!()
    }

    /// Sends a signal to the program's process group.
    pub fn signal(&self, _signal: i32) {
        todo!()
    }
}

impl Run {
    /// The run's id.
    pub fn id(&self) -> &str {
        todo!()
    }

    /// The wrapper's process id on the host.
    pub fn pid(&self) -> u32 {
        todo!()
    }

    /// Takes the events. To be called once, before [`Run::wait`].
    pub fn events(&mut self) -> Events {
        todo!()
    }

    /// A handle to signal or end it from elsewhere.
    pub fn canceller(&self) -> Cancel {
        todo!()
    }

    /// The master of the pseudo-terminal, once the stage has made it.
    ///
    /// # Errors
    /// Where the run has no pseudo-terminal, or the launch failed first.
    pub async fn terminal(&mut self) -> std::io::Result<OwnedFd> {
        todo!()
    }

    /// Waits until the whole tree is gone, and says what happened.
    pub async fn wait(self) -> Report {
        todo!()
    }
}
