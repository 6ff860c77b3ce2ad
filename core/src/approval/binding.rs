//! What an answer is good for: digests of everything that would run, part by part, so that a refusal names what changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Cover, Digest, Subject};
use crate::escalate::Grant;
use crate::visible::visible;
use crate::{AbsPath, PolicyId, Text};

/// One part of what is bound.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The words of the command.
    Argv,
    /// Where it starts.
    Cwd,
    /// Its whole environment.
    Environment,
    /// Those variables that may change what runs: all but a few that only change how things look.
    Variables,
    /// The executable: its path and content.
    Program,
    /// A regular file that a word of the command names: its content.
    File(AbsPath),
    /// An executable that a word of the command would find on the search path: its content.
    Command(AbsPath),
    /// What it reads from its standard input, where that is a regular file.
    Stdin,
    /// The policy in force.
    Policy,
    /// What the command would get beyond it.
    Grant,
    /// The host and port of a connection.
    Endpoint,
    /// The name of a tool.
    Tool,
    /// What says what the tool is.
    Manifest,
    /// What a tool is called with.
    Input,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = match self {
            Self::Argv => "the command",
            Self::Cwd => "the working directory",
            Self::Environment | Self::Variables => "the environment",
            Self::Program => "the executable",
            Self::File(path) => return write!(f, "the file `{}`", visible(path.as_path().as_os_str())),
            Self::Command(path) => {
                return write!(f, "the executable `{}`", visible(path.as_path().as_os_str()));
            }
            Self::Stdin => "the standard input",
            Self::Policy => "the policy",
            Self::Grant => "the grant",
            Self::Endpoint => "the host or port",
            Self::Tool => "the tool",
            Self::Manifest => "the tool's manifest",
            Self::Input => "the input",
        };
        f.pad(word)
    }
}

/// Variables that change how things look, not what runs (`*` at the end: whatever begins so).
const HARMLESS: &[&str] = &[
    "COLORTERM",
    "COLUMNS",
    "CONFINE_SESSION",
    "LANG",
    "LC_*",
    "LINES",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "TERM",
    "TZ",
    "_",
];

/// A part and its digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Bound {
    /// Which.
    pub part: Part,
    /// Of it.
    pub digest: Digest,
}

/// A file as it was measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Measured {
    /// Its canonical path.
    pub path: AbsPath,
    /// Of its content; `None` where there is no such file. Of a file that is too long to read (64 MiB), of whatever tells
    /// that it was changed.
    pub content: Option<Digest>,
}

/// A command as it was measured on the host, once before the question and once before the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Its words.
    pub argv: Vec<Text>,
    /// Where it starts.
    pub cwd: AbsPath,
    /// Its environment, as the program will get it.
    pub environment: BTreeMap<Text, Text>,
    /// Its executable; `None` where there is none.
    pub program: Option<Measured>,
    /// Regular files that words of it name, links resolved.
    pub files: Vec<Measured>,
    /// Executables that words of it would find on its search path, links resolved.
    pub commands: Vec<Measured>,
    /// Of what is left to read in its standard input, where that is a regular file.
    pub stdin: Option<Digest>,
    /// The policy in force.
    pub policy: PolicyId,
    /// What it would get beyond that.
    pub grant: Option<Grant>,
}

/// Digests of everything that an answer is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Binding(Vec<Bound>);

impl Binding {
    /// Of a command.
    pub fn execution(execution: &Execution) -> Self {
        let Execution { argv, cwd, environment, program, files, commands, stdin, policy, grant } = execution;
        let all: Vec<(&Text, &Text)> = environment.iter().collect();
        let telling: Vec<_> = all.iter().filter(|(name, _)| !is_harmless(name)).collect();
        let mut parts = vec![
            (Part::Argv, Digest::of_value(argv)),
            (Part::Cwd, Digest::of_value(cwd)),
            (Part::Environment, Digest::of_value(&all)),
            (Part::Variables, Digest::of_value(&telling)),
            (Part::Program, Digest::of_value(program)),
            (Part::Policy, Digest::of_value(policy)),
            (Part::Grant, Digest::of_value(grant)),
        ];
        let files = files.iter().map(|file| (Part::File(file.path.clone()), Digest::of_value(&file.content)));
        parts.extend(files);
        let commands =
            commands.iter().map(|file| (Part::Command(file.path.clone()), Digest::of_value(&file.content)));
        parts.extend(commands);
        parts.extend(stdin.iter().map(|stdin| (Part::Stdin, stdin.clone())));
        Self::new(parts)
    }

    /// Of a connection.
    pub fn connect(host: &str, port: u16, policy: &PolicyId) -> Self {
        Self::new([
            (Part::Endpoint, Digest::of_value(&(host, port))),
            (Part::Policy, Digest::of_value(policy)),
        ])
    }

    /// Of a call of a tool whose manifest has this digest.
    pub fn tool(name: &str, manifest: &Digest, input: &serde_json::Value) -> Self {
        Self::new([
            (Part::Tool, Digest::of_value(&name)),
            (Part::Manifest, manifest.clone()),
            (Part::Input, Digest::of_value(input)),
        ])
    }

    fn new(parts: impl IntoIterator<Item = (Part, Digest)>) -> Self {
        let mut bound: Vec<Bound> = parts.into_iter().map(|(part, digest)| Bound { part, digest }).collect();
        bound.sort_unstable();
        bound.dedup();
        Self(bound)
    }

    /// Whether it was measured of what `subject` shows.
    pub(super) fn is_of(&self, subject: &Subject) -> bool {
        let has = |part, digest| self.0.contains(&Bound { part, digest });
        let none: Option<&Grant> = None;
        match subject {
            Subject::Command { argv, cwd } => {
                has(Part::Argv, Digest::of_value(argv))
                    && has(Part::Cwd, Digest::of_value(cwd))
                    && has(Part::Grant, Digest::of_value(&none))
            }
            Subject::Escalation { argv, cwd, grant, .. } => {
                has(Part::Argv, Digest::of_value(argv))
                    && has(Part::Cwd, Digest::of_value(cwd))
                    && has(Part::Grant, Digest::of_value(&Some(grant)))
            }
            Subject::Connect { host, port } => has(Part::Endpoint, Digest::of_value(&(host, port))),
            Subject::Tool { name, input, .. } => {
                has(Part::Tool, Digest::of_value(name)) && has(Part::Input, Digest::of_value(input))
            }
        }
    }

    /// Its parts, sorted.
    pub fn parts(&self) -> &[Bound] {
        &self.0
    }

    /// Of all of it.
    pub fn digest(&self) -> Digest {
        Digest::of_value(&self.0)
    }

    /// What is not in `now` as it is here, or is there only; empty where nothing changed.
    pub fn drift(&self, now: &Self) -> Vec<Part> {
        let gone = self.0.iter().filter(|bound| !now.0.contains(bound));
        let come = now.0.iter().filter(|bound| !self.0.contains(bound));
        let mut parts: Vec<Part> = gone.chain(come).map(|bound| bound.part.clone()).collect();
        parts.sort_unstable();
        parts.dedup();
        parts
    }

    /// The key of a refusal, and of an approval of exactly this, in a session.
    pub(super) fn key(&self) -> Digest {
        self.without(|part| matches!(part, Part::Environment))
    }

    /// The key of an approval of all that `cover` covers, in a session.
    pub(super) fn covered(&self, cover: &Cover) -> Digest {
        let of_words =
            |part: &Part| matches!(part, Part::Environment | Part::Argv | Part::File(_) | Part::Command(_));
        let seen = self.without(of_words);
        match cover {
            Cover::Exact => self.key(),
            Cover::Prefix { argv } => Digest::of_value(&("prefix", argv, seen)),
        }
    }

    /// What a rule fixes beside the words and the directory that it spells out.
    pub(super) fn rest(&self) -> Digest {
        let spelt = |part: &Part| matches!(part, Part::Environment | Part::Argv | Part::Cwd | Part::Policy);
        self.without(spelt)
    }

    fn without(&self, out: impl Fn(&Part) -> bool) -> Digest {
        Digest::of_value(&self.0.iter().filter(|bound| !out(&bound.part)).collect::<Vec<_>>())
    }
}

fn is_harmless(name: &Text) -> bool {
    let name = name.as_os_str().to_string_lossy();
    HARMLESS.iter().any(|known| match known.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == *known,
    })
}
