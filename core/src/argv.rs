//! The argv that a harness is about to spawn.

use std::ffi::{OsStr, OsString};

use crate::AbsPath;

/// A command: its words, never empty, and the directory it starts in.
///
/// The first word is looked up with the program's own `PATH`, inside the sandbox. A `cwd` that is hidden or missing
/// there is a launcher failure (125), never another directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argv {
    words: Vec<OsString>,
    cwd: AbsPath,
}

/// An argv needs at least the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the command is empty")]
pub struct EmptyArgv;

impl Argv {
    /// # Errors
    /// When there is no word, or the first one is empty.
    pub fn new(
        words: impl IntoIterator<Item = impl Into<OsString>>,
        cwd: AbsPath,
    ) -> Result<Self, EmptyArgv> {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        match words.first() {
            Some(program) if !program.is_empty() => Ok(Self { words, cwd }),
            _ => Err(EmptyArgv),
        }
    }

    /// All words, the program first.
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The first word.
    pub fn program(&self) -> &OsStr {
        self.words.first().map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// Where it starts.
    pub fn cwd(&self) -> &AbsPath {
        &self.cwd
    }
}
