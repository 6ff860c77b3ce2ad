//! What crosses between confine and a third-party backend, version 1: one JSON value each way.
//!
//! Requests are what confine writes, answers what it reads. A key that an answer should not have is an error: whatever a
//! backend wanted to say with it would be lost.

use std::collections::BTreeMap;

use confine_core::backend::Payload;
use confine_core::probe::Unusable;
use confine_core::{AbsPath, Argv, BackendId, Effect, Gap, Governed, Layer, Loss, Policy, Probe, Text};
use serde::{Deserialize, Serialize};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// What a backend is asked: its only argument, and what it reads from its standard input.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// Who it is.
    Describe,
    /// What it can do on such a host.
    Governs(&'a Probe),
    /// The launch that enforces a policy on a command.
    Confine(&'a Argv, &'a Policy, &'a Probe),
}

/// The command in a request.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Command {
    /// The program and its arguments; the program is looked up with its own `PATH`, inside.
    words: Vec<Text>,
    /// Where it starts.
    cwd: AbsPath,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Describe {}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Governs<'a> {
    /// The host.
    probe: &'a Probe,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Confine<'a> {
    /// The command.
    argv: Command,
    /// As `confine policy show --json` prints it.
    policy: &'a Policy,
    /// The host.
    probe: &'a Probe,
}

/// The answer to `describe`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Its name, as in `confine-backend-NAME`.
    pub id: BackendId,
    /// 1.
    pub protocol: u32,
    /// How refusals are worded inside, and how its wrapper's own failures are: the text of a dialect file (TOML).
    pub dialect: String,
    /// What its wrapper runs.
    #[serde(default)]
    pub payload: Payload,
}

/// The answer to `governs`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Governance {
    /// What the wrapper can do about each effect, for some policy. What the stage and the runner do is added by confine;
    /// an effect that neither names is not governed.
    pub effects: BTreeMap<Effect, Governed>,
}

/// The answer to `confine`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Confined {
    /// The launch.
    Launch(Box<Wrapping>),
    /// Why there is none: the backend does not work here at all.
    Error(Unusable),
}

/// A wrapper, and what it does for this policy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Wrapping {
    /// Its program, the file itself rather than a link: root's or the user's, and writable by nobody else.
    pub program: AbsPath,
    /// Every word between the program and what it runs, a separator (`--`) included where it wants one.
    pub options: Vec<Text>,
    /// The layers that it stands for; at least one.
    pub layers: Vec<Layer>,
    /// As what the stage runs inside.
    #[serde(default)]
    pub stage: Seat,
    /// What the launch leaves out of this policy, place by place. Whether the run may go without it is confine's to say.
    #[serde(default)]
    pub gaps: Vec<Gap>,
    /// What it loses altogether, although the backend governs it for other policies.
    #[serde(default)]
    pub missing: Vec<Loss>,
    /// Directories inside a write grant that cannot be renamed.
    #[serde(default)]
    pub pins: Vec<AbsPath>,
    /// Paths that show inside exactly the file that is there on the host: the stage compares before the program starts,
    /// so that a link put in the way meanwhile is found.
    #[serde(default)]
    pub bound: Vec<AbsPath>,
    /// Paths that are there inside and hide what is there on the host, by a null device or an empty tmpfs, or by
    /// refusing to be opened: the stage verifies before the program starts.
    #[serde(default)]
    pub masked: Vec<AbsPath>,
}

/// As what the stage runs inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Seat {
    /// Process 1 of a pid namespace.
    Init,
    /// Below somebody else's process 1, or in no pid namespace: it ends its own descent.
    #[default]
    Supervisor,
}

impl Request<'_> {
    /// The verb.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::Governs(_) => "governs",
            Self::Confine(..) => "confine",
        }
    }

    /// What is written to its standard input.
    ///
    /// # Errors
    /// A policy with a path that JSON has no key for, because it is not UTF-8.
    pub fn encode(self) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::Describe => serde_json::to_vec(&Describe {}),
            Self::Governs(probe) => serde_json::to_vec(&Governs { probe }),
            Self::Confine(argv, policy, probe) => {
                serde_json::to_vec(&Confine { argv: Command::of(argv), policy, probe })
            }
        }
    }
}

impl Command {
    fn of(argv: &Argv) -> Self {
        let words = argv.words().iter().map(|word| Text::from(word.as_os_str())).collect();
        Self { words, cwd: argv.cwd().clone() }
    }
}

/// Why an answer is none.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// Not the JSON that the verb is answered by.
    #[error("{0}")]
    Malformed(#[from] serde_json::Error),
    /// Another version of the protocol.
    #[error("it speaks protocol {0}, and this confine speaks protocol {VERSION}")]
    Protocol(Text),
    /// An effect is said to be enforced, and by no layer.
    #[error("`{0}` is enforced by no layer")]
    ByNothing(Effect),
    /// A launch without a layer.
    #[error("the launch has no layer")]
    NoLayer,
    /// A word that no argv can hold.
    #[error("the option `{0}` holds a NUL byte")]
    Nul(Text),
}

impl Description {
    /// Reads the answer to `describe`. The version is looked at first: another one may have other keys.
    ///
    /// # Errors
    /// Another protocol, or no such answer.
    pub fn decode(answer: &[u8]) -> Result<Self, AnswerError> {
        let value: serde_json::Value = serde_json::from_slice(answer)?;
        match value.get("protocol") {
            Some(version) if version.is_number() && version.as_u64() != Some(u64::from(VERSION)) => {
                Err(AnswerError::Protocol(Text::from(version.to_string().as_str())))
            }
            _ => Ok(serde_json::from_value(value)?),
        }
    }
}

impl Governance {
    /// Reads the answer to `governs`.
    ///
    /// # Errors
    /// No such answer.
    pub fn decode(answer: &[u8]) -> Result<Self, AnswerError> {
        let governance: Self = serde_json::from_slice(answer)?;
        let by_nothing =
            |governed: &Governed| matches!(governed, Governed::Enforced { layers } if layers.is_empty());
        match governance.effects.iter().find(|(_, governed)| by_nothing(governed)) {
            Some((effect, _)) => Err(AnswerError::ByNothing(*effect)),
            None => Ok(governance),
        }
    }
}

impl Confined {
    /// Reads the answer to `confine`.
    ///
    /// # Errors
    /// No such answer.
    pub fn decode(answer: &[u8]) -> Result<Self, AnswerError> {
        let confined: Self = serde_json::from_slice(answer)?;
        if let Self::Launch(wrapping) = &confined {
            wrapping.check()?;
        }
        Ok(confined)
    }
}

impl Wrapping {
    fn check(&self) -> Result<(), AnswerError> {
        if self.layers.is_empty() {
            return Err(AnswerError::NoLayer);
        }
        let nul = |word: &&Text| word.as_os_str().as_encoded_bytes().contains(&0);
        match self.options.iter().find(nul) {
            Some(word) => Err(AnswerError::Nul(word.clone())),
            None => Ok(()),
        }
    }
}

/// The JSON schema of the whole protocol: for each verb, what a backend reads and what it writes.
#[cfg(feature = "schema")]
pub fn schema() -> serde_json::Value {
    use schemars::generate::SchemaSettings;
    let mut requests = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut answers = SchemaSettings::draft2020_12().into_generator();
    let verbs = serde_json::json!({
        "describe": { "request": requests.subschema_for::<Describe>(), "answer": answers.subschema_for::<Description>() },
        "governs": { "request": requests.subschema_for::<Governs<'_>>(), "answer": answers.subschema_for::<Governance>() },
        "confine": { "request": requests.subschema_for::<Confine<'_>>(), "answer": answers.subschema_for::<Confined>() },
    });
    let mut definitions = requests.take_definitions(true);
    definitions.extend(answers.take_definitions(true));
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "confine backend protocol",
        "protocol": VERSION,
        "verbs": verbs,
        "$defs": definitions,
    })
}

#[cfg(test)]
mod tests;
