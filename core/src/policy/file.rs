//! A policy as written: TOML or JSON with the same keys.

/// stub: see the policy document for the keys.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PolicyFile {}

/// Where and why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    /// 1-based line, where known.
    pub line: Option<usize>,
    /// Names the key and the reason.
    pub message: String,
    /// The next step.
    pub help: Option<String>,
}

/// How a policy is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

impl PolicyFile {
    /// # Errors
    /// Unknown keys, wrong types, wrong versions, features that are not built yet: each names key and line.
    pub fn parse(_text: &str, _syntax: Syntax) -> Result<Self, ParseError> {
        todo!()
    }

    /// A built-in policy: `read-only` or `workspace-write`.
    pub fn builtin(_name: &str) -> Option<Self> {
        todo!()
    }
}
