//! A backend about which attempts found that it does not do all that it says.

use std::collections::BTreeMap;

use confine_core::backend::Loss;
use confine_core::denial::Dialect;
use confine_core::{
    Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effect, Effects, Governed, Policy, Probe, Reason,
};

/// The backend, less what attempts contradicted.
pub(super) struct Doubted {
    backend: Box<dyn Backend>,
    contradicted: BTreeMap<Effect, Reason>,
}

impl Doubted {
    /// The reasons are those that a report gives.
    pub(super) fn new(backend: Box<dyn Backend>, contradicted: BTreeMap<Effect, Reason>) -> Self {
        Self { backend, contradicted }
    }

    /// What of it `policy` would lose, as far as `wanted`.
    fn lost(&self, policy: &Policy, wanted: impl Fn(Effect) -> bool) -> Vec<Loss> {
        let needs = policy.needs();
        let chosen: Effects = policy.chosen_losses().into_iter().map(|(effect, _)| effect).collect();
        let lost = self
            .contradicted
            .iter()
            .filter(|(effect, _)| needs.contains(**effect) && !chosen.contains(**effect));
        let lost = lost.filter(|(effect, _)| wanted(**effect));
        lost.map(|(effect, reason)| Loss { effect: *effect, reason: reason.clone() }).collect()
    }
}

impl Backend for Doubted {
    fn id(&self) -> BackendId {
        self.backend.id()
    }

    fn is_for(&self, probe: &Probe) -> bool {
        self.backend.is_for(probe)
    }

    fn pinned(&self) -> Option<&str> {
        self.backend.pinned()
    }

    fn dialect(&self) -> Option<&Dialect> {
        self.backend.dialect()
    }

    fn governs(&self, probe: &Probe) -> BTreeMap<Effect, Governed> {
        let mut governed = self.backend.governs(probe);
        for (effect, reason) in &self.contradicted {
            if let Some(claim) = governed.get_mut(effect).filter(|claim| claim.is_enforced()) {
                *claim = Governed::NotGoverned { reason: reason.clone() };
            }
        }
        governed
    }

    fn confine(&self, argv: &Argv, policy: &Policy, probe: &Probe) -> Result<ConfinedArgv, ConfineError> {
        let accepts = |effect| policy.accept_missing.contains(effect);
        let refused = self.lost(policy, |effect| !accepts(effect));
        let mut confined = match self.backend.confine(argv, policy, probe) {
            Err(ConfineError::Missing { backend, gaps, mut missing }) => {
                missing.extend(refused);
                return Err(ConfineError::Missing { backend, gaps, missing });
            }
            confined => confined?,
        };
        if !refused.is_empty() {
            return Err(ConfineError::Missing { backend: self.id(), gaps: Vec::new(), missing: refused });
        }
        let known: Effects = confined.missing.iter().map(|loss| loss.effect).collect();
        confined.missing.extend(self.lost(policy, |effect| accepts(effect) && !known.contains(effect)));
        confined.missing.sort_by_key(|loss| loss.effect);
        Ok(confined)
    }
}
