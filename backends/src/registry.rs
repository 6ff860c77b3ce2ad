//! An ordered list of backends, as an ordinary value.

use confine_core::{Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effects, Policy, Probe};

use crate::{Bwrap, Landlock};

/// Backends in order of preference.
pub struct Registry(Vec<Box<dyn Backend>>);

/// Every backend's refusal, in the order of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals(pub Vec<ConfineError>);

impl Registry {
    /// From an ordered list.
    pub fn new(backends: Vec<Box<dyn Backend>>) -> Self {
        Self(backends)
    }

    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Backend> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// By name.
    pub fn by_id(&self, id: &BackendId) -> Option<&dyn Backend> {
        self.iter().find(|backend| backend.id() == *id)
    }

    /// The first backend that enforces all that the policy needs.
    ///
    /// # Errors
    /// Every refusal.
    pub fn choose(&self, argv: &Argv, policy: &Policy, probe: &Probe) -> Result<ConfinedArgv, Refusals> {
        let mut refusals = Vec::new();
        for backend in self.iter() {
            match backend.confine(argv, policy, probe) {
                Ok(confined) => return Ok(confined),
                Err(refusal) => refusals.push(refusal),
            }
        }
        Err(Refusals(refusals))
    }
}

impl Refusals {
    /// The shortest `--accept-missing` list with which some backend would run, and that backend.
    pub fn acceptable(&self) -> Option<(BackendId, Effects)> {
        self.0
            .iter()
            .filter_map(|refusal| match refusal {
                ConfineError::Missing { backend, .. } => Some((backend.clone(), refusal.acceptable())),
                _ => None,
            })
            .min_by_key(|(_, effects)| effects.iter().count())
    }
}

/// Ours, in order: bwrap, landlock.
impl Default for Registry {
    fn default() -> Self {
        Self::new(vec![Box::new(Bwrap), Box::new(Landlock)])
    }
}
