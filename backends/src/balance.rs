//! What a policy needs, against what a backend gives: a run with its losses, or a refusal.

use std::collections::BTreeMap;

use confine_core::{BackendId, ConfineError, Effect, Gap, Governed, Loss, Policy};

/// One backend's side.
pub(crate) struct Offer {
    pub(crate) backend: BackendId,
    /// Refined for the policy: what it can express counts as enforced.
    pub(crate) governed: BTreeMap<Effect, Governed>,
    /// Where it cannot.
    pub(crate) gaps: Vec<Gap>,
}

impl Offer {
    /// What the run goes without: settings that give an effect up, and losses that the policy accepts.
    ///
    /// # Errors
    /// Every needed effect that is neither enforced nor given up.
    pub(crate) fn settle(self, policy: &Policy) -> Result<Vec<Loss>, ConfineError> {
        let mut losses: BTreeMap<Effect, Loss> = BTreeMap::new();
        let mut lose = |loss: Loss| {
            losses.entry(loss.effect).or_insert(loss);
        };
        for (effect, reason) in policy.chosen_losses() {
            lose(Loss { effect, reason });
        }
        let (accepted, refused): (Vec<Gap>, Vec<Gap>) =
            self.gaps.into_iter().partition(|gap| policy.accept_missing.contains(gap.effect));
        for Gap { effect, path, reason } in accepted {
            lose(Loss { effect, reason: format!("{reason}: `{path}`").into() });
        }
        let chosen = policy.chosen_losses();
        let mut missing = Vec::new();
        for effect in policy.needs().iter() {
            let Some(reason) = self.governed.get(&effect).and_then(Governed::reason) else { continue };
            let loss = Loss { effect, reason: reason.clone() };
            if chosen.iter().any(|(given_up, _)| *given_up == effect) {
                continue;
            }
            if policy.accept_missing.contains(effect) { lose(loss) } else { missing.push(loss) }
        }
        if refused.is_empty() && missing.is_empty() {
            return Ok(losses.into_values().collect());
        }
        Err(ConfineError::Missing { backend: self.backend, gaps: refused, missing })
    }
}
