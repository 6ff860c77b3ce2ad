//! `confine.lock`, version 1: which programs of others confine runs, pinned by their content.
//!
//! The file belongs to the user and lies in the configuration directory, beside `policy.toml`; there is none in a
//! workspace, because whoever writes a workspace must not say who confines. What is in it is the user's word of trust: a
//! backend decides what "confined" means.

mod error;
mod file;
mod name;

use std::fmt;

use confine_core::AbsPath;
use serde::{Deserialize, Serialize};

pub use error::{LockError, LockFileError};
pub use name::{BackendName, NameError};

/// The version of the file.
pub const VERSION: u32 = 1;
/// Its name.
pub const FILE: &str = "confine.lock";

/// The file's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    backends: Vec<Pin>,
}

/// One program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// By which name it is chosen.
    pub name: BackendName,
    /// The file, with every link resolved.
    pub path: AbsPath,
    /// Of its content.
    pub sha256: Digest,
}

/// A SHA-256: 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// A word that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sha256 is 64 lower-case hexadecimal digits")]
pub struct DigestError;

/// Nothing but the version: another one may have other keys.
#[derive(Deserialize)]
struct Versioned {
    version: serde_json::Number,
}

/// The file as written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    backends: Vec<Pin>,
    plugins: Vec<serde_json::Value>,
}

impl Lock {
    /// Reads the file's text.
    ///
    /// # Errors
    /// Another version, a key too many or too few, a value of the wrong shape, a name given twice, or plugins, which
    /// belong to later versions of confine.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let Versioned { version } = serde_json::from_str(text)?;
        if version.as_u64() != Some(u64::from(VERSION)) {
            return Err(LockError::Version(version.to_string()));
        }
        let Written { backends, plugins, .. } = serde_json::from_str(text)?;
        if !plugins.is_empty() {
            return Err(LockError::Plugins);
        }
        let mut lock = Self::default();
        for pin in backends {
            if let Some(twice) = lock.insert(pin) {
                return Err(LockError::Twice(twice.name));
            }
        }
        Ok(lock)
    }

    /// The file's text.
    pub fn encode(&self) -> String {
        let written = Written { version: VERSION, backends: self.backends.clone(), plugins: Vec::new() };
        // Strings and numbers always encode.
        let mut text = serde_json::to_string_pretty(&written).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Every backend, by name.
    pub fn backends(&self) -> &[Pin] {
        &self.backends
    }

    /// One of them.
    pub fn backend(&self, name: &BackendName) -> Option<&Pin> {
        self.backends.iter().find(|pin| pin.name == *name)
    }

    /// Pins a backend; answers what was pinned by that name before.
    pub fn insert(&mut self, pin: Pin) -> Option<Pin> {
        let before = self.remove(&pin.name);
        let at = self.backends.partition_point(|other| other.name < pin.name);
        self.backends.insert(at, pin);
        before
    }

    /// Forgets a backend; answers it, where there was one.
    pub fn remove(&mut self, name: &BackendName) -> Option<Pin> {
        let at = self.backends.iter().position(|pin| pin.name == *name)?;
        Some(self.backends.remove(at))
    }
}

impl Digest {
    /// From its digits.
    ///
    /// # Errors
    /// Where it is not 64 of them, lower-case.
    pub fn new(digits: impl Into<String>) -> Result<Self, DigestError> {
        let digits = digits.into();
        let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if digits.len() == 64 && digits.bytes().all(hexadecimal) {
            Ok(Self(digits))
        } else {
            Err(DigestError)
        }
    }
}

impl AsRef<str> for Digest {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(digits: String) -> Result<Self, DigestError> {
        Self::new(digits)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests;
