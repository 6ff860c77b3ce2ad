//! How refusals are worded: data, one table for each backend, and the engine that reads output with it.
//!
//! A dialect yields sightings: lines that a refusal may have caused, with what they are about. Whether the policy
//! blocks that target, and whether it would have worked outside, is for classification to say; text alone is never
//! more than a reason to look.

mod builtin;
mod errno;
mod file;
mod launcher;
mod lines;
mod quoting;
mod row;
mod sight;
mod template;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::backend::RunnerFailure;
use crate::{BackendId, Effect, Layer, Text};
use row::Answer;
use sight::Index;

pub(crate) use errno::refusals;
pub use file::Provenance;
pub use row::{Row, Trial};

/// A line in a [`Sighting`] or in evidence holds at most so many bytes.
pub const LINE_BOUND: usize = 512;
/// One output yields at most so many sightings.
pub const SIGHTING_BOUND: usize = 64;

/// The name of a dialect: that of its backend (`bwrap`, `landlock`, `seatbelt`, `windows`, …).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DialectId(String);

impl DialectId {
    /// From its name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&BackendId> for DialectId {
    fn from(backend: &BackendId) -> Self {
        Self(backend.as_str().to_owned())
    }
}

impl fmt::Display for DialectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Which output of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What a program tried, as far as its words tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attempt {
    /// To open something: the words do not say whether to read, to write or to execute. The policy tells.
    Open,
    /// To read a file or list a directory.
    Read,
    /// To write an existing file, or to empty it.
    Write,
    /// To create a file, a node or a symbolic link, or to open one for writing that may be there.
    Create,
    /// To make a directory.
    MakeDirectory,
    /// To make what is no regular file, or a file with others beside it: a symbolic link, a FIFO, a file that replaces
    /// another, a database with its journal.
    Make,
    /// To remove a file or a directory.
    Remove,
    /// To rename.
    Rename,
    /// To make a hard link.
    Link,
    /// To change mode, times or extended attributes.
    Metadata,
    /// To give something to another user or group.
    Owner,
    /// To execute.
    Execute,
    /// To connect.
    Connect,
    /// To look a name up.
    Resolve,
    /// To bind or listen.
    Bind,
    /// To send without a connection.
    Send,
    /// To signal a process.
    Signal,
    /// To trace a process, or to read its memory or what the system tells of it.
    Trace,
    /// To mount, unmount or change the root.
    Mount,
    /// To make or enter a namespace.
    Namespace,
    /// To open or make a device.
    Device,
    /// Another system call.
    Call,
}

/// What it was tried on, as printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// A path as printed: it may be relative to a directory that the program has changed to.
    Path(OsString),
    /// A host, with `:PORT` where the port is printed.
    Host(String),
    /// A process, by its number.
    Process(i32),
    /// A system call or a key of the kernel, by name.
    Call(String),
    /// Nothing that is printed.
    Nothing,
}

/// One line that a refusal may have caused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The effect that would have been refused. Under [`Attempt::Open`] it is a guess that the policy decides.
    pub effect: Effect,
    /// Layers of this backend that answer so, the likeliest first; empty where the list of layers has no word for it.
    pub layers: Vec<Layer>,
    /// What was tried.
    pub attempt: Attempt,
    /// On what; of a rename or a link, the new name.
    pub object: Object,
    /// Of a rename or a link, the old name as printed: the policy tells which of the two it is about.
    pub from: Option<OsString>,
    /// The name of the error number (`EROFS`), where the words tell.
    pub errno: Option<&'static str>,
    /// The tool whose words these are; `any` for words that many share.
    pub tool: String,
    /// Where it was printed.
    pub stream: Stream,
    /// The line, at most [`LINE_BOUND`] bytes of it.
    pub line: Text,
}

/// Why a text is no dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}{reason}", named(key))]
pub struct DialectError {
    /// Counted from 1.
    pub line: usize,
    /// The key, as far as it is known.
    pub key: String,
    /// What is wrong.
    pub reason: String,
}

fn named(key: &str) -> String {
    if key.is_empty() || key == "." { String::new() } else { format!("`{key}`: ") }
}

/// A backend's wording of refusals, and that of the tools that run in it.
#[derive(Clone, Debug)]
pub struct Dialect {
    id: DialectId,
    provenance: Provenance,
    rows: Vec<Row>,
    answers: Vec<Answer>,
    contexts: Vec<file::Context>,
    launcher: file::Launcher,
    index: OnceLock<Option<Index>>,
}

impl Dialect {
    /// Reads a dialect. It may `include = ["tools"]`: how the usual programs word an error.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line, key and reason.
    pub fn parse(text: &str) -> Result<Self, DialectError> {
        let file = file::File::parse(text)?;
        let mut dialect = Self {
            id: file.id,
            provenance: file.source,
            rows: row::rows(file.rows, text)?,
            answers: row::answers(file.answers, text)?,
            contexts: file.contexts,
            launcher: file.launcher,
            index: OnceLock::new(),
        };
        for name in file.include {
            let shared = builtin::shared(name.get_ref()).ok_or_else(|| DialectError {
                line: file::line(text, name.span().start),
                key: "include".into(),
                reason: format!("`{}` is no shared table; there is `tools`", name.get_ref()),
            })?;
            dialect.include(shared)?;
        }
        Ok(dialect)
    }

    fn include(&mut self, text: &str) -> Result<(), DialectError> {
        let file = file::File::parse(text)?;
        self.rows.extend(row::rows(file.rows, text)?);
        self.contexts.extend(file.contexts);
        Ok(())
    }

    /// How the wrapper's own failures look, for spawners in other languages.
    pub fn runner_failure(&self) -> RunnerFailure {
        self.launcher.runner_failure()
    }

    /// The dialect of one of our own backends; `None` for any other name.
    pub fn builtin(id: &DialectId) -> Option<&'static Self> {
        builtin::dialect(id)
    }

    /// The names of our own dialects.
    pub fn names() -> impl Iterator<Item = DialectId> {
        builtin::names()
    }

    /// The text of one of our own dialects, and that of each shared table after it; empty for any other name.
    pub fn written(id: &DialectId) -> Vec<&'static str> {
        builtin::written(id)
    }

    /// Its name.
    pub const fn id(&self) -> &DialectId {
        &self.id
    }

    /// Whether its rows were measured.
    pub const fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// How tools word errors, the first that fits first.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The lines of `output` that a refusal may have caused, in order, at most [`SIGHTING_BOUND`]. Linear in its size.
    pub fn read(&self, stream: Stream, output: &[u8]) -> Vec<Sighting> {
        self.read_beside(stream, output, &[])
    }

    /// As [`Dialect::read`]; where a line does not say what was tried, words of `context` (the command, as bytes) may.
    pub fn read_beside(&self, stream: Stream, output: &[u8], context: &[u8]) -> Vec<Sighting> {
        self.sight(stream, output, context).into_iter().map(|(_, sighting)| sighting).collect()
    }

    /// The rows that `output` has a line for, each with its sighting: for whoever checks the table.
    pub fn matches(&self, stream: Stream, output: &[u8], context: &[u8]) -> Vec<(&Row, Sighting)> {
        let sighted = self.sight(stream, output, context).into_iter();
        sighted.filter_map(|(row, sighting)| Some((self.rows.get(row)?, sighting))).collect()
    }

    /// The line of `stderr` that says that the launcher itself failed, as far as text can tell; the program never ran.
    pub fn launcher_failure<'a>(&self, exit: u8, stderr: &'a [u8]) -> Option<&'a [u8]> {
        self.launcher.failure(exit, stderr)
    }
}
