//! The program's pseudo-terminal, from the sandbox's own devpts.
//!
//! With a terminal of its own the program has job control and `/dev/tty`, and no way to push input into the caller's.

use std::os::fd::{AsFd, OwnedFd};

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::failure::Failure;
use crate::plan::TerminalSize;
use crate::report::Report;
use crate::status::Step;
use crate::sys;

/// Opens one, passes its master out, and answers the slave.
pub(crate) fn open_for(size: TerminalSize, report: &Report) -> Result<OwnedFd, Failure> {
    let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let master = open("/dev/ptmx", flags, Mode::empty()).map_err(Failure::of(Step::Terminal, "/dev/ptmx"))?;
    let slave = sys::open_slave(&master, size).map_err(Failure::of(Step::Terminal, "open the slave"))?;
    report.send_terminal(master.as_fd())?;
    Ok(slave)
}

/// Puts the slave on 0 to 2 and makes it the controlling terminal of the session that the process leads.
pub(crate) fn take(slave: &OwnedFd) -> Result<(), Failure> {
    dup2_stdin(slave)
        .and_then(|()| dup2_stdout(slave))
        .and_then(|()| dup2_stderr(slave))
        .and_then(|()| sys::control_terminal())
        .map_err(Failure::of(Step::Terminal, "take the slave"))
}
