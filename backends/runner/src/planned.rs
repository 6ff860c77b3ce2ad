//! The last plan: a harness runs many commands under one policy, and only the command differs.
//!
//! Planning is pure, so a plan for the same policy, directory and backend is the same plan. It takes as long as starting the
//! stage does, of which half is that nothing of it is in the processor's cache.

use std::sync::{Mutex, PoisonError};

use confine_core::{AbsPath, Argv, BackendId, ConfinedArgv, Policy, PolicyId};

/// What was planned last. Only for backends of ours, which put the command nowhere but into the launch.
#[derive(Default)]
pub(crate) struct Planned(Mutex<State>);

#[derive(Default)]
struct State {
    /// A policy that comes a second time is worth remembering.
    met: Option<PolicyId>,
    last: Option<Last>,
}

struct Last {
    wanted: Option<BackendId>,
    cwd: AbsPath,
    policy: Policy,
    /// Without a command.
    confined: ConfinedArgv,
}

impl Planned {
    /// The plan for `argv`, where the last one was for the same policy, directory and choice of backend.
    pub(crate) fn recall(
        &self,
        argv: &Argv,
        policy: &Policy,
        wanted: Option<&BackendId>,
    ) -> Option<ConfinedArgv> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |last: &&Last| {
            last.wanted.as_ref() == wanted && last.cwd == *argv.cwd() && last.policy == *policy
        };
        let mut confined = state.last.as_ref().filter(is_same)?.confined.clone();
        confined.launch.command = argv.words().to_vec();
        Some(confined)
    }

    /// Remembers a plan.
    pub(crate) fn note(
        &self,
        argv: &Argv,
        policy: &Policy,
        wanted: Option<&BackendId>,
        confined: &ConfinedArgv,
    ) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.met.as_ref() != Some(&policy.id) {
            *state = State { met: Some(policy.id.clone()), last: None };
            return;
        }
        let mut confined = confined.clone();
        confined.launch.command.clear();
        state.last =
            Some(Last { wanted: wanted.cloned(), cwd: argv.cwd().clone(), policy: policy.clone(), confined });
    }
}
