//! An ordered list of backends, as an ordinary value.

use confine_core::{Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effects, Policy, Probe};

use crate::{Bwrap, Landlock, Seatbelt, Windows};

/// Backends in order of preference, and after them those that are taken only by their name.
pub struct Registry {
    automatic: Vec<Box<dyn Backend>>,
    named: Vec<Box<dyn Backend>>,
}

/// Every backend's refusal, in the order of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals(pub Vec<ConfineError>);

impl Registry {
    /// From an ordered list.
    pub fn new(backends: Vec<Box<dyn Backend>>) -> Self {
        Self { automatic: backends, named: Vec::new() }
    }

    /// With backends that [`choose`](Self::choose) never takes by itself, whatever the policy needs: who confines is for
    /// the user to say, where it is not one of ours.
    #[must_use]
    pub fn with_named(mut self, backends: impl IntoIterator<Item = Box<dyn Backend>>) -> Self {
        self.named.extend(backends);
        self
    }

    /// Each backend as `change` makes it.
    #[must_use]
    pub fn map(self, mut change: impl FnMut(Box<dyn Backend>) -> Box<dyn Backend>) -> Self {
        Self {
            automatic: self.automatic.into_iter().map(&mut change).collect(),
            named: self.named.into_iter().map(&mut change).collect(),
        }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Backend> {
        self.automatic().chain(self.named.iter().map(AsRef::as_ref))
    }

    /// Those that [`choose`](Self::choose) takes, in order of preference.
    pub fn automatic(&self) -> impl Iterator<Item = &dyn Backend> {
        self.automatic.iter().map(AsRef::as_ref)
    }

    /// In order, those that are meant for such a host.
    pub fn for_host(&self, probe: &Probe) -> impl Iterator<Item = &dyn Backend> {
        self.iter().filter(|backend| backend.is_for(probe))
    }

    /// By name, whatever the host.
    pub fn by_id(&self, id: &BackendId) -> Option<&dyn Backend> {
        self.iter().find(|backend| backend.id() == *id)
    }

    /// The first backend for this host that enforces all that the policy needs.
    ///
    /// # Errors
    /// Every refusal of those that are for it.
    pub fn choose(&self, argv: &Argv, policy: &Policy, probe: &Probe) -> Result<ConfinedArgv, Refusals> {
        let mut refusals = Vec::new();
        for backend in self.automatic().filter(|backend| backend.is_for(probe)) {
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

/// Ours, in order: bwrap, landlock; on macOS seatbelt; for Windows the answer that there is none.
impl Default for Registry {
    fn default() -> Self {
        Self::new(vec![Box::new(Bwrap), Box::new(Landlock), Box::new(Seatbelt), Box::new(Windows)])
    }
}
