//! A dialect as written.

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{Attempt, DialectError, DialectId};
use crate::{Effect, Layer};

/// The file. Unknown keys are errors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) id: DialectId,
    #[serde(default)]
    pub(super) source: Provenance,
    #[serde(default)]
    pub(super) include: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) launcher: Launcher,
    #[serde(default, rename = "row")]
    pub(super) rows: Vec<Row>,
    #[serde(default, rename = "answer")]
    pub(super) answers: Vec<Answer>,
    #[serde(default, rename = "context")]
    pub(super) contexts: Vec<Context>,
}

/// Where a dialect's rows come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// Measured; `confine dialect verify` measures again.
    #[default]
    Measured,
    /// Taken from documents: nobody has run it here.
    Documentation,
}

/// How the launcher's own failures look.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Launcher {
    /// A failure exits with one of these.
    #[serde(default)]
    pub(super) exit_codes: Vec<u8>,
    /// And prints a line that begins with one of these.
    #[serde(default)]
    pub(super) prefixes: Vec<String>,
    /// Lines that are no failure although they begin so: removed first, by exact equality.
    #[serde(default)]
    pub(super) informational: Vec<String>,
}

/// How a tool words an error.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Row {
    pub(super) tool: String,
    pub(super) attempt: Attempt,
    pub(super) text: Spanned<String>,
    /// Where the words tell more than the attempt.
    #[serde(default)]
    pub(super) effect: Option<Effect>,
    /// Where the words mean one error number without saying so.
    #[serde(default)]
    pub(super) errno: Option<Spanned<String>>,
    /// A text of a line near by, which must be there too; what it captures counts.
    #[serde(default)]
    pub(super) near: Option<Spanned<String>>,
    /// A line as measured.
    pub(super) example: String,
    /// And the line near by.
    #[serde(default)]
    pub(super) beside: String,
    /// The shell command that shows it again, for `confine dialect verify`.
    #[serde(default, rename = "try")]
    pub(super) trial: Option<String>,
    /// Programs that the command needs; by default the first word of it.
    #[serde(default)]
    pub(super) needs: Vec<String>,
    /// The backends under which it shows so; by default every measured one.
    #[serde(default)]
    pub(super) on: Vec<String>,
}

/// What an error number says at which layer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Answer {
    pub(super) effect: Effect,
    /// The likeliest first.
    pub(super) layers: Vec<Layer>,
    /// Only for rows that name the effect.
    #[serde(default)]
    pub(super) named: bool,
    /// Names of error numbers; `unsaid` where the words do not tell.
    pub(super) errno: Vec<Spanned<String>>,
    /// Every attempt where empty.
    #[serde(default)]
    pub(super) attempt: Vec<Attempt>,
    /// Only for paths at or below one of these; `{pid}` is a component of digits.
    #[serde(default)]
    pub(super) under: Vec<String>,
}

/// Words near a line, or in the command, that tell what the line leaves out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Context {
    pub(super) attempt: Attempt,
    #[serde(default)]
    pub(super) effect: Option<Effect>,
    pub(super) words: Vec<String>,
}

impl File {
    pub(super) fn parse(text: &str) -> Result<Self, DialectError> {
        let toml = toml::Deserializer::parse(text).map_err(|error| malformed("", &error, text))?;
        serde_path_to_error::deserialize(toml)
            .map_err(|error| malformed(&error.path().to_string(), error.inner(), text))
    }
}

fn malformed(key: &str, error: &toml::de::Error, text: &str) -> DialectError {
    let reason = error.message().trim_end().replace('\n', "; ");
    let at = error.span().map_or(0, |span| span.start);
    DialectError { line: line(text, at), key: key.to_owned(), reason }
}

/// The line of the byte `at`, counted from 1.
pub(super) fn line(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}
