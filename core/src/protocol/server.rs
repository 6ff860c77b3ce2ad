//! What a server says.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::client::{Approvals, Name};
use super::{Fault, Malformed, Names};
use crate::approval::Subject;
use crate::denial::{Denial, Source};
use crate::{BackendId, Effect, Governed, LaunchFault, Probe, Report, Text};

/// A message to a client.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind")]
pub enum ToClient {
    /// The answer to `hello`.
    #[serde(rename = "hello")]
    Hello(Welcome),
    /// The program runs.
    #[serde(rename = "run/started")]
    RunStarted(Started),
    /// It wrote something.
    #[serde(rename = "run/output")]
    RunOutput(Chunk),
    /// It was given what `run/stdin` brought.
    #[serde(rename = "run/stdin")]
    RunStdin(Taken),
    /// It is over, with every process. The last of a run, and exactly one for each that was taken.
    #[serde(rename = "run/result")]
    RunResult(Box<Ended>),
    /// A person is to say yes or no.
    #[serde(rename = "approval/request")]
    ApprovalRequest(Box<Asking>),
    /// What was decided, and by what. Exactly one for each `approval/request`.
    #[serde(rename = "approval/decided")]
    ApprovalDecided(Decided),
    /// The turn is open.
    #[serde(rename = "turn/open")]
    TurnOpen(TurnChanged),
    /// It is closed.
    #[serde(rename = "turn/close")]
    TurnClose(TurnChanged),
    /// What works on this host.
    #[serde(rename = "probe")]
    Probe(Box<Found>),
    /// The wrapped command.
    #[serde(rename = "plan")]
    Plan(Planned),
    /// Whether the policy is one.
    #[serde(rename = "policy/check")]
    PolicyCheck(Checked),
    /// The policy.
    #[serde(rename = "policy/show")]
    PolicyShow(Shown),
    /// What a model should know of it.
    #[serde(rename = "policy/describe")]
    PolicyDescribe(Described),
    /// Something that the client said led to nothing.
    #[serde(rename = "error")]
    Error(Box<Complaint>),
}

/// The answer to `hello`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Welcome {
    /// The version of the protocol.
    pub version: u32,
    /// The version of confine.
    pub confine: String,
    /// The session, as its log has it; `null` where nobody is ever asked.
    pub session: Option<String>,
    /// Whether anybody is asked: `never` wherever a setting says so, whatever the client said.
    pub approvals: Approvals,
    /// The longest line that it reads, in bytes.
    pub longest_line: usize,
    /// How many runs a connection may have at once.
    pub most_runs: usize,
    /// How much of `run/stdin` may wait for a program, in bytes.
    pub most_stdin: usize,
}

/// The program runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Started {
    /// The client's name for the run.
    pub run: Name,
    /// 0 at first; counts the runs that an approval led to.
    pub attempt: u32,
    /// As the report has it.
    pub id: String,
    /// The wrapper's process id on the host.
    pub pid: u32,
}

/// Some output. Chunks of UTF-8 text never cut a character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chunk {
    /// The client's name for the run.
    pub run: Name,
    /// As in `run/started`.
    pub attempt: u32,
    /// Of which stream.
    pub stream: Stream,
    /// What.
    pub data: Text,
}

/// An output stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How much of its standard input a program was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Taken {
    /// The client's name for the run.
    pub run: Name,
    /// In bytes, since its start.
    pub taken: u64,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ended {
    /// The client's name for the run.
    pub run: Name,
    /// As `confine run` would exit.
    pub exit_code: u8,
    /// The report: docs/report.md.
    #[cfg_attr(feature = "schema", schemars(with = "Value"))]
    pub report: Report,
}

/// A question for a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asking {
    /// Its name, for the answer. Nobody but this client knows it.
    pub approval: String,
    /// The run that waits.
    pub run: Name,
    /// The turn, as the log has it.
    pub turn: String,
    /// What is asked: docs/front-ends.md.
    pub subject: Value,
    /// What the denials of `subject` are known by: a record of confine's, or only what the program itself printed.
    pub evidence: Basis,
    /// What a person is to be shown, line by line, with every character that could mislead made visible.
    pub text: Vec<String>,
    /// Why, in the words of whoever asked.
    pub justification: Option<String>,
    /// What ran before, in part.
    pub rerun: Value,
    /// What may be answered.
    pub choices: Value,
    /// How long an answer is waited for, in milliseconds.
    pub deadline_ms: u64,
}

/// What the denials of a question are known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// There are none: more was asked for ahead.
    None,
    /// Text of the program's, which prints what it likes.
    Text,
    /// A record of confine's, of the kernel's or of the broker's, for each of them.
    Record,
}

impl Basis {
    /// Of what is asked.
    pub fn of(subject: &Subject) -> Self {
        let Subject::Escalation { denials, .. } = subject else { return Self::None };
        let is_text = |denial: &Denial| denial.evidence.source != Source::Record;
        match denials.as_slice() {
            [] => Self::None,
            some if some.iter().any(is_text) => Self::Text,
            _ => Self::Record,
        }
    }
}

/// What became of an approval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decided {
    /// Its name.
    pub approval: String,
    /// The run that waited.
    pub run: Name,
    /// What was decided.
    pub outcome: Value,
}

/// A turn that was opened or closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnChanged {
    /// The client's name for it.
    pub turn: Name,
}

/// The facts of the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    /// The client's name for the question.
    pub id: Name,
    /// The facts.
    pub probe: Probe,
    /// By backend: what it does about each effect here.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<BackendId, BTreeMap<Effect, Value>>"))]
    pub governs: BTreeMap<BackendId, BTreeMap<Effect, Governed>>,
}

/// A wrapped command.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Planned {
    /// The client's name for the question.
    pub id: Name,
    /// As `confine plan --json` prints it.
    pub plan: Value,
}

/// Whether a policy is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checked {
    /// The client's name for the question.
    pub id: Name,
    /// Whether it is well-formed and resolves here.
    pub ok: bool,
    /// Why not.
    #[cfg_attr(feature = "schema", schemars(with = "Option<Value>"))]
    pub fault: Option<LaunchFault>,
}

/// A policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shown {
    /// The client's name for the question.
    pub id: Name,
    /// As `confine policy show --json` prints it.
    pub policy: Value,
}

/// A policy in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Described {
    /// The client's name for the question.
    pub id: Name,
    /// As `confine policy describe --for model` prints it.
    pub text: String,
}

/// Why something led to nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Complaint {
    /// In one word.
    pub fault: Fault,
    /// For people: completes "cannot …".
    pub text: String,
    /// What was said, as far as it named something.
    #[serde(flatten)]
    pub about: Names,
    /// Why confine cannot, where `fault` is `refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Value>"))]
    pub launch_fault: Option<LaunchFault>,
}

impl ToClient {
    /// As one line, with its newline.
    ///
    /// # Errors
    /// None that are known: every key is a string.
    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

impl From<Malformed> for Complaint {
    fn from(malformed: Malformed) -> Self {
        let Malformed { fault, text, about } = malformed;
        Self { fault, text, about: *about, launch_fault: None }
    }
}
