//! Where the stage's words go: records to the control socket, or one line to standard error for a foreign spawner.

use std::io::{IoSlice, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, UnixAddr, recv, send, sendmsg};

use crate::failure::Failure;
use crate::status::{Command, Record, Step};

/// What every line begins with that the stage writes to its standard error for a foreign spawner.
pub const MESSAGE_PREFIX: &str = "confine-stage: ";

/// The stage's ear and mouth.
pub(crate) enum Report {
    /// The runner's socket.
    Control(OwnedFd),
    /// Standard error, for failures only.
    Message,
}

/// What came from the runner.
pub(crate) enum Heard {
    Nothing,
    Command(Command),
    /// The runner is gone, or speaks another language: the tree ends either way.
    End,
}

impl Report {
    /// A runner that is gone is noticed by its end of file, so nothing is made of an error here.
    pub(crate) fn send(&self, record: &Record) {
        match self {
            Self::Control(socket) => {
                let _ = send(socket.as_raw_fd(), &record.encode(), MsgFlags::MSG_NOSIGNAL);
            }
            Self::Message => print(record),
        }
    }

    pub(crate) fn fail(&self, failure: &Failure) {
        self.send(&failure.record());
    }

    /// Passes the terminal's master out.
    pub(crate) fn send_terminal(&self, master: BorrowedFd<'_>) -> Result<(), Failure> {
        let Self::Control(socket) = self else {
            return Err(Failure::words(Step::Terminal, "`--tty` without `--control`"));
        };
        let message = Record::Terminal.encode();
        let descriptors = [master.as_raw_fd()];
        let control = [ControlMessage::ScmRights(&descriptors)];
        let parts = [IoSlice::new(&message)];
        sendmsg::<UnixAddr>(socket.as_raw_fd(), &parts, &control, MsgFlags::MSG_NOSIGNAL, None)
            .map_err(Failure::of(Step::Terminal, "pass the master out"))?;
        Ok(())
    }

    /// What to poll.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Control(socket) => Some(socket.as_fd()),
            Self::Message => None,
        }
    }

    /// Waits for the runner's word to go on; false where it says anything else, or is gone.
    pub(crate) fn awaits_go(&self) -> bool {
        loop {
            match self.listen(MsgFlags::empty()) {
                Heard::Nothing if matches!(self, Self::Control(_)) => {}
                heard => return matches!(heard, Heard::Command(Command::Go)),
            }
        }
    }

    /// The next command, without waiting.
    pub(crate) fn hear(&self) -> Heard {
        self.listen(MsgFlags::MSG_DONTWAIT)
    }

    fn listen(&self, flags: MsgFlags) -> Heard {
        let Self::Control(socket) = self else { return Heard::Nothing };
        // More than a command takes, so that a longer message is none.
        let mut message = [0; 64];
        match recv(socket.as_raw_fd(), &mut message, flags) {
            Err(Errno::EAGAIN | Errno::EINTR) => Heard::Nothing,
            Ok(length) => message
                .get(..length)
                .and_then(|message| Command::decode(message).ok())
                .map_or(Heard::End, Heard::Command),
            Err(_) => Heard::End,
        }
    }
}

/// What each step tries, to complete "cannot …".
const fn purpose(step: Step) -> &'static str {
    match step {
        Step::Plan => "read the plan",
        Step::Stdio => "use the standard descriptors",
        Step::Verify => "find the view as planned",
        Step::Terminal => "open the pseudo-terminal",
        Step::Scratch => "make the private directory",
        Step::Process => "start the program's process",
        Step::Rlimit => "limit the resources",
        Step::Capabilities => "drop the capabilities",
        Step::Landlock => "apply the Landlock domain",
        Step::Seccomp => "install the system-call filter",
    }
}

fn print(record: &Record) {
    let (purpose, about, errno) = match record {
        Record::Failed { step, errno, detail } => (purpose(*step), detail, *errno),
        Record::ExecFailed { errno, program, .. } => ("execute the program", program, *errno),
        _ => return,
    };
    let about = String::from_utf8_lossy(about);
    let line = match errno {
        0 => format!("{MESSAGE_PREFIX}cannot {purpose}: {about}\n"),
        _ => format!("{MESSAGE_PREFIX}cannot {purpose}: `{about}`: {}\n", Errno::from_raw(errno).desc()),
    };
    let _ = std::io::stderr().write_all(line.as_bytes());
}
