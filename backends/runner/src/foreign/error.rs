//! Why a third-party backend is not used.

use std::io;

use confine_core::probe::Unusable;
use confine_core::{AbsPath, Reason, Text};

use super::call::CallError;
use crate::lock::{BackendName, Digest, NameError};

/// Each names the program, and says what is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// No name, or no file, of a backend.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Nothing by that name on the path.
    #[error("there is no `{0}` on PATH")]
    NotOnPath(String),
    /// No such file.
    #[error("`{0}` is not there")]
    Gone(Text),
    /// Others could replace it, or it is no program.
    #[error("{}", .0.reason)]
    Untrusted(Unusable),
    /// The path leads elsewhere now.
    #[error("`{path}` leads to `{to}` now")]
    Moved {
        /// What is pinned.
        path: AbsPath,
        /// Where it leads.
        to: AbsPath,
    },
    /// It cannot be copied into memory.
    #[error("`{path}` cannot be loaded: {source}")]
    Unreadable {
        /// Which.
        path: AbsPath,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// It is too long to be one.
    #[error("`{path}` is longer than {bound} bytes")]
    TooLarge {
        /// Which.
        path: AbsPath,
        /// The longest, in bytes.
        bound: u64,
    },
    /// A script whose interpreter depends on where it starts.
    #[error("`{path}` is a script whose `#!` line names no absolute path")]
    Interpreter {
        /// Which.
        path: AbsPath,
    },
    /// Another content.
    #[error("`{path}` changed since it was pinned: its sha256 is {found}, and confine.lock says {pinned}")]
    Changed {
        /// By which name it is pinned.
        name: BackendName,
        /// Where.
        path: AbsPath,
        /// What was pinned.
        pinned: Digest,
        /// What is there.
        found: Digest,
    },
    /// It is somebody else by its own word.
    #[error("`{}` calls itself `{says}`", pin.file())]
    OtherName {
        /// By which name it is pinned.
        pin: BackendName,
        /// What it says.
        says: Text,
    },
    /// Its dialect is none.
    #[error("`{file}` has a dialect that cannot be read: {reason}")]
    Dialect {
        /// Which program.
        file: String,
        /// Where and why.
        reason: Text,
    },
    /// A question that has no JSON.
    #[error("the policy names a path that is not UTF-8, which the protocol has no words for")]
    Unwritable,
    /// It did not answer.
    #[error("`{file}` does not answer `{verb}`: {source}")]
    Call {
        /// Which program.
        file: String,
        /// What it was asked.
        verb: &'static str,
        /// What happened.
        #[source]
        source: CallError,
    },
    /// Its answer is none.
    #[error("`{file}` answers `{verb}` with what is no answer: {reason}")]
    Answer {
        /// Which program.
        file: String,
        /// What it was asked.
        verb: &'static str,
        /// What is wrong with it.
        reason: Text,
    },
}

const BROKEN: &str = "mend it or ask who wrote it, and pin it again; or use another backend";

impl ForeignError {
    /// The next step for the user.
    pub fn help(&self) -> String {
        match self {
            Self::Name(_) => "name a file `confine-backend-NAME` with its path, or its NAME alone".to_owned(),
            Self::NotOnPath(file) => format!("install it, or name the file with its path: `DIR/{file}`"),
            Self::Gone(_) => "install it again, or forget it: `confine backend unlock NAME`".to_owned(),
            Self::Untrusted(unusable) => {
                unusable.remedy.as_ref().map_or_else(|| BROKEN.to_owned(), Reason::to_string)
            }
            Self::Changed { name, .. } => {
                format!(
                    "find out who changed it and how; where that was right, `confine backend lock {name}`"
                )
            }
            Self::Moved { .. } => {
                "find out who moved it; where that was right, pin it again: `confine backend lock NAME`"
                    .to_owned()
            }
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "let this user read it; where it is readable, set the sysctl `vm.memfd_noexec` to 1 or less"
                    .to_owned()
            }
            Self::Unwritable => "use `--backend bwrap`".to_owned(),
            _ => BROKEN.to_owned(),
        }
    }
}

impl From<ForeignError> for Unusable {
    fn from(error: ForeignError) -> Self {
        Self::new(Reason::from(error.to_string()), Reason::from(error.help()))
    }
}
