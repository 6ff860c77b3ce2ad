//! What comes to nothing, and why.

use std::io;

use serde::{Deserialize, Serialize};

use crate::approval::{ApprovalRequestId, JUSTIFICATION, Part, TurnId};

/// Why an answer, or the use of one, comes to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Ignored {
    /// Nothing of that id was asked in a turn that is open.
    Unknown,
    /// It is not this one that an approver was asked about, but the same one before it.
    NotAsked,
    /// It is not decided.
    Undecided,
    /// It is decided already.
    Decided,
    /// It was refused.
    NotAllowed,
    /// It was used.
    Used,
    /// It came after the deadline.
    Late,
    /// The session was revoked.
    Revoked,
    /// What would run is not what was asked about.
    Drift {
        /// What changed.
        parts: Vec<Part>,
    },
}

impl std::fmt::Display for Ignored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => f.pad("nothing of that id was asked in an open turn"),
            Self::NotAsked => f.pad("the same was asked before, and that one is to be answered"),
            Self::Undecided => f.pad("it is not decided"),
            Self::Decided => f.pad("it is decided already"),
            Self::NotAllowed => f.pad("it was refused"),
            Self::Used => f.pad("it was used"),
            Self::Late => f.pad("it came after the deadline"),
            Self::Revoked => f.pad("the session was revoked"),
            Self::Drift { parts } => {
                let parts: Vec<String> = parts.iter().map(Part::to_string).collect();
                write!(f, "{} changed since it was asked", parts.join(", "))
            }
        }
    }
}

/// Why an approval is not good for a start.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It is not, or no longer.
    #[error("cannot use the approval: {0}")]
    Ignored(Ignored),
    /// The use cannot be written down.
    #[error("cannot use the approval: it cannot be written down: {0}")]
    Log(#[source] io::Error),
}

/// Why something cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Its turn is not open.
    #[error("cannot ask: the turn `{0}` is not open")]
    NoTurn(TurnId),
    /// Its id was used.
    #[error("cannot ask: the id `{0}` was used")]
    Twice(ApprovalRequestId),
    /// More than a person reads.
    #[error("cannot ask: the justification is longer than {JUSTIFICATION} characters")]
    TooLong,
    /// What would be shown is not what was measured.
    #[error("cannot ask: what was measured is something else than what is asked about")]
    OtherBinding,
    /// The question cannot be written down.
    #[error("cannot ask: it cannot be written down: {0}")]
    Log(#[from] io::Error),
}
