//! Whether what a command reads can be given to it once more.

use std::io;

use confine_runner::approvals::Asked;
use rustix::fs::{FileType, SeekFrom, fstat, major, minor, seek};
use rustix::termios::isatty;

/// The device number of `/dev/null`: Linux, Documentation/admin-guide/devices.txt.
const NULL: (u32, u32) = (1, 3);

/// The caller's standard input, before the first run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Nothing is in it, or a person types it.
    Fresh,
    /// A file, and where in it the command begins to read.
    File(u64),
    /// It is gone once it was read.
    Once,
}

impl Input {
    /// What there is.
    pub(super) fn here() -> Self {
        let stdin = io::stdin();
        let Ok(status) = fstat(&stdin) else { return Self::Once };
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => seek(&stdin, SeekFrom::Current(0)).map_or(Self::Once, Self::File),
            FileType::CharacterDevice if (major(status.st_rdev), minor(status.st_rdev)) == NULL => {
                Self::Fresh
            }
            _ if isatty(&stdin) => Self::Fresh,
            _ => Self::Once,
        }
    }

    /// Whether a second run would read what the first did.
    pub(super) fn is_repeatable(self) -> bool {
        self != Self::Once
    }

    /// `asked`, about a command that reads this.
    ///
    /// # Errors
    /// dup(2)'s.
    pub(super) fn bind(self, asked: Asked) -> io::Result<Asked> {
        match self {
            Self::File(offset) => asked.stdin(io::stdin(), offset),
            Self::Fresh | Self::Once => Ok(asked),
        }
    }

    /// For the next run: back to where the first began.
    ///
    /// # Errors
    /// lseek(2)'s.
    pub(super) fn rewind(self) -> io::Result<()> {
        match self {
            Self::File(offset) => Ok(seek(io::stdin(), SeekFrom::Start(offset)).map(drop)?),
            Self::Fresh | Self::Once => Ok(()),
        }
    }
}
