//! Names of tools.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest name, in bytes.
const LONGEST: usize = 64;

/// A tool's name: a lower-case letter, then lower-case letters, digits and hyphens; at most 64.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(String);

/// A word that is no tool's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no tool's name: a lower-case letter, then lower-case letters, digits and hyphens, at most 64"
)]
pub struct NameError(String);

impl ToolName {
    /// # Errors
    /// Any other word.
    pub fn new(word: impl Into<String>) -> Result<Self, NameError> {
        let word = word.into();
        let known = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
        let begins = word.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        if begins && word.len() <= LONGEST && word.bytes().all(known) {
            Ok(Self(word))
        } else {
            Err(NameError(word.chars().take(LONGEST).collect()))
        }
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ToolName {
    type Error = NameError;

    fn try_from(word: String) -> Result<Self, NameError> {
        Self::new(word)
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
