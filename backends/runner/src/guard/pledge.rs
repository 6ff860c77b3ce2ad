//! What is done for a run before its program starts, and what of it may wait until the wrapper has started.

use confine_core::policy::Policy;
use confine_core::{AbsPath, LaunchFault};

use super::{Debts, Guard, MaskWatch, Mounts, about_repositories, owed};
use crate::journal::Entry;
use crate::places::Places;
use crate::watch;

/// What is to be done for a run before its program starts.
#[derive(Debug)]
pub(crate) enum Duty {
    /// Everything is done.
    Done(Guard),
    /// It can be done while the wrapper starts, which then waits for the word.
    Open(Pledge),
}

impl Duty {
    /// Does what cannot wait.
    ///
    /// # Errors
    /// As [`Guard::begin`].
    pub(crate) fn new(pledge: Pledge, policy: &Policy, places: &Places) -> Result<Self, LaunchFault> {
        if pledge.can_wait() { Ok(Self::Open(pledge)) } else { pledge.keep(policy, places).map(Self::Done) }
    }

    /// As [`Guard::watch`].
    pub(crate) fn watch(&self) -> Option<MaskWatch> {
        match self {
            Self::Done(guard) => guard.watch(),
            Self::Open(pledge) => MaskWatch::over(&pledge.masks),
        }
    }
}

/// What a run will owe, before anything of it is written or made.
#[derive(Debug)]
pub(crate) struct Pledge {
    entry: Entry,
    mounts: Mounts,
    masks: Vec<AbsPath>,
}

impl Pledge {
    /// Looks nothing up on the host.
    ///
    /// # Errors
    /// What the policy asks for and nobody can guard.
    pub(crate) fn new(policy: &Policy, mounts: Mounts, run: &str) -> Result<Self, LaunchFault> {
        let mut entry = owed::entry(policy, run)?;
        let masks = match mounts {
            Mounts::Present => watch::masks(policy),
            Mounts::Absent => Vec::new(),
        };
        if mounts == Mounts::Absent {
            entry.placeholders.clear();
        }
        if mounts == Mounts::Present {
            entry.masks = watch::stands(policy);
        }
        Ok(Self { entry, mounts, masks })
    }

    /// Whether the wrapper may be started first: nothing is made or adopted that it would have to find.
    fn can_wait(&self) -> bool {
        let Entry { placeholders, precreated, .. } = &self.entry;
        placeholders.is_empty() && precreated.is_empty() && !about_repositories(&self.entry)
    }

    /// As [`Guard::begin`].
    pub(crate) fn keep(self, policy: &Policy, places: &Places) -> Result<Guard, LaunchFault> {
        let Self { entry, mounts, masks } = self;
        if entry.is_empty() {
            let trees = entry.trees.clone();
            // That others know what the mounts stand on is asked for, not owed.
            let told = (!entry.masks.is_empty()).then(|| Debts::kept(policy, mounts, entry, places).ok());
            return Ok(Guard { debts: told.flatten(), trees, masks });
        }
        let debts = Debts::contract(policy, mounts, entry, places)?;
        Ok(Guard { debts: Some(debts), trees: Vec::new(), masks })
    }
}
