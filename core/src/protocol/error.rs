//! What is wrong with a line, by name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LONGEST_LINE, LONGEST_NAME};
use crate::Text;

/// Why a message led to nothing: the `fault` of an `error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// No JSON, no object, or a field that is missing or of another type.
    Malformed,
    /// Longer than a line may be. The connection ends.
    TooLong,
    /// A `kind` that this version does not have.
    UnknownKind,
    /// The first line was no `hello`. The connection ends.
    NoHello,
    /// A second `hello`.
    SecondHello,
    /// A version that is not spoken. The connection ends.
    Version,
    /// A run of that name is under way.
    RunExists,
    /// No run of that name is under way on this connection.
    UnknownRun,
    /// As many runs are under way as a connection may have.
    TooManyRuns,
    /// The run reads nothing from this connection, or no more.
    StdinClosed,
    /// More was sent than the program has read: wait for `run/stdin` to say so.
    StdinFull,
    /// A turn of that name is open.
    TurnExists,
    /// No turn of that name is open on this connection.
    UnknownTurn,
    /// No approval of that name was ever asked on this connection.
    UnknownApproval,
    /// The approval was decided before; the answer changes nothing.
    Decided,
    /// The answer is none of the approval's choices.
    NoChoice,
    /// What was asked cannot be answered; `launch_fault` says why.
    Refused,
}

/// A line that is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Malformed {
    /// In one word.
    pub fault: Fault,
    /// For people.
    pub text: String,
    /// What it names all the same.
    pub about: Box<Names>,
}

/// What a line names, as far as it does: an `error` says it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Names {
    /// The `kind` of what was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Its `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Its `turn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// Its `approval`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<String>,
}

impl Names {
    pub(super) fn of(value: &Value) -> Self {
        let name = |key: &str| {
            let text = value.get(key).and_then(Value::as_str);
            text.filter(|text| text.len() <= LONGEST_NAME).map(str::to_owned)
        };
        Self {
            of: name("kind"),
            id: name("id"),
            run: name("run"),
            turn: name("turn"),
            approval: name("approval"),
        }
    }
}

impl Malformed {
    pub(super) fn json(error: &serde_json::Error) -> Self {
        let text = format!("read JSON: {}", Text::from(error.to_string().as_str()));
        Self::named(&Value::Null, Fault::Malformed, &text)
    }

    pub(super) fn named(value: &Value, fault: Fault, text: &str) -> Self {
        Self { fault, text: text.to_owned(), about: Box::new(Names::of(value)) }
    }

    pub(super) fn field(value: &Value, error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let reason = Text::from(error.inner().to_string().as_str()).to_string();
        let text = match error.path().to_string().as_str() {
            "." => reason,
            path => format!("`{}`: {reason}", Text::from(path)),
        };
        Self::named(value, Fault::Malformed, &text)
    }

    /// A line that was never read.
    pub fn too_long() -> Self {
        let text = format!("a line has at most {LONGEST_LINE} bytes");
        Self::named(&Value::Null, Fault::TooLong, &text)
    }
}
