//! The report of one run, version 1: a documented, stable JSON object.
//!
//! Readers ignore unknown fields; writers only add optional ones within a version.

use serde::{Deserialize, Serialize};

use crate::approval::{ApprovalOutcome, By, RefusalKind, RuleId};
use crate::backend::PlanDigest;
use crate::classify::{Because, Judgement};
use crate::denial::Denial;
use crate::escalate::Grant;
use crate::policy::Mode;
use crate::policy::fs::NotGranted;
use crate::{AbsPath, BackendId, LaunchFault, Layer, LimitKind, Loss, Outcome, PolicyId, Text, Verdict};

/// What happened in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Format version: 1.
    pub version: u32,
    /// The version of confine.
    pub confine: String,
    /// The run's id: sortable by time.
    pub run: String,
    /// When it started, RFC 3339 in UTC with milliseconds.
    pub started: String,
    /// The command.
    pub command: Vec<Text>,
    /// Where it started.
    pub cwd: Option<AbsPath>,
    /// Which backend, where one was chosen.
    pub backend: Option<BackendId>,
    /// Which layers took part.
    pub layers: Vec<Layer>,
    /// Which policy, where it resolved.
    pub policy: Option<PolicyNote>,
    /// What exactly was enforced.
    pub plan: Option<PlanDigest>,
    /// What the run went without.
    pub missing: Vec<Loss>,
    /// Entries that granted nothing.
    pub not_granted: Vec<NotGranted>,
    /// How it ended.
    pub outcome: OutcomeNote,
    /// In one word.
    pub verdict: Verdict,
    /// What was refused, the surest first.
    pub denials: Vec<Denial>,
    /// Why a failure was not the sandbox's doing, where that is known.
    #[serde(default)]
    pub not_the_sandbox: Option<Because>,
    /// What was done against the policy and not prevented.
    pub violations: Vec<Violation>,
    /// The environment.
    pub environment: EnvironmentNote,
    /// Repositories that the run created.
    pub new_repositories: Vec<AbsPath>,
    /// What was moved away.
    pub quarantined: Vec<Quarantined>,
    /// Why the sandbox did not stand.
    pub launch_fault: Option<LaunchFault>,
    /// Who said no: before it started, or to what a denial would have taken.
    pub refusal: Option<Refusal>,
    /// Every run of a call that ran more than once, oldest first; the last is what the other fields are about.
    pub attempts: Vec<Attempt>,
    /// Captured output; `None` where it was passed through.
    pub output: Option<Output>,
    /// Processes that were left when the program ended, and were ended.
    pub leftovers: Vec<Leftover>,
    /// What it used.
    pub usage: Usage,
}

impl Report {
    /// What the run was judged to be.
    pub fn judgement(&self) -> Judgement {
        Judgement {
            verdict: self.verdict,
            denials: self.denials.clone(),
            not_the_sandbox: self.not_the_sandbox,
            launch: self.launch_fault.clone(),
        }
    }
}

/// The policy of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyNote {
    /// Its identity.
    pub id: PolicyId,
    /// Its shape.
    pub mode: Mode,
}

/// An outcome, as JSON: `kind`, and the fields of that kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OutcomeNote {
    /// The program exited.
    Exited {
        /// 0 to 255.
        code: u8,
    },
    /// A signal ended it.
    Signaled {
        /// Its number.
        signal: i32,
        /// Whether a core was dumped.
        core: bool,
    },
    /// The wall-clock limit.
    TimedOut {
        /// The limit in milliseconds.
        after_ms: u64,
    },
    /// Another limit.
    Limit {
        /// Which.
        which: LimitKind,
    },
    /// Ended from outside.
    Cancelled,
    /// The program could not be started.
    ExecFailed {
        /// execve(2)'s.
        errno: i32,
    },
    /// A rule or an approver said no.
    NotStarted,
    /// The sandbox did not stand.
    LauncherFailed,
}

impl From<&Outcome> for OutcomeNote {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Exited { code } => Self::Exited { code: *code },
            Outcome::Signaled { signal, core } => Self::Signaled { signal: *signal, core: *core },
            Outcome::TimedOut { after } => {
                Self::TimedOut { after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX) }
            }
            Outcome::Limit { which } => Self::Limit { which: *which },
            Outcome::Cancelled { .. } => Self::Cancelled,
            Outcome::ExecFailed { errno, .. } => Self::ExecFailed { errno: *errno },
            Outcome::NotStarted => Self::NotStarted,
            Outcome::LauncherFailed(_) => Self::LauncherFailed,
        }
    }
}

/// A no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Whose.
    pub by: By,
    /// Of which kind.
    pub outcome: RefusalKind,
    /// Which rule's, where it is one's.
    pub rule: Option<RuleId>,
    /// Why, for people.
    pub reason: String,
}

impl Refusal {
    /// From what came of a question; `None` where that is a yes.
    pub fn of(outcome: &ApprovalOutcome, by: By) -> Option<Self> {
        let kind = outcome.refusal()?;
        Some(Self { by, outcome: kind, rule: None, reason: outcome.reason().to_owned() })
    }
}

/// One run of a call that ran more than once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// What was granted for it beyond the policy; `None` for the first.
    pub grant: Option<Grant>,
    /// How it ended.
    pub outcome: OutcomeNote,
    /// In one word.
    pub verdict: Verdict,
    /// What was refused, the surest first.
    pub denials: Vec<Denial>,
    /// Captured output; `None` where it was passed through.
    pub output: Option<Output>,
}

/// Something done against the policy that was seen, not prevented.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Violation {
    /// A protected name that did not exist appeared.
    ProtectedAppeared {
        /// Where.
        path: AbsPath,
    },
    /// A protected link was replaced.
    LinkReplaced {
        /// Where.
        path: AbsPath,
    },
    /// The host replaced a masked or protected file while the program ran, and the tree was ended.
    MaskLost {
        /// Where.
        path: AbsPath,
    },
    /// A git operation was begun or changed that runs commands: those of its todo list, or a merge strategy's.
    GitTodo {
        /// The file that names them.
        path: AbsPath,
    },
    /// Processes were left, and the policy says `background = "deny"`.
    Leftovers {
        /// How many.
        count: usize,
    },
}

/// A path that was moved away, and where to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    /// Where it was.
    pub path: AbsPath,
    /// Where it is.
    pub to: AbsPath,
}

/// How much of the environment was dropped. Names and values stay out of the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentNote {
    /// How many variables.
    pub dropped: usize,
}

/// Captured output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Standard output.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
}

/// One captured stream: its head and tail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// How much the program wrote.
    pub bytes: u64,
    /// How much of that is not in `text`.
    pub omitted: u64,
    /// What was kept, with one line between head and tail where something is omitted.
    pub text: Text,
}

/// A process that was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// Its id, in the sandbox's numbering.
    pub pid: i32,
    /// Its command line, at most 256 bytes.
    pub command: Text,
}

/// What the run used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// From the spawn to the program's start, in microseconds.
    pub launch_us: u64,
    /// From the spawn to the end of the tree, in milliseconds.
    pub wall_ms: u64,
    /// User time of the program and its waited-for children, in milliseconds.
    pub user_ms: u64,
    /// System time, likewise.
    pub sys_ms: u64,
    /// The largest resident size of any of them, in bytes.
    pub max_rss_bytes: u64,
}
