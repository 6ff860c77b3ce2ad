//! The supervisor's own session: no terminal's keys reach it, and what its descent orphans becomes its child.

use std::os::fd::OwnedFd;

use nix::fcntl::OFlag;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{ForkResult, Pid, getpgrp, getpid, pipe2, setsid};

use crate::failure::Failure;
use crate::status::Step;
use crate::{exit, sys};

/// What a foreign spawner may send, to be passed on.
pub(crate) const FORWARDED: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];

/// On which side of [`begin`] the process came out.
pub(crate) enum Side {
    /// The supervisor; end of file on the lifeline means that the process which the spawner knows is gone.
    Supervisor(Option<OwnedFd>),
    /// The process that the spawner knows: it only waits, passes signals on, and repeats this exit code.
    Known(u8),
}

/// Leads a session. A process-group leader cannot, so that one forks once.
pub(crate) fn begin() -> Result<Side, Failure> {
    let side = if getpgrp() == getpid() { divide()? } else { Side::Supervisor(None) };
    if matches!(side, Side::Supervisor(_)) {
        setsid().map_err(Failure::of(Step::Process, "setsid"))?;
        set_child_subreaper(true).map_err(Failure::of(Step::Process, "become a subreaper"))?;
    }
    Ok(side)
}

/// The signals that the stage hears of instead of dying.
pub(crate) fn heard() -> SigSet {
    let mut set: SigSet = FORWARDED.into_iter().collect();
    set.add(Signal::SIGCHLD);
    set
}

fn divide() -> Result<Side, Failure> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC).map_err(Failure::of(Step::Process, "pipe"))?;
    heard().thread_block().map_err(Failure::of(Step::Process, "block signals"))?;
    match sys::fork().map_err(Failure::of(Step::Process, "fork"))? {
        ForkResult::Child => Ok(Side::Supervisor(Some(reader))),
        ForkResult::Parent { child } => {
            let code = wait(child);
            drop(writer);
            Ok(Side::Known(code))
        }
    }
}

fn wait(supervisor: Pid) -> u8 {
    loop {
        match heard().wait() {
            Ok(Signal::SIGCHLD) => {}
            Ok(signal) => {
                let _ = kill(supervisor, signal);
            }
            Err(_) => return exit::FAILED,
        }
        match sys::reap() {
            Ok(Some(reaped)) => return exit::of_status(reaped.status),
            Ok(None) => {}
            Err(_) => return exit::FAILED,
        }
    }
}
