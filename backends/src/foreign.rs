//! Third-party backends: from what one answers to a confined argv. Pure; the runner's adapter runs the program.
//!
//! A backend sets up a wrapper. Where that runs the stage, the stage does inside what it does everywhere: descriptors,
//! session, capabilities, no_new_privs, the system-call filter, and records that nobody forges. Where it can only run
//! the program itself, the stage watches the wrapper from outside, and its records are about the wrapper.

pub mod protocol;

use std::collections::BTreeMap;
use std::ffi::OsString;

use confine_core::backend::{Handover, Payload, Wrapper};
use confine_core::denial::Dialect;
use confine_core::policy::{Access, Policy, Source};
use confine_core::probe::Unusable;
use confine_core::{
    AbsPath, Argv, BackendId, ConfineError, ConfinedArgv, Effect, Gap, Governed, Launch, Layer, Probe,
    Reason, Text,
};
use confine_stage::plan::{Plan, Role};

use crate::balance::Offer;
use crate::governance::{SHARED, answers};
use crate::launch::{self, Settled};
use crate::seccomp::{self, Isolation};

use protocol::{Governance, Seat, Wrapping};

/// What is known of a third-party backend before it is asked for a launch.
#[derive(Clone, Copy, Debug)]
pub struct Party<'a> {
    /// Its name.
    pub id: &'a BackendId,
    /// What its wrapper runs.
    pub payload: Payload,
    /// What it says that it governs.
    pub governance: &'a Governance,
    /// How refusals are worded inside, and its wrapper's own failures.
    pub dialect: &'a Dialect,
}

/// Whether such a backend can work on the host at all, as far as facts say.
///
/// # Errors
/// No stage, another system, or a launch that failed.
pub fn usable(id: &BackendId, probe: &Probe) -> Result<(), Unusable> {
    launch::usable(id.as_str(), probe).map(|_| ())
}

/// What is said for every effect where the backend cannot be asked or does not work.
pub fn ungoverned(reason: &Reason) -> BTreeMap<Effect, Governed> {
    Effect::ALL.iter().map(|effect| (*effect, Governed::NotGoverned { reason: reason.clone() })).collect()
}

impl Party<'_> {
    /// What it enforces together with the stage and the runner.
    pub fn governs(&self, probe: &Probe) -> BTreeMap<Effect, Governed> {
        let silent = Reason::new("the backend does not say that it does");
        let mut governed = ungoverned(&silent);
        governed.extend(answers([SHARED, &[]], Ok(()), &self.around_the_stage(probe)));
        for (effect, answer) in &self.governance.effects {
            if !governed.get(effect).is_some_and(Governed::is_enforced) {
                governed.insert(*effect, answer.clone());
            }
        }
        governed
    }

    /// The argv that enforces `policy` by what the backend answered.
    ///
    /// # Errors
    /// As [`Backend::confine`](confine_core::Backend::confine): whatever the answer leaves out and the policy does not
    /// accept to lose.
    pub fn confine(
        &self,
        wrapping: Wrapping,
        argv: &Argv,
        policy: &Policy,
        probe: &Probe,
    ) -> Result<ConfinedArgv, ConfineError> {
        launch::protected_names(policy)?;
        let stage = self.stage(policy, probe)?;
        let mut governed = self.governs(probe);
        for loss in &wrapping.missing {
            governed.insert(loss.effect, Governed::NotGoverned { reason: loss.reason.clone() });
        }
        let hides = governed.get(&Effect::FsHide).is_some_and(Governed::is_enforced);
        if let Some(path) = open_place(policy, hides, &wrapping.gaps) {
            return Err(ConfineError::OwnPlace { backend: self.id.clone(), path });
        }
        let offer = Offer { backend: self.id.clone(), governed, gaps: wrapping.gaps.clone() };
        let missing = offer.settle(policy)?;
        let plan = self.plan(&wrapping, argv, policy, probe);
        let settled = Settled {
            backend: self.id.clone(),
            layers: wrapping.layers.iter().copied().chain(launch::plan_layers(&plan)).collect(),
            missing,
            pins: wrapping.pins.clone(),
            bound: self.of_the_stage(&wrapping.bound),
            launch: self.launch(wrapping, argv, stage, &plan),
        };
        let runner_failure = Some(self.dialect.runner_failure());
        Ok(ConfinedArgv { payload: self.payload, runner_failure, ..settled.confined(policy, probe) })
    }

    /// A stage outside the sandbox installs no filter: the wrapper needs the very calls that it would refuse.
    fn around_the_stage(&self, probe: &Probe) -> Probe {
        let seccomp = match self.payload {
            Payload::Stage => probe.seccomp.clone(),
            Payload::Command => Err(Unusable::without_remedy("the stage is outside the sandbox")),
        };
        Probe { seccomp, ..probe.clone() }
    }

    /// Where the stage is. Inside it is found by the same path.
    fn stage(&self, policy: &Policy, probe: &Probe) -> Result<AbsPath, ConfineError> {
        let unusable = |unusable| ConfineError::Unusable { backend: self.id.clone(), unusable };
        let stage = launch::usable(self.id.as_str(), probe).map_err(unusable)?;
        if self.payload == Payload::Stage && policy.fs.access_at(&stage) == Access::Hide {
            return Err(unusable(Unusable::new(
                format!("its wrapper runs the stage, `{stage}`, which the policy hides"),
                "let the policy show that file",
            )));
        }
        Ok(stage)
    }

    fn of_the_stage(&self, paths: &[AbsPath]) -> Vec<AbsPath> {
        match self.payload {
            Payload::Stage => paths.to_vec(),
            Payload::Command => Vec::new(),
        }
    }

    fn plan(&self, wrapping: &Wrapping, argv: &Argv, policy: &Policy, probe: &Probe) -> Plan {
        let outside = Plan {
            role: Role::Supervisor,
            cwd: argv.cwd().to_os_string(),
            rlimits: launch::rlimits(policy, probe),
            ..Plan::default()
        };
        if self.payload == Payload::Command {
            return outside;
        }
        Plan {
            role: match wrapping.stage {
                Seat::Init => Role::Init,
                Seat::Supervisor => Role::Supervisor,
            },
            seccomp: seccomp::for_host(probe, policy, isolation(wrapping)),
            masked: wrapping.masked.iter().map(AbsPath::to_os_string).collect(),
            ..outside
        }
    }

    fn launch(&self, wrapping: Wrapping, argv: &Argv, stage: AbsPath, plan: &Plan) -> Launch {
        let Wrapping { program, options, .. } = wrapping;
        let mut options: Vec<OsString> = options.into_iter().map(Text::into_os_string).collect();
        let (wrapper, command) = match self.payload {
            Payload::Stage => {
                let wrapper = Wrapper { program, options, handover: Handover::Words, alone: Vec::new() };
                (Some(wrapper), argv.words().to_vec())
            }
            Payload::Command => {
                options.insert(0, program.to_os_string());
                options.extend(argv.words().iter().cloned());
                (None, options)
            }
        };
        let plan = plan.encode();
        Launch { wrapper, stage_inside: stage.clone(), stage, plan, command, cwd: AbsPath::root() }
    }
}

/// Without namespaces the filter is all that keeps the host's processes and network out of reach.
fn isolation(wrapping: &Wrapping) -> Isolation {
    if wrapping.layers.contains(&Layer::Namespace) { Isolation::Namespace } else { Isolation::Filter }
}

/// A place of confine's own that lies in a grant and that the launch leaves open.
fn open_place(policy: &Policy, hides: bool, gaps: &[Gap]) -> Option<AbsPath> {
    let mut own = policy.fs.entries.iter().filter(|(_, entry)| entry.source == Source::Own);
    let about = |own: &AbsPath| gaps.iter().any(|gap| own.is_within(&gap.path) || gap.path.is_within(own));
    own.find(|(path, _)| !hides || about(path)).map(|(path, _)| path.clone())
}
