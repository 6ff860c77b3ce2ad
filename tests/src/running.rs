//! A call that is under way.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Finished;
use crate::finished::show;

/// A started `confine`. Dropping it kills it.
pub struct Running {
    child: Option<Child>,
    command: String,
    started: Instant,
    report: Option<PathBuf>,
}

impl Running {
    /// Starts `command`.
    ///
    /// # Panics
    /// When it does not start.
    pub fn new(mut command: Command, report: Option<PathBuf>) -> Self {
        let started = Instant::now();
        let shown = show(&command);
        let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
        Self { child: Some(child), command: shown, started, report }
    }

    /// The process id of `confine`.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Sends a signal to `confine` alone.
    ///
    /// # Panics
    /// When it is gone.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).expect("process ids are small");
        kill(Pid::from_raw(pid), signal)
            .unwrap_or_else(|error| panic!("cannot signal {}: {error}", self.command));
    }

    /// Whether it has ended.
    pub fn is_over(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| child.try_wait().is_ok_and(|status| status.is_some()))
    }

    /// Waits for the end; stdin is closed only afterwards.
    ///
    /// # Panics
    /// When it does not end in time.
    pub fn wait(mut self) -> Finished {
        let mut child = self.child.take().expect("a run is waited for once");
        let stdin = child.stdin.take();
        let finished = Finished::wait(child, self.command.clone(), self.started);
        drop(stdin);
        match &self.report {
            Some(report) => finished.with_report(report),
            None => finished,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
