//! What is owed on the host for one run: placeholders and precreated files before it, checks and quarantine after it.
//!
//! A journal entry stands in the state directory as long as something is owed; the next start of any confine command
//! finishes what a killed run left.

use confine_core::policy::Policy;
use confine_core::report::{Quarantined, Violation};
use confine_core::{AbsPath, LaunchFault};

/// The debts of one run. Dropped without [`Guard::finish`], it pays them too.
pub struct Guard {}

/// What the checks after a run found.
#[derive(Debug, Default)]
pub struct Aftermath {
    /// Against the policy.
    pub violations: Vec<Violation>,
    /// Moved away.
    pub quarantined: Vec<Quarantined>,
    /// Created by the run.
    pub new_repositories: Vec<AbsPath>,
}

/// Watches the files that masks and carve-outs stand on: when the host replaces one, its mask is gone.
pub struct MaskWatch {}

impl Guard {
    /// Writes the journal entry, makes placeholders and precreated files, and remembers what the checks compare with.
    /// Cheap where the policy owes nothing: no file is touched then.
    ///
    /// # Errors
    /// Whatever cannot be made, as a fault by name; nothing is left then.
    pub fn begin(_policy: &Policy, _run: &str) -> Result<Self, LaunchFault> {
        todo!()
    }

    /// A watch over the parents of file masks; `None` where there is no file mask inside a write grant.
    ///
    /// # Errors
    /// inotify(7)'s, as a fault.
    pub fn watch(&self) -> Result<Option<MaskWatch>, LaunchFault> {
        todo!()
    }

    /// After the whole tree is dead: checks, quarantines, removes, and strikes the journal entry.
    pub fn finish(self) -> Aftermath {
        todo!()
    }
}

impl MaskWatch {
    /// Waits until a masked file was replaced, and names it. Cancel-safe.
    pub async fn lost(&mut self) -> AbsPath {
        todo!()
    }
}
