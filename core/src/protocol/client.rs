//! What a client says.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Fault, LONGEST_NAME, Malformed, Names};
use crate::approval::Answer;
use crate::{AbsPath, Text, json};

/// A line of a client, read.
#[derive(Clone, Debug, PartialEq)]
pub enum FromClient {
    /// `hello`.
    Hello(Greeting),
    /// `run/start`.
    RunStart(Box<Launch>),
    /// `run/stdin`.
    RunStdin(Input),
    /// `run/signal`.
    RunSignal(Signalled),
    /// `run/cancel`.
    RunCancel(Cancelled),
    /// `turn/open`.
    TurnOpen(TurnNamed),
    /// `turn/close`.
    TurnClose(TurnNamed),
    /// `approval/answer`.
    ApprovalAnswer(Ruling),
    /// `approval/cancel`.
    ApprovalCancel(Withdrawn),
    /// `probe`.
    Probe(Asked),
    /// `plan`.
    Plan(Box<Question>),
    /// `policy/check`.
    PolicyCheck(Box<Question>),
    /// `policy/show`.
    PolicyShow(Box<Question>),
    /// `policy/describe`.
    PolicyDescribe(Box<Question>),
}

/// A client's name for a run, a turn or a request: 1 to [`LONGEST_NAME`] bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Name(#[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))] String);

/// Why a text is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to {LONGEST_NAME} bytes")]
pub struct NameError;

/// The first line of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Greeting {
    /// The version of the protocol that it speaks.
    pub version: u32,
    /// Who it is, for people.
    #[serde(default)]
    pub client: Option<String>,
    /// Whether it answers approvals: without it, nobody is ever asked.
    #[serde(default)]
    pub approvals: Approvals,
    /// How long an approval waits for its answer, in milliseconds: 60,000 without it, at most an hour.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
}

/// Whether anybody is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Approvals {
    /// This client.
    Ask,
    /// Nobody.
    #[default]
    Never,
}

/// A command to be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Launch {
    /// The client's name for it, that no run of the connection has at the moment.
    pub run: Name,
    /// The program and its arguments.
    pub command: Vec<Text>,
    /// Where it starts.
    pub cwd: AbsPath,
    /// The whole of the caller's environment, of which the policy passes a part; without it, the server's own.
    #[serde(default)]
    pub environment: Option<BTreeMap<String, Text>>,
    /// The workspace roots; without any, `cwd`.
    #[serde(default)]
    pub workspaces: Vec<AbsPath>,
    /// A policy by its name or file, as `--policy` takes it.
    #[serde(default)]
    pub policy: Option<Text>,
    /// More of a policy, upon the other, as a policy file in JSON has it: what the options of `confine run` say.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::PolicyFile>"))]
    pub settings: Option<Value>,
    /// The name of a backend, or `auto`.
    #[serde(default)]
    pub backend: Option<String>,
    /// What the program reads.
    #[serde(default)]
    pub stdin: Stdin,
    /// How much of each stream the report keeps, in bytes: 65,536 without it, at most 1 MiB.
    #[serde(default)]
    pub max_output: Option<u64>,
    /// The open turn that it belongs to; without it, one of its own.
    #[serde(default)]
    pub turn: Option<Name>,
    /// More than the policy gives, for this run only: `{"mode": …}` or `{"grants": […]}`. Together with `justification`.
    #[serde(default)]
    pub sandbox_permissions: Option<Value>,
    /// Why, in at most 1,000 characters. Together with `sandbox_permissions`.
    #[serde(default)]
    pub justification: Option<String>,
}

/// What a program reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stdin {
    /// Nothing.
    #[default]
    Null,
    /// What `run/stdin` brings.
    Pipe,
    /// This.
    Data(Text),
}

/// More for the program to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Input {
    /// Of which run.
    pub run: Name,
    /// What.
    #[serde(default)]
    pub data: Text,
    /// Whether that is the last.
    #[serde(default)]
    pub end: bool,
}

/// A signal for the program's process group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Signalled {
    /// Of which run.
    pub run: Name,
    /// Its number, 1 to 64.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64)))]
    pub signal: i32,
}

/// A run that is to end now, with every process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cancelled {
    /// Which.
    pub run: Name,
}

/// A turn of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnNamed {
    /// The client's name for it.
    pub turn: Name,
}

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ruling {
    /// To which `approval/request`.
    pub approval: String,
    /// What: one of its choices.
    pub answer: Word,
    /// Why not, for whoever asked.
    #[serde(default)]
    pub reason: String,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Yes, this time.
    AllowOnce,
    /// Yes, while the session lasts, to what the choice covers.
    AllowForSession,
    /// Yes, from now on, to what the choice covers.
    AllowAlways,
    /// No.
    Reject,
    /// Neither: stop.
    Cancel,
}

/// An approval that nobody will answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Withdrawn {
    /// Which `approval/request`.
    pub approval: String,
}

/// A question without words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// The client's name for the question, in the answer again.
    pub id: Name,
}

/// A question about a policy, or about a command under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Question {
    /// The client's name for the question, in the answer again.
    pub id: Name,
    /// The program and its arguments, for `plan`.
    #[serde(default)]
    pub command: Vec<Text>,
    /// Where it starts.
    pub cwd: AbsPath,
    /// The workspace roots; without any, `cwd`.
    #[serde(default)]
    pub workspaces: Vec<AbsPath>,
    /// As in `run/start`.
    #[serde(default)]
    pub policy: Option<Text>,
    /// As in `run/start`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::PolicyFile>"))]
    pub settings: Option<Value>,
    /// As in `run/start`.
    #[serde(default)]
    pub backend: Option<String>,
}

impl Name {
    /// As the client wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Text::from(self.0.as_str()).fmt(f)
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        if (1..=LONGEST_NAME).contains(&text.len()) { Ok(Self(text)) } else { Err(NameError) }
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl Ruling {
    /// As an approver says it.
    pub fn answer(self) -> Answer {
        match self.answer {
            Word::AllowOnce => Answer::AllowOnce,
            Word::AllowForSession => Answer::AllowForSession,
            Word::AllowAlways => Answer::AllowAlways,
            Word::Reject => Answer::Reject { reason: self.reason },
            Word::Cancel => Answer::Cancel,
        }
    }
}

impl FromClient {
    /// Reads a line, and what it names. Fields that are not known are ignored.
    ///
    /// # Errors
    /// What is wrong, with the names that the line has all the same.
    pub fn decode(line: &[u8]) -> Result<(Names, Self), Malformed> {
        let value = json::value(line).map_err(|error| Malformed::json(&error))?;
        let Some(kind) = value.get("kind").and_then(Value::as_str).map(str::to_owned) else {
            return Err(Malformed::named(&value, Fault::Malformed, "a message is an object with a `kind`"));
        };
        let about = Names::of(&value);
        let message = match kind.as_str() {
            "hello" => read(value, Self::Hello),
            "run/start" => read(value, |launch| Self::RunStart(Box::new(launch))),
            "run/stdin" => read(value, Self::RunStdin),
            "run/signal" => read(value, Self::RunSignal),
            "run/cancel" => read(value, Self::RunCancel),
            "turn/open" => read(value, Self::TurnOpen),
            "turn/close" => read(value, Self::TurnClose),
            "approval/answer" => read(value, Self::ApprovalAnswer),
            "approval/cancel" => read(value, Self::ApprovalCancel),
            "probe" => read(value, Self::Probe),
            "plan" => read(value, |question| Self::Plan(Box::new(question))),
            "policy/check" => read(value, |question| Self::PolicyCheck(Box::new(question))),
            "policy/show" => read(value, |question| Self::PolicyShow(Box::new(question))),
            "policy/describe" => read(value, |question| Self::PolicyDescribe(Box::new(question))),
            other => {
                let text = format!("there is no kind `{}`", Text::from(other));
                Err(Malformed::named(&value, Fault::UnknownKind, &text))
            }
        }?;
        Ok((about, message))
    }
}

fn read<T: DeserializeOwned>(
    value: Value,
    message: impl FnOnce(T) -> FromClient,
) -> Result<FromClient, Malformed> {
    serde_path_to_error::deserialize(&value).map(message).map_err(|error| Malformed::field(&value, &error))
}
