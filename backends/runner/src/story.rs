//! What the records of a run say, and what that makes of its end. Pure.

use std::time::Duration;

use confine_core::outcome::Lookup;
use confine_core::policy::Limits;
use confine_core::report::{Leftover, Usage};
use confine_core::{LaunchFault, LimitKind, Outcome, Text};
use confine_stage::Record;
use confine_stage::status::Left;

use crate::fault;

/// The kernel counts a whole tick against whoever runs when it ends, and reports what was measured: on a busy machine it has
/// counted up to this many times as much.
const COUNTED: u32 = 2;

/// Why the runner itself ended a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The wall-clock limit.
    Time(Duration),
    /// The memory limit.
    Memory,
    /// The caller's wish, with the signal that made it wish so.
    Cancelled(Option<i32>),
    /// A mask lost its identity.
    MaskLost,
}

/// The records so far.
#[derive(Debug, Default)]
pub(crate) struct Story {
    staged: Option<i32>,
    failed: Option<LaunchFault>,
    unexecuted: Option<Outcome>,
    ended: Option<i32>,
    stop: Option<Stop>,
    told: Option<i32>,
    /// Processes that were left, at most 64 by name.
    pub(crate) leftovers: Vec<Leftover>,
    /// How many in all.
    pub(crate) left: usize,
    /// Whether nobody is left inside but the stage, by its own record.
    pub(crate) is_deserted: bool,
    /// What the program used.
    pub(crate) usage: Usage,
}

/// What a record means for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing to do.
    None,
    /// The program runs, with this id inside.
    Started(i32),
    /// The program is over; leftovers may follow.
    Over,
    /// Nothing follows.
    Done,
}

impl Story {
    /// Takes a record in.
    pub(crate) fn take(&mut self, record: Record) -> Turn {
        match record {
            Record::Terminal => Turn::None,
            Record::Staged { pid } => {
                self.staged = Some(pid);
                Turn::None
            }
            Record::Started => Turn::Started(self.staged.unwrap_or(0)),
            Record::Failed { step, errno, detail } => {
                self.failed = Some(fault::of_step(step, errno, detail));
                Turn::Done
            }
            Record::ExecFailed { found, errno, program } => {
                let lookup = if found { Lookup::Found } else { Lookup::NotFound };
                let program = Text::from(program);
                self.unexecuted = Some(Outcome::ExecFailed { lookup, errno, program });
                Turn::Over
            }
            Record::Ended { status, user_us, sys_us, max_rss_bytes } => {
                self.ended = Some(status);
                self.usage.user_ms = user_us / 1000;
                self.usage.sys_ms = sys_us / 1000;
                self.usage.max_rss_bytes = max_rss_bytes;
                Turn::Over
            }
            Record::Leftover { pid, command } => {
                self.leftovers.push(Leftover { pid, command: Text::from(command) });
                Turn::None
            }
            Record::Done { left } => {
                match left {
                    Left::Nobody => self.is_deserted = true,
                    Left::Counted(count) => self.left = usize::try_from(count).unwrap_or(usize::MAX),
                }
                Turn::Done
            }
        }
    }

    /// Whether the program is over, by its own record.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.is_some() || self.unexecuted.is_some() || self.failed.is_some()
    }

    /// Notes why the runner ends the tree; the first reason counts, and none after the program is over.
    pub(crate) fn stop(&mut self, stop: Stop) {
        if !self.is_over() && self.stop.is_none() {
            self.stop = Some(stop);
        }
    }

    /// Whether the runner ended the tree.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// Notes that the program was sent a signal that asks it to end.
    pub(crate) fn told(&mut self, signal: i32) {
        if matches!(signal, libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT) && !self.is_over() {
            self.told = Some(signal);
        }
    }

    /// How the run ended; `unstaged` says why the sandbox did not stand, where no record does.
    pub(crate) fn outcome(&self, limits: &Limits, unstaged: impl FnOnce() -> LaunchFault) -> Outcome {
        if let Some(stop) = self.stop {
            return self.stopped(stop);
        }
        if let Some(fault) = &self.failed {
            return Outcome::LauncherFailed(fault.clone());
        }
        if let Some(outcome) = &self.unexecuted {
            return outcome.clone();
        }
        match (self.ended, self.staged) {
            (Some(status), _) => self.ended(status, limits),
            // Somebody killed the stage, and the kernel everything below it.
            (None, Some(_)) => Outcome::Signaled { signal: libc::SIGKILL, core: false },
            (None, None) => Outcome::LauncherFailed(unstaged()),
        }
    }

    fn stopped(&self, stop: Stop) -> Outcome {
        match stop {
            Stop::Time(after) => Outcome::TimedOut { after },
            Stop::Memory => Outcome::Limit { which: LimitKind::Memory },
            Stop::Cancelled(signal) => Outcome::Cancelled { code: self.ended.and_then(exit_code), signal },
            Stop::MaskLost => Outcome::Cancelled { code: None, signal: None },
        }
    }

    fn ended(&self, status: i32, limits: &Limits) -> Outcome {
        if let Some(which) = self.limit(status, limits) {
            return Outcome::Limit { which };
        }
        match (exit_code(status), self.told) {
            (code, Some(signal)) => Outcome::Cancelled { code, signal: Some(signal) },
            (Some(code), None) => Outcome::Exited { code },
            (None, None) => {
                Outcome::Signaled { signal: libc::WTERMSIG(status), core: libc::WCOREDUMP(status) }
            }
        }
    }

    /// The kernel's own signals for a limit that was set, where what was used fits: a program can send them to itself.
    /// SIGKILL is what a program gets that handles SIGXCPU. Nothing tells how long a file was.
    fn limit(&self, status: i32, limits: &Limits) -> Option<LimitKind> {
        if !libc::WIFSIGNALED(status) {
            return None;
        }
        let used = Duration::from_millis(self.usage.user_ms + self.usage.sys_ms);
        let cpu = limits.cpu.is_some_and(|limit| used * COUNTED >= limit);
        match libc::WTERMSIG(status) {
            libc::SIGXCPU | libc::SIGKILL if cpu => Some(LimitKind::Cpu),
            libc::SIGXFSZ if limits.file_size.is_some() => Some(LimitKind::FileSize),
            _ => None,
        }
    }
}

fn exit_code(status: i32) -> Option<u8> {
    libc::WIFEXITED(status).then(|| u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use confine_core::LaunchStage;
    use confine_stage::status::Step;

    const EXIT_7: i32 = 7 << 8;

    fn end(story: &Story, limits: &Limits) -> Outcome {
        story.outcome(limits, || LaunchFault::new(LaunchStage::Status, "know"))
    }

    fn ended(status: i32) -> Story {
        let mut story = Story::default();
        story.take(Record::Staged { pid: 2 });
        story.take(Record::Ended { status, user_us: 900_000, sys_us: 200_000, max_rss_bytes: 0 });
        story
    }

    #[test]
    fn exit_137_and_signal_9_are_told_apart() {
        let none = Limits::default();
        assert_eq!(end(&ended(137 << 8), &none), Outcome::Exited { code: 137 });
        assert_eq!(end(&ended(9), &none), Outcome::Signaled { signal: 9, core: false });
        assert_eq!(end(&ended(0x80 | 11), &none), Outcome::Signaled { signal: 11, core: true });
    }

    #[test]
    fn a_limit_s_signal_counts_only_where_the_limit_was_set() {
        let cpu = Limits { cpu: Some(Duration::from_secs(1)), ..Limits::default() };
        let size = Limits { file_size: Some(1), ..Limits::default() };
        assert_eq!(end(&ended(libc::SIGXCPU), &cpu), Outcome::Limit { which: LimitKind::Cpu });
        assert_eq!(end(&ended(libc::SIGKILL), &cpu), Outcome::Limit { which: LimitKind::Cpu });
        assert_eq!(end(&ended(libc::SIGXFSZ), &size), Outcome::Limit { which: LimitKind::FileSize });
        assert!(matches!(end(&ended(libc::SIGXCPU), &size), Outcome::Signaled { .. }));
        assert!(matches!(end(&ended(libc::SIGKILL), &size), Outcome::Signaled { .. }));
    }

    #[test]
    fn a_limit_s_signal_counts_only_where_the_time_was_used() {
        let cpu = |seconds| Limits { cpu: Some(Duration::from_secs(seconds)), ..Limits::default() };
        for signal in [libc::SIGXCPU, libc::SIGKILL] {
            assert_eq!(end(&ended(signal), &cpu(1)), Outcome::Limit { which: LimitKind::Cpu });
            assert_eq!(end(&ended(signal), &cpu(3)), Outcome::Signaled { signal, core: false });
        }
    }

    #[test]
    fn a_program_that_ends_on_being_told_is_cancelled_with_its_own_code() {
        let mut story = Story::default();
        story.told(libc::SIGWINCH);
        story.told(libc::SIGINT);
        story.take(Record::Ended { status: EXIT_7, user_us: 0, sys_us: 0, max_rss_bytes: 0 });
        let expected = Outcome::Cancelled { code: Some(7), signal: Some(libc::SIGINT) };
        assert_eq!(end(&story, &Limits::default()), expected);
    }

    #[test]
    fn what_comes_after_the_end_changes_nothing() {
        let mut story = ended(EXIT_7);
        story.stop(Stop::Cancelled(None));
        story.told(libc::SIGTERM);
        assert_eq!(end(&story, &Limits::default()), Outcome::Exited { code: 7 });
    }

    #[test]
    fn without_records_the_launcher_failed_and_after_staged_it_did_not() {
        let mut story = Story::default();
        assert!(matches!(end(&story, &Limits::default()), Outcome::LauncherFailed(_)));
        story.take(Record::Staged { pid: 2 });
        let killed = Outcome::Signaled { signal: libc::SIGKILL, core: false };
        assert_eq!(end(&story, &Limits::default()), killed);
    }

    #[test]
    fn a_failed_step_is_the_fault() {
        let mut story = Story::default();
        let record = Record::Failed { step: Step::Landlock, errno: libc::E2BIG, detail: b"".to_vec() };
        assert_eq!(story.take(record), Turn::Done);
        let Outcome::LauncherFailed(fault) = end(&story, &Limits::default()) else { panic!() };
        assert_eq!(fault.stage, LaunchStage::Landlock);
        assert_eq!(fault.errno, Some(libc::E2BIG));
    }
}
