//! What an outcome was about: the sandbox, the launcher, or neither.
//!
//! In this order: records of the stage; signals and limits; then what programs print, where the policy blocks what a line
//! is about and ordinary permissions would have allowed it; and last what may have been. Text alone proves nothing, and
//! says nothing about the launcher where there is a record.

mod finding;
mod grant;
mod place;
mod record;
mod sandbox;
mod view;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::denial::{Attempt, Certainty, Denial, Dialect, Object, Stream};
use crate::{AbsPath, LaunchFault, LaunchStage, Layer, Outcome, Text, Verdict};

use finding::Findings;

pub use grant::smallest;
pub use place::{Last, resolve};
pub use sandbox::{Block, Rule, Ruling, Sandbox};

/// How the outcome is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witness {
    /// By the records of the stage, which the program cannot write.
    Record,
    /// By the exit status of a launcher that somebody else spawned.
    ExitStatus,
}

/// What there is to judge by.
#[derive(Clone, Copy, Debug)]
pub struct Incident<'a> {
    /// How it ended.
    pub outcome: &'a Outcome,
    /// How that is known.
    pub witness: Witness,
    /// What stood around the program; without it nothing is more than possible.
    pub sandbox: Option<Sandbox<'a>>,
    /// How refusals look there; without one, text says nothing.
    pub dialect: Option<&'a Dialect>,
    /// Where the program started, as the caller spelt it.
    pub cwd: Option<&'a AbsPath>,
    /// The program and its arguments.
    pub command: &'a [Text],
    /// What it wrote to its standard output, as far as that was kept.
    pub stdout: &'a [u8],
    /// To its standard error, likewise.
    pub stderr: &'a [u8],
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// In one word.
    pub verdict: Verdict,
    /// What was refused, the surest first.
    pub denials: Vec<Denial>,
    /// Why it was not the sandbox, where that is known.
    pub not_the_sandbox: Option<Because>,
    /// Why the sandbox did not stand; only from [`Witness::ExitStatus`], where the outcome does not say it.
    pub launch: Option<LaunchFault>,
}

/// Why a failure is not the sandbox's doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// The same user would have been refused without a sandbox.
    PlainPermissions,
    /// What the program looked for does not exist.
    MissingFile,
    /// What it says is its own affair.
    OwnWords,
    /// There was no memory.
    OutOfMemory,
    /// It is about a file of another user, whose ownership does not exist in the sandbox.
    ForeignOwner,
    /// A signal ended it that confine did not send.
    KilledFromOutside,
}

/// Whether the same user could have done something without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes.
    Allowed,
    /// No, with this error.
    Refused(&'static str),
    /// There is nothing of that name, nor a directory to make it in.
    Missing,
    /// Nobody can tell, or nobody may ask.
    Unknown,
}

/// The host's ordinary permissions. Asked only about what the policy lets the program see, and about the hidden places
/// that the policy itself names: the answer reaches the program's owner, and must not tell what is hidden.
pub trait Permissions {
    /// Whether the caller's user may do that at `path` on the host. No link is followed.
    fn allows(&self, path: &AbsPath, attempt: Attempt) -> Answer;

    /// Whether there is something at `path`; `None` where nobody can tell.
    fn exists(&self, _path: &AbsPath) -> Option<bool> {
        None
    }

    /// Whether what is at `path`, or else the directory that it would be in, belongs to another user.
    fn is_foreign(&self, _path: &AbsPath) -> bool {
        false
    }

    /// Where the link at `path` leads, as it is written; `None` for everything else. No link is followed on the way.
    fn link(&self, _path: &AbsPath) -> Option<PathBuf> {
        None
    }

    /// Whether a grant for `attempt` at `path` is all that it takes: in the sandbox nobody has capabilities.
    fn needs_no_privilege(&self, _path: &AbsPath, _attempt: Attempt) -> bool {
        true
    }

    /// Whether the caller's user may do something that is not about a path.
    fn acts(&self, _attempt: Attempt, _object: &Object) -> Answer {
        Answer::Unknown
    }
}

/// Judges one outcome. Linear in the size of the output.
pub fn classify(incident: &Incident<'_>, permissions: &dyn Permissions) -> Judgement {
    if let Some(fault) = launcher_failure(incident) {
        return Judgement::of(Verdict::LauncherFailed, Some(fault));
    }
    let mut judgement = Judgement::of(incident.outcome.verdict(), None);
    judgement.denials = record::denials(incident);
    judgement.not_the_sandbox = record::because(incident.outcome);
    if judgement.verdict != Verdict::Failed {
        return judgement;
    }
    let mut findings = Findings::new(incident, permissions);
    findings.execution();
    for (stream, output) in [(Stream::Stderr, incident.stderr), (Stream::Stdout, incident.stdout)] {
        findings.read(stream, output);
    }
    judgement.denials.append(&mut findings.denials);
    judgement.denials.sort_by_key(|denial| std::cmp::Reverse(denial.certainty));
    judgement.settle(|| findings.because());
    judgement
}

impl Judgement {
    /// What an outcome alone says.
    pub fn plain(verdict: Verdict) -> Self {
        Self::of(verdict, None)
    }

    /// What the records of a run alone say, with these layers around the program.
    pub fn recorded(outcome: &Outcome, layers: &[Layer]) -> Self {
        let mut judgement = Self::plain(outcome.verdict());
        judgement.denials.extend(record::denial(outcome, Witness::Record, layers, |_| None));
        judgement.not_the_sandbox = record::because(outcome);
        if judgement.verdict == Verdict::Failed {
            judgement.settle(|| None);
        }
        judgement
    }

    fn of(verdict: Verdict, launch: Option<LaunchFault>) -> Self {
        Self { verdict, denials: Vec::new(), not_the_sandbox: None, launch }
    }

    fn settle(&mut self, because: impl FnOnce() -> Option<Because>) {
        let surest = self.denials.iter().map(|denial| denial.certainty).max();
        if surest >= Some(Certainty::Likely) {
            self.verdict = Verdict::Denied;
            self.not_the_sandbox = None;
        } else if surest.is_none() {
            self.not_the_sandbox = self.not_the_sandbox.or_else(because);
        } else {
            self.not_the_sandbox = None;
        }
    }
}

/// With a record, the outcome itself says whether the launcher failed, and no text does.
fn launcher_failure(incident: &Incident<'_>) -> Option<LaunchFault> {
    let (Witness::ExitStatus, Outcome::Exited { code }) = (incident.witness, incident.outcome) else {
        return None;
    };
    let line = incident.dialect?.launcher_failure(*code, incident.stderr)?;
    let line = Text::from(line.to_vec());
    Some(LaunchFault::new(LaunchStage::Status, format!("set the sandbox up: `{line}`")))
}
