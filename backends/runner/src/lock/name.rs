//! Names of third-party backends.

use std::ffi::OsStr;
use std::fmt;

use confine_core::{BackendId, Text};
use serde::{Deserialize, Serialize};

/// What the file of every third-party backend is called, before its name.
pub(crate) const PREFIX: &str = "confine-backend-";
/// Names with a meaning of their own.
const TAKEN: [&str; 5] = ["auto", "bwrap", "landlock", "seatbelt", "windows"];
const LONGEST: usize = 32;

/// A name: a small letter, then small letters, digits and `-`, 32 at most; none of confine's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BackendName(String);

/// Why a word is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Other characters, or too many.
    #[error("`{0}` is no backend's name: small letters, digits and `-`, a letter first, {LONGEST} at most")]
    Spelling(Text),
    /// One of confine's own.
    #[error("the name `{0}` is confine's own")]
    Taken(String),
    /// A file that is not called as a backend is.
    #[error("the file `{0}` is not called `{PREFIX}NAME`")]
    File(Text),
}

impl BackendName {
    /// From a word.
    ///
    /// # Errors
    /// Where it is none.
    pub fn new(word: impl Into<String>) -> Result<Self, NameError> {
        let word = word.into();
        let letter = |byte: u8| byte.is_ascii_lowercase();
        let spelt = word.bytes().all(|byte| letter(byte) || byte.is_ascii_digit() || byte == b'-')
            && word.bytes().next().is_some_and(letter)
            && word.len() <= LONGEST;
        if !spelt {
            return Err(NameError::Spelling(Text::from(word.as_str())));
        }
        if TAKEN.contains(&word.as_str()) {
            return Err(NameError::Taken(word));
        }
        Ok(Self(word))
    }

    /// From the last component of a backend's file: `confine-backend-NAME`.
    ///
    /// # Errors
    /// Where it is called otherwise.
    pub fn of_file(file: &OsStr) -> Result<Self, NameError> {
        let name = file.to_str().and_then(|file| file.strip_prefix(PREFIX));
        name.map_or_else(|| Err(NameError::File(Text::from(file))), Self::new)
    }

    /// What its file is called.
    pub fn file(&self) -> String {
        format!("{PREFIX}{}", self.0)
    }

    /// As every backend has it.
    pub fn id(&self) -> BackendId {
        BackendId::new(self.0.as_str())
    }
}

impl TryFrom<String> for BackendName {
    type Error = NameError;

    fn try_from(word: String) -> Result<Self, NameError> {
        Self::new(word)
    }
}

impl From<BackendName> for String {
    fn from(name: BackendName) -> Self {
        name.0
    }
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
