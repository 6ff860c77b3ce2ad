//! The parent of the program's process: tells what happens, obeys, passes signals on, and reaps.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_no_new_privs;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{MsgFlags, recv};
use nix::unistd::Pid;

use crate::failure::Failure;
use crate::plan::Role;
use crate::program::{Program, Started};
use crate::report::{Heard, Report};
use crate::scratch::Scratch;
use crate::status::{Command, Left, MAX_LEFTOVERS, MAX_RECORD, Record, Step};
use crate::sys::Reaped;
use crate::{capabilities, descent, descriptors, exit, processes, session, sys};

/// How far the program has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Preparing,
    Staged,
    Started,
    /// With the exit code that this makes.
    Failed(u8),
}

/// The parent's state.
pub(crate) struct Reaper<'a> {
    report: &'a Report,
    role: Role,
    program: Pid,
    /// Until its end of file.
    words: Option<OwnedFd>,
    signals: SignalFd,
    lifeline: Option<OwnedFd>,
    phase: Phase,
    /// To be removed when the descent is dead.
    pub(crate) scratch: Option<Scratch>,
}

impl<'a> Reaper<'a> {
    /// Starts the program, and then gives up what the parent needs no more.
    pub(crate) fn start(
        program: Program<'_>,
        report: &'a Report,
        lifeline: Option<OwnedFd>,
    ) -> Result<Self, Failure> {
        let heard = session::heard();
        heard.thread_block().map_err(Failure::of(Step::Process, "block signals"))?;
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&heard, flags).map_err(Failure::of(Step::Process, "signalfd"))?;
        let role = program.invocation.plan.role;
        let Started { pid, words, scratch } = program.start()?;
        let reaper = Self {
            report,
            role,
            program: pid,
            words: Some(words),
            signals,
            lifeline,
            phase: Phase::Preparing,
            scratch,
        };
        reaper.give_up();
        Ok(reaper)
    }

    /// Until the program or its listener is gone; answers the stage's exit code.
    pub(crate) fn run(&mut self) -> u8 {
        loop {
            self.wait();
            self.hear_program();
            if self.is_abandoned() || self.hear_runner().is_break() {
                return exit::of_status(libc::SIGKILL);
            }
            self.hear_signals();
            if let Some(reaped) = self.reap() {
                return self.conclude(&reaped);
            }
        }
    }
}

impl Reaper<'_> {
    /// The program's input and output are the program's alone, and nothing that follows needs a privilege. What fails
    /// here has failed in the program's process too, which says so. The bounding set is about execve(2), which this
    /// process never calls.
    fn give_up(&self) {
        descriptors::release();
        let _ = capabilities::drop_all();
        let _ = set_no_new_privs();
    }

    fn wait(&self) {
        // What the program's process says is read at its end of file: to be woken for each word would cost both.
        let sources = [
            (Some(self.signals.as_fd()), PollFlags::POLLIN),
            (self.words.as_ref().map(AsFd::as_fd), PollFlags::empty()),
            (self.report.socket(), PollFlags::POLLIN),
            (self.lifeline.as_ref().map(AsFd::as_fd), PollFlags::POLLIN),
        ];
        let mut sources: Vec<_> =
            sources.iter().filter_map(|(fd, events)| Some(PollFd::new((*fd)?, *events))).collect();
        // An interruption is as good as an event: everything is looked at anyway.
        let _ = poll(&mut sources, PollTimeout::NONE);
    }

    fn is_abandoned(&self) -> bool {
        self.lifeline.as_ref().is_some_and(|fd| {
            let mut source = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
            poll(&mut source, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
        })
    }

    /// Passes on what the program's process says until it is the program.
    fn hear_program(&mut self) {
        while let Some(words) = &self.words {
            let mut message = [0; MAX_RECORD];
            match recv(words.as_raw_fd(), &mut message, MsgFlags::MSG_DONTWAIT) {
                Err(Errno::EAGAIN | Errno::EINTR) => return,
                Ok(length) if length > 0 => self.pass_on(message.get(..length).unwrap_or_default()),
                _ => self.words = None,
            }
        }
        if self.phase == Phase::Staged {
            self.phase = Phase::Started;
            self.report.send(&Record::Started);
        }
    }

    fn pass_on(&mut self, message: &[u8]) {
        let Ok(record) = Record::decode(message) else { return };
        self.phase = match &record {
            Record::Failed { .. } => Phase::Failed(exit::FAILED),
            Record::ExecFailed { found, .. } => Phase::Failed(exit::of_lookup(*found)),
            _ => Phase::Staged,
        };
        self.report.send(&record);
    }

    fn hear_runner(&self) -> ControlFlow<()> {
        loop {
            match self.report.hear() {
                Heard::Nothing => return ControlFlow::Continue(()),
                Heard::End | Heard::Command(Command::Go) => return ControlFlow::Break(()),
                Heard::Command(Command::Signal(signal)) => self.signal(signal),
            }
        }
    }

    /// Process 1 hears only what comes from outside its namespace, which has no process id there: the program must not
    /// end its own tree without a word. A runner speaks by its socket, so that for it a signal means the end.
    fn hear_signals(&self) {
        while let Ok(Some(heard)) = self.signals.read_signal() {
            let inside = self.role == Role::Init && heard.ssi_pid != 0;
            let number = i32::try_from(heard.ssi_signo).unwrap_or(libc::SIGCHLD);
            match self.report {
                _ if inside || number == libc::SIGCHLD => {}
                Report::Control(_) => self.signal(libc::SIGKILL),
                Report::Message => self.signal(number),
            }
        }
    }

    /// To the program's process group, or to its process while it has none.
    fn signal(&self, signal: i32) {
        let pid = self.program.as_raw();
        if sys::kill(-pid, signal) == Err(Errno::ESRCH) {
            let _ = sys::kill(pid, signal);
        }
    }

    /// Whatever ended; answers the program, if it is among it.
    fn reap(&self) -> Option<Reaped> {
        let mut program = None;
        while let Ok(Some(reaped)) = sys::reap() {
            if reaped.pid == self.program {
                program = Some(reaped);
            }
        }
        program
    }

    fn conclude(&mut self, reaped: &Reaped) -> u8 {
        self.hear_program();
        match self.phase {
            Phase::Failed(code) => return code,
            Phase::Preparing => {
                let words = format!("the process ended with status {:#x} before the program", reaped.status);
                self.report.fail(&Failure::words(Step::Process, &words));
                return exit::FAILED;
            }
            Phase::Staged | Phase::Started => {}
        }
        if let Report::Control(_) = self.report {
            self.report.send(&reaped.record());
            self.tell_leftovers();
        }
        exit::of_status(reaped.status)
    }

    fn tell_leftovers(&self) {
        let Some(left) = descent::leftovers(self.role) else {
            return self.report.send(&Record::Done { left: Left::Nobody });
        };
        for pid in left.iter().take(MAX_LEFTOVERS) {
            self.report.send(&Record::Leftover { pid: *pid, command: processes::command(*pid) });
        }
        let count = u32::try_from(left.len()).unwrap_or(u32::MAX);
        self.report.send(&Record::Done { left: Left::Counted(count) });
    }
}
