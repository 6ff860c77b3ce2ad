//! Why there is no lock to read, or none to write.

use std::io;

use confine_core::AbsPath;

use super::{BackendName, VERSION};
use crate::places::PlaceError;

/// Why a text is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Not the JSON that a lock is; the error names the key, the line and the column.
    #[error("{0}")]
    Malformed(#[from] serde_json::Error),
    /// Another version.
    #[error("version {0} is unknown: this confine reads version {VERSION}")]
    Version(String),
    /// Two backends of one name.
    #[error("the backend `{0}` is there twice")]
    Twice(BackendName),
    /// Plugins.
    #[error("`plugins` belongs to egress tools, which this version does not have")]
    Plugins,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockFileError {
    /// Its directory.
    #[error("{0}")]
    Place(#[from] PlaceError),
    /// It cannot be read or written.
    #[error("`{path}`: {source}")]
    Unusable {
        /// Which.
        path: AbsPath,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A link, a directory or a special file.
    #[error("`{0}` is not a regular file")]
    Special(AbsPath),
    /// It belongs to somebody else.
    #[error("`{path}` belongs to uid {owner}, not to this user")]
    Owner {
        /// Which.
        path: AbsPath,
        /// Whose.
        owner: u32,
    },
    /// Others may write it.
    #[error("`{0}` can be written by others")]
    Loose(AbsPath),
    /// It is no lock.
    #[error("`{path}`: {source}")]
    Parse {
        /// Which.
        path: AbsPath,
        /// Why.
        #[source]
        source: LockError,
    },
}

impl LockFileError {
    /// The next step for the user.
    pub fn help(&self) -> String {
        match self {
            Self::Place(place) => place.help(),
            Self::Unusable { path, .. } => format!("look at `{path}`"),
            Self::Special(_) => "put the file itself there, not a link to it".to_owned(),
            Self::Owner { path, .. } => format!("move `{path}` away: somebody else wrote it"),
            Self::Loose(path) => format!("look at what is in it, then chmod 600 {path}"),
            Self::Parse { path, .. } => {
                format!("mend `{path}`, or remove it and pin again: `confine backend lock NAME`")
            }
        }
    }
}
