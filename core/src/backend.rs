//! The project's trait: an argv and a policy in, a confined argv out. Synchronous, pure, object safe.
//!
//! `confine` returns data, not a process: a harness can spawn it in its own runtime, print it, or golden-test it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::denial::{Dialect, DialectId};
use crate::policy::EnvPlan;
use crate::{AbsPath, Argv, Effect, Effects, Governed, Layer, Policy, PolicyId, Probe, Reason, Text};

/// The name of a backend: `bwrap`, `landlock`, …
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct BackendId(String);

impl BackendId {
    /// From its name.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BackendId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A way to confine a process.
pub trait Backend: Send + Sync {
    /// Its name.
    fn id(&self) -> BackendId;

    /// Whether it is meant for such a system at all. One that is not is left out of every choice, and answers by name
    /// only.
    fn is_for(&self, _: &Probe) -> bool {
        true
    }

    /// What it can do about each effect on such a host, for some policy. A policy that it cannot express is refused
    /// by [`confine`](Backend::confine).
    fn governs(&self, probe: &Probe) -> BTreeMap<Effect, Governed>;

    /// The argv that enforces `policy` on `argv`.
    ///
    /// # Errors
    /// Whatever of the policy it cannot enforce here, unless the policy accepts to lose it. Never less, silently.
    fn confine(&self, argv: &Argv, policy: &Policy, probe: &Probe) -> Result<ConfinedArgv, ConfineError>;

    /// The SHA-256 of the program that it is, in hexadecimal, where it is a program of others that the user pinned.
    fn pinned(&self) -> Option<&str> {
        None
    }

    /// How refusals are worded where it confines; `None` where nobody has written it down.
    fn dialect(&self) -> Option<&Dialect> {
        Dialect::builtin(&DialectId::from(&self.id()))
    }
}

/// A place where a policy asks for what a backend has no words for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// The effect that would be lost.
    pub effect: Effect,
    /// Where.
    pub path: AbsPath,
    /// Why it cannot be said.
    pub reason: Reason,
}

/// An effect that a run goes without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// The effect.
    pub effect: Effect,
    /// Why.
    pub reason: Reason,
}

/// Why a backend does not confine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfineError {
    /// The backend does not work on this host at all.
    #[error("the {backend} backend is not usable here: {}", unusable.reason)]
    Unusable {
        /// Which.
        backend: BackendId,
        /// Why, and what helps.
        unusable: crate::probe::Unusable,
    },
    /// The policy needs effects that it does not enforce here (first those without words, by path).
    #[error("the {backend} backend cannot enforce: {}", effects(gaps, missing))]
    Missing {
        /// Which.
        backend: BackendId,
        /// What the policy says and the backend cannot.
        gaps: Vec<Gap>,
        /// What the policy needs and the backend lacks.
        missing: Vec<Loss>,
    },
    /// More mounts than the backend can set up in reasonable time.
    #[error(
        "the {backend} backend would need {mounts} mounts, and {bound} is the bound; most come from `{entry}`"
    )]
    TooManyMounts {
        /// Which.
        backend: BackendId,
        /// How many the policy needs.
        mounts: usize,
        /// How many it takes.
        bound: usize,
        /// The directory with most of them.
        entry: AbsPath,
    },
    /// A place of confine's own lies in a grant, and the backend cannot keep the program out of it. Nothing lifts that:
    /// a program that writes confine's state decides what later commands do.
    #[error("the {backend} backend cannot keep the program out of `{path}`, which is confine's own")]
    OwnPlace {
        /// Which.
        backend: BackendId,
        /// The place.
        path: AbsPath,
    },
    /// A protected name is missing and the policy says `missing-protected = "refuse"`.
    #[error("the protected name `{0}` does not exist, and the policy says `missing-protected = \"refuse\"`")]
    MissingProtected(AbsPath),
}

impl ConfineError {
    /// Exactly the effects that `--accept-missing` must list for this backend to run; empty where that does not help.
    pub fn acceptable(&self) -> Effects {
        match self {
            Self::Missing { gaps, missing, .. } => {
                gaps.iter().map(|gap| gap.effect).chain(missing.iter().map(|loss| loss.effect)).collect()
            }
            _ => Effects::default(),
        }
    }
}

fn effects(gaps: &[Gap], missing: &[Loss]) -> String {
    let all: BTreeSet<Effect> =
        gaps.iter().map(|gap| gap.effect).chain(missing.iter().map(|loss| loss.effect)).collect();
    all.into_iter().map(Effect::name).collect::<Vec<_>>().join(", ")
}

/// The digest of a plan with every pattern expanded: what exactly was enforced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanDigest(pub String);

/// How a wrapper gets its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// From a descriptor, where a runner spawns it (`--args FD`), and then `--`, as bubblewrap has it.
    Descriptor,
    /// As words of the argv; a separator before what follows is one of them.
    Words,
}

/// What a wrapper runs, and so who tells how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Payload {
    /// The stage, inside the sandbox: its records are about the program.
    #[default]
    Stage,
    /// The program itself, and the stage watches the wrapper from outside: its records are about the wrapper, whose exit
    /// status may be the program's or its own.
    Command,
}

/// A program around the stage, with the options that set up its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// Absolute.
    pub program: AbsPath,
    /// Its options.
    pub options: Vec<OsString>,
    /// How it gets them.
    pub handover: Handover,
    /// More options, first in line, where no runner holds a lifeline (`--die-with-parent`).
    pub alone: Vec<OsString>,
}

/// What is spawned: `[wrapper options -- ] stage plan -- command`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// bwrap with its options; `None` for the stage alone.
    pub wrapper: Option<Wrapper>,
    /// The stage on disk, by its path on the host; where there is none, the program that stands in its place, confines
    /// itself and executes the command.
    pub stage: AbsPath,
    /// Where the stage is in the sandbox's view.
    pub stage_inside: AbsPath,
    /// The stage's plan, as its words.
    pub plan: Vec<OsString>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Where to spawn it.
    pub cwd: AbsPath,
}

/// An argv that enforces a policy, and what there is to know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinedArgv {
    /// What is spawned.
    pub launch: Launch,
    /// The environment: what passes, and what is set (the markers included).
    pub env: EnvPlan,
    /// Which backend made it.
    pub backend: BackendId,
    /// What its wrapper runs.
    pub payload: Payload,
    /// For which policy.
    pub policy: PolicyId,
    /// What exactly it enforces.
    pub plan: PlanDigest,
    /// Every layer that takes part.
    pub layers: Vec<Layer>,
    /// What the run goes without, with the reasons, sorted by effect.
    pub missing: Vec<Loss>,
    /// What only a runner does for this policy: without one, these are missing as well.
    pub runner_only: Vec<Loss>,
    /// Directories inside a write grant that cannot be renamed, because a carve-out lies below.
    pub pins: Vec<AbsPath>,
    /// Files that are to be there before the launch, which only a runner makes and removes.
    pub precreate: Vec<AbsPath>,
    /// Paths of the host that the launch shows or opens by name, the root aside: a runner tells the stage which files they
    /// are, so that a link put in the way of one is found before the program starts.
    pub bound: Vec<AbsPath>,
    /// How the wrapper's own failures look; `None` where a dialect of ours has the backend's name, and says it.
    pub runner_failure: Option<RunnerFailure>,
    /// What the policy accepts to lose, for [`ConfinedArgv::portable`].
    pub accepted: Effects,
}

/// How to tell a wrapper's own failure from the program's, where there is no record. Text is never proof.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunnerFailure {
    /// A failure has one of these.
    pub exit_codes: Vec<u8>,
    /// And a line that begins with one of these.
    pub prefixes: Vec<String>,
    /// Lines that say nothing, removed first, by exact equality.
    pub informational: Vec<String>,
}

/// A wrapped argv that any program in any language can spawn, without descriptors and without our runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortableArgv {
    /// Format version: 1.
    pub version: u32,
    /// The whole argv, the program absolute.
    pub argv: Vec<Text>,
    /// Exactly the environment to pass: names of the spawner's own, and values.
    pub env: PortableEnv,
    /// Where to spawn it.
    pub cwd: AbsPath,
    /// Which backend.
    pub backend: BackendId,
    /// For which policy.
    pub policy: PolicyId,
    /// What exactly.
    pub plan: PlanDigest,
    /// Every layer that takes part.
    pub layers: Vec<Layer>,
    /// What the run goes without.
    pub missing: Vec<Loss>,
    /// Directories that cannot be renamed.
    pub pins: Vec<AbsPath>,
    /// The dialect of its denials.
    pub dialect: BackendId,
    /// How the wrapper's own failures look.
    pub runner_failure: RunnerFailure,
}

/// The environment of a portable argv.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortableEnv {
    /// Exact names of the spawner's variables to pass.
    pub pass: Vec<Text>,
    /// Values to set.
    pub set: BTreeMap<String, Text>,
}

/// Why an argv cannot be spawned without our runner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NeedsRunner {
    /// Only the runner does this, and the policy does not accept to lose it.
    #[error("only the runner enforces {}: {}", .0.effect, .0.reason)]
    Effect(Loss),
    /// The launch needs a file that only the runner makes.
    #[error("only the runner creates `{0}` before the launch and removes it afterwards")]
    Precreate(AbsPath),
    /// More than execve(2) takes: all words together, or one of 131,072 bytes.
    #[error("the argv is {bytes} bytes long, and {bound} is the bound")]
    TooLarge {
        /// How long.
        bytes: usize,
        /// What the kernel takes.
        bound: usize,
    },
}

/// execve(2): one word, with its NUL, at most 32 pages.
const WORD_BOUND: usize = 131_071;
/// A quarter of the usual 8 MiB stack limit, less room for the environment.
const ARGV_BOUND: usize = 2 * 1024 * 1024 - 256 * 1024;

impl Launch {
    /// Every word, for a spawner without descriptors.
    pub fn words(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        if let Some(wrapper) = &self.wrapper {
            words.push(wrapper.program.to_os_string());
            words.extend(wrapper.alone.iter().chain(&wrapper.options).cloned());
            if wrapper.handover == Handover::Descriptor {
                words.push("--".into());
            }
        }
        let stage = if self.wrapper.is_some() { &self.stage_inside } else { &self.stage };
        words.push(stage.to_os_string());
        words.extend(self.plan.iter().cloned());
        words.push("--".into());
        words.extend(self.command.iter().cloned());
        words
    }
}

impl ConfinedArgv {
    /// The wrapped argv for a spawner in any language. `names` are the names of the spawner's environment.
    ///
    /// # Errors
    /// Everything that only a runner can do and the policy does not accept to lose.
    pub fn portable(
        &self,
        names: impl IntoIterator<Item = OsString>,
    ) -> Result<PortableArgv, Vec<NeedsRunner>> {
        let words = self.launch.words();
        let mut obstacles: Vec<NeedsRunner> = self
            .runner_only
            .iter()
            .filter(|loss| !self.accepted.contains(loss.effect))
            .map(|loss| NeedsRunner::Effect(loss.clone()))
            .collect();
        obstacles.extend(self.precreate.iter().cloned().map(NeedsRunner::Precreate));
        obstacles.extend(too_large(&words));
        if !obstacles.is_empty() {
            return Err(obstacles);
        }
        let caller = names.into_iter().map(|name| (name, OsString::new()));
        let environment = self.env.apply(caller).variables;
        let pass = environment
            .into_keys()
            .filter(|name| name.to_str().is_none_or(|name| !self.env.set.contains_key(name)));
        let mut missing = self.missing.clone();
        missing.extend(self.runner_only.iter().cloned());
        missing.sort_by_key(|loss| loss.effect);
        missing.dedup_by_key(|loss| loss.effect);
        Ok(PortableArgv {
            version: 1,
            argv: words.into_iter().map(Text::from).collect(),
            env: PortableEnv { pass: pass.map(Text::from).collect(), set: self.env.set.clone() },
            cwd: self.launch.cwd.clone(),
            backend: self.backend.clone(),
            policy: self.policy.clone(),
            plan: self.plan.clone(),
            layers: self.layers.clone(),
            missing,
            pins: self.pins.clone(),
            dialect: self.backend.clone(),
            runner_failure: self.runner_failure(),
        })
    }
}

impl ConfinedArgv {
    /// Read when it is asked for: a launch of our own has no use for it, and the tables are not small.
    fn runner_failure(&self) -> RunnerFailure {
        let of_dialect =
            || Dialect::builtin(&DialectId::new(self.backend.as_str())).map(Dialect::runner_failure);
        self.runner_failure.clone().or_else(of_dialect).unwrap_or_default()
    }
}

fn too_large(words: &[OsString]) -> Option<NeedsRunner> {
    let pointer = size_of::<usize>();
    let bytes: usize = words.iter().map(|word| word.len() + 1 + pointer).sum();
    if let Some(longest) = words.iter().map(|word| word.len()).max().filter(|longest| *longest > WORD_BOUND) {
        return Some(NeedsRunner::TooLarge { bytes: longest, bound: WORD_BOUND });
    }
    (bytes > ARGV_BOUND).then_some(NeedsRunner::TooLarge { bytes, bound: ARGV_BOUND })
}
