//! How a call ends.

/// The codes of ABI 1 but 0, which is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// -1: it panicked.
    Panicked,
    /// -2: what it was called with, or what it asked for, is not what that takes.
    BadInput,
    /// -3: it did not work.
    Failed,
    /// -4: it was not allowed.
    Denied,
    /// -5: it was ended.
    Cancelled,
}

const TABLE: &[(Code, i32, &str)] = &[
    (Code::Panicked, -1, "panicked"),
    (Code::BadInput, -2, "bad input"),
    (Code::Failed, -3, "failed"),
    (Code::Denied, -4, "denied"),
    (Code::Cancelled, -5, "cancelled"),
];

/// Why a call, or what it asked for, did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ToolError {
    /// What kind.
    pub code: Code,
    /// For people and models; without secrets.
    pub text: String,
}

impl Code {
    /// By its number; a negative one that is not known has failed. `None` for 0 and above, which is success.
    pub fn of(number: i32) -> Option<Self> {
        let known = TABLE.iter().find(|(_, known, _)| *known == number).map(|(code, ..)| *code);
        if number < 0 { Some(known.unwrap_or(Self::Failed)) } else { None }
    }

    /// Its number.
    pub fn number(self) -> i32 {
        TABLE.iter().find(|(code, ..)| *code == self).map_or(-3, |(_, number, _)| *number)
    }

    /// In words.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|(code, ..)| *code == self).map_or("failed", |(.., name)| *name)
    }
}

impl ToolError {
    /// With a code and a text.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
