//! Why nothing can be asked, or a session cannot be used.

use std::io;

use confine_core::approval::{AskError, BadId, MemoryError};
use confine_core::audit::Fault;
use confine_core::{AbsPath, Text};

use super::kept::KeptError;
use super::ledger::LedgerError;
use super::preset::PresetError;
use crate::places::PlaceError;

/// Why there is no answer, not even a refusal: the call is wrong, or what confine keeps cannot be trusted. Nothing may run.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalsError {
    /// A directory of confine's own.
    #[error("cannot keep a session: {0}")]
    Place(#[from] PlaceError),
    /// The event log.
    #[error("cannot use the event log: {0}")]
    Log(#[from] LedgerError),
    /// The event log was tampered with, or is of a later version.
    #[error("cannot trust the event log: `{path}`: {fault}")]
    Corrupt {
        /// Which.
        path: AbsPath,
        /// The first thing that is wrong.
        #[source]
        fault: Fault,
    },
    /// The file of rules.
    #[error("cannot use the saved approvals: {0}")]
    Memory(#[from] KeptError),
    /// It is no file of rules.
    #[error("cannot use the saved approvals: `{path}`: {source}")]
    Rules {
        /// Which.
        path: AbsPath,
        /// Why.
        #[source]
        source: MemoryError,
    },
    /// The presets.
    #[error("{0}")]
    Preset(#[from] PresetError),
    /// It cannot be asked.
    #[error("{0}")]
    Ask(#[from] AskError),
    /// A step of the session cannot be written down.
    #[error("cannot write the event log: {0}")]
    Unwritten(#[source] io::Error),
    /// `CONFINE_SESSION` names no session.
    #[error("cannot use the session `{0}`: {BadId}")]
    Session(Text),
    /// What confine keeps could be written by what is to run. A policy keeps it out of reach that was resolved with
    /// [`Places::own_directories`](crate::places::Places::own_directories), after the session was opened.
    #[error("cannot ask: the command could write `{0}`, where approvals are kept")]
    Exposed(AbsPath),
    /// No random numbers for an id.
    #[error("cannot make an id that nobody guesses: {0}")]
    Random(#[source] io::Error),
    /// A request needs a runtime.
    #[error("cannot ask outside a tokio runtime")]
    Runtime,
    /// What would run cannot be read in time.
    #[error("cannot measure what would run within {0} s")]
    Slow(u64),
    /// No thread to measure it on.
    #[error("cannot measure what would run: {0}")]
    Thread(#[source] io::Error),
    /// A thread of ours ended early.
    #[error("cannot ask: the runtime is shutting down")]
    Ended,
}

impl ApprovalsError {
    /// The next step for the user.
    pub fn help(&self) -> String {
        match self {
            Self::Place(place) => place.help(),
            Self::Log(LedgerError::File(file)) | Self::Memory(file) => file.help(),
            Self::Log(_) | Self::Corrupt { .. } => {
                "`confine audit verify` says what is wrong; begin another session (`CONFINE_SESSION`), and keep this log"
                    .to_owned()
            }
            Self::Unwritten(_) => "look at the room on the disk of the state directory".to_owned(),
            Self::Session(_) => "set `CONFINE_SESSION` to a name like `work-1`, or unset it".to_owned(),
            Self::Rules { path, .. } => format!("mend `{path}`, or move it away"),
            Self::Preset(preset) => preset.help(),
            Self::Exposed(_) => "set `XDG_STATE_HOME` to a directory outside of every write grant".to_owned(),
            Self::Slow(_) => "look at the files that the command names, and at the disk that they are on".to_owned(),
            Self::Ask(_) | Self::Random(_) | Self::Thread(_) | Self::Runtime | Self::Ended => {
                "docs/harnesses.md says how a request is made".to_owned()
            }
        }
    }
}
