//! Windows: no backend, and a reason for it.
//!
//! What is there (restricted tokens, AppContainer, job objects) needs a runner of its own that makes the process; no argv
//! stands for it, so there is nothing for a pure backend to say.

use std::collections::BTreeMap;

use confine_core::probe::Unusable;
use confine_core::{
    Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effect, Governed, Policy, Probe, Reason,
};

/// Answers for Windows that nothing is enforced there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Windows;

const NAME: &str = "windows";

const ELSEWHERE: &str = "it is for Windows";
const UNSUPPORTED: &str =
    "confine has no sandbox for Windows: no argv confines there, it takes a process that makes another";

fn unusable(probe: &Probe) -> Unusable {
    if probe.os == NAME {
        return Unusable::new(UNSUPPORTED, "run it in WSL 2, where confine has its Linux backends");
    }
    Unusable::without_remedy(ELSEWHERE)
}

impl Backend for Windows {
    fn id(&self) -> BackendId {
        BackendId::new(NAME)
    }

    fn is_for(&self, probe: &Probe) -> bool {
        probe.os == NAME
    }

    fn governs(&self, probe: &Probe) -> BTreeMap<Effect, Governed> {
        let reason: Reason = unusable(probe).reason;
        let answer = |effect: &Effect| (*effect, Governed::NotGoverned { reason: reason.clone() });
        Effect::ALL.iter().map(answer).collect()
    }

    fn confine(&self, _: &Argv, _: &Policy, probe: &Probe) -> Result<ConfinedArgv, ConfineError> {
        Err(ConfineError::Unusable { backend: self.id(), unusable: unusable(probe) })
    }
}
