//! The report of a run.

use std::ffi::OsString;

use confine_core::backend::PlanDigest;
use confine_core::classify::Judgement;
use confine_core::policy::Background;
use confine_core::policy::fs::NotGranted;
use confine_core::report::{EnvironmentNote, Leftover, OutcomeNote, Output, PolicyNote, Usage, Violation};
use confine_core::{
    AbsPath, BackendId, ConfinedArgv, LaunchFault, Layer, Loss, Outcome, Policy, Report, Text,
};

use crate::guard::Aftermath;
use crate::judge::{Case, Judge, texts};
use crate::stamp::Stamp;

/// Everything a report says that is known before the spawn.
#[derive(Clone, Debug)]
pub(crate) struct Heading {
    /// Identity and start.
    pub(crate) stamp: Stamp,
    command: Vec<Text>,
    cwd: Option<AbsPath>,
    backend: Option<BackendId>,
    layers: Vec<Layer>,
    policy: Option<PolicyNote>,
    plan: Option<PlanDigest>,
    missing: Vec<Loss>,
    not_granted: Vec<NotGranted>,
    background: Background,
    dropped: usize,
    judge: Option<Judge>,
}

/// Everything that is known at the end.
#[derive(Debug)]
pub(crate) struct Ending {
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// Seen while it ran.
    pub(crate) violations: Vec<Violation>,
    /// Seen on the host afterwards.
    pub(crate) aftermath: Aftermath,
    /// Captured.
    pub(crate) output: Option<Output>,
    /// By name.
    pub(crate) leftovers: Vec<Leftover>,
    /// How many in all.
    pub(crate) left: usize,
    /// What it used.
    pub(crate) usage: Usage,
}

impl Ending {
    /// Of a run that never came to a launch.
    pub(crate) fn of(fault: LaunchFault) -> Self {
        Self {
            outcome: Outcome::LauncherFailed(fault),
            violations: Vec::new(),
            aftermath: Aftermath::default(),
            output: None,
            leftovers: Vec::new(),
            left: 0,
            usage: Usage::default(),
        }
    }
}

impl Heading {
    /// Of a command that no backend has confined yet.
    pub(crate) fn new(
        stamp: Stamp,
        command: &[OsString],
        cwd: Option<&AbsPath>,
        policy: Option<&Policy>,
    ) -> Self {
        Self {
            stamp,
            command: texts(command),
            cwd: cwd.cloned(),
            backend: None,
            layers: Vec::new(),
            policy: policy.map(|policy| PolicyNote { id: policy.id.clone(), mode: policy.mode }),
            plan: None,
            missing: Vec::new(),
            not_granted: policy.map(|policy| policy.fs.not_granted.clone()).unwrap_or_default(),
            background: policy.map(|policy| policy.limits.background).unwrap_or_default(),
            dropped: 0,
            judge: None,
        }
    }

    /// With what a failure is judged by.
    pub(crate) fn judged(self, judge: Option<Judge>) -> Self {
        Self { judge, ..self }
    }

    /// With what a backend made of it, and the number of dropped variables.
    pub(crate) fn confined(self, confined: &ConfinedArgv, dropped: usize) -> Self {
        Self {
            backend: Some(confined.backend.clone()),
            layers: confined.layers.clone(),
            plan: Some(confined.plan.clone()),
            missing: confined.missing.clone(),
            dropped,
            ..self
        }
    }

    /// With a loss that only the launch showed, in the place of what was said about the same effect.
    pub(crate) fn without(mut self, loss: Option<Loss>) -> Self {
        if let Some(loss) = loss {
            self.missing.retain(|one| one.effect != loss.effect);
            self.missing.push(loss);
            self.missing.sort_by_key(|one| one.effect);
        }
        self
    }

    /// The whole report.
    pub(crate) fn report(&self, ending: Ending) -> Report {
        let fault = match &ending.outcome {
            Outcome::LauncherFailed(fault) => Some(fault.clone()),
            _ => None,
        };
        let judgement = self.judgement(&ending);
        let mut violations = ending.violations;
        violations.extend(ending.aftermath.violations);
        if self.background == Background::Deny && ending.left > 0 {
            violations.push(Violation::Leftovers { count: ending.left });
        }
        Report {
            version: 1,
            confine: env!("CARGO_PKG_VERSION").to_owned(),
            run: self.stamp.run.clone(),
            started: self.stamp.started.clone(),
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            backend: self.backend.clone(),
            layers: self.layers.clone(),
            policy: self.policy.clone(),
            plan: self.plan.clone(),
            missing: self.missing.clone(),
            not_granted: self.not_granted.clone(),
            outcome: OutcomeNote::from(&ending.outcome),
            verdict: judgement.verdict,
            denials: judgement.denials,
            not_the_sandbox: judgement.not_the_sandbox,
            violations,
            environment: EnvironmentNote { dropped: self.dropped },
            new_repositories: ending.aftermath.new_repositories,
            quarantined: ending.aftermath.quarantined,
            launch_fault: fault.or(judgement.launch),
            refusal: None,
            attempts: Vec::new(),
            output: ending.output,
            leftovers: ending.leftovers,
            usage: ending.usage,
        }
    }

    fn judgement(&self, ending: &Ending) -> Judgement {
        let judged = self.judge.as_ref().zip(self.backend.as_ref()).and_then(|(judge, backend)| {
            let case = Case { backend, layers: &self.layers, command: &self.command, cwd: self.cwd.as_ref() };
            judge.run(&case, &ending.outcome, ending.output.as_ref())
        });
        judged.unwrap_or_else(|| Judgement::recorded(&ending.outcome, &self.layers))
    }
}

/// The report of a call that came to no launch.
pub fn unstarted(
    command: &[OsString],
    cwd: Option<&AbsPath>,
    policy: Option<&Policy>,
    fault: LaunchFault,
) -> Report {
    Heading::new(Stamp::now(), command, cwd, policy).report(Ending::of(fault))
}
