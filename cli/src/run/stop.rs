//! Signals that tell confine to stop.
//!
//! The first INT, TERM, HUP or QUIT goes to the program's group, which may clean up; a second one, or 2 s after TERM,
//! ends the tree. A HUP that was ignored when confine started (nohup(1)) stays ignored.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

/// How long a program may take to end after TERM.
const GRACE: Duration = Duration::from_secs(2);

const SIGHUP: i32 = 1;
const SIGTERM: i32 = 15;

/// What a signal leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// To the program's group.
    Forward(i32),
    /// The tree ends now.
    End(i32),
}

/// The signals, and what has been asked so far.
pub(crate) struct Stops {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    hangup: Option<Signal>,
    asked: Asked,
}

/// How often confine was told to stop.
#[derive(Debug, Default)]
struct Asked {
    first: Option<i32>,
    deadline: Option<Instant>,
}

impl Stops {
    /// From now on, these signals no longer end confine itself. Inside a runtime.
    ///
    /// # Errors
    /// sigaction(2)'s.
    pub(crate) fn install() -> io::Result<Self> {
        let hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            quit: signal(SignalKind::quit())?,
            hangup,
            asked: Asked::default(),
        })
    }

    /// Waits for the next step. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Step {
        let signal = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.quit.recv() => SignalKind::quit().as_raw_value(),
            () = arrives(&mut self.hangup) => SIGHUP,
            () = passes(self.asked.deadline) => SIGTERM,
        };
        self.asked.step(signal)
    }
}

impl Stops {
    /// Whether confine was ever told to stop. What the program made of it changes nothing.
    pub(crate) async fn is_told(&mut self) -> bool {
        tokio::select! {
            biased;
            _ = self.next() => {}
            () = std::future::ready(()) => {}
        }
        self.asked.first.is_some()
    }
}

impl Asked {
    fn step(&mut self, signal: i32) -> Step {
        let Some(first) = self.first else {
            self.first = Some(signal);
            self.deadline = (signal == SIGTERM).then(|| Instant::now() + GRACE);
            return Step::Forward(signal);
        };
        self.deadline = None;
        Step::End(first)
    }
}

async fn arrives(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

async fn passes(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// proc_pid_stat(5), which costs the kernel a third of what `status` does.
fn ignores_hangup() -> bool {
    ignored(&std::fs::read("/proc/self/stat").unwrap_or_default()).is_some_and(|mask| mask & 1 == 1)
}

/// The mask of ignored signals, the 33rd field: the 31st after the program's name, which ends with the last `)`.
fn ignored(stat: &[u8]) -> Option<u64> {
    let fields = stat.rsplit(|byte| *byte == b')').next()?;
    std::str::from_utf8(fields).ok()?.split_ascii_whitespace().nth(30)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_found_behind_any_name() {
        let before = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29";
        let stat = format!("42 (a) b (c)) {before} 4097 0 0\n");
        assert_eq!(ignored(stat.as_bytes()), Some(4097));
        assert_eq!(ignored(b""), None);
    }

    #[test]
    fn a_program_that_ignores_hangup_is_told_from_one_that_does_not() {
        for (trap, expected) in [("trap '' HUP;", 1), ("trap - HUP;", 0)] {
            let mut shell = std::process::Command::new("sh");
            let output = shell.args(["-c", &format!("{trap} exec cat /proc/self/stat")]).output().unwrap();
            assert_eq!(ignored(&output.stdout).map(|mask| mask & 1), Some(expected), "{trap}");
        }
    }

    #[test]
    fn the_first_signal_is_forwarded_and_the_second_ends_the_tree_as_the_first() {
        let mut asked = Asked::default();
        assert_eq!(asked.step(2), Step::Forward(2));
        assert!(asked.deadline.is_none(), "only TERM has a deadline");
        assert_eq!(asked.step(15), Step::End(2));
    }

    #[test]
    fn term_has_a_deadline_that_is_over_once_the_tree_ends() {
        let mut asked = Asked::default();
        assert_eq!(asked.step(15), Step::Forward(15));
        assert!(asked.deadline.is_some());
        assert_eq!(asked.step(15), Step::End(15));
        assert!(asked.deadline.is_none());
    }
}
