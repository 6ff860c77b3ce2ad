//! What it means to run a command again.

use serde::{Deserialize, Serialize};

use crate::policy::Access;
use crate::{AbsPath, Policy};

/// What has happened before a command is run (again).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RerunRisk {
    /// Nothing: it has not started.
    #[default]
    NotStarted,
    /// It ran, at least in part, and will run from its beginning.
    RanBefore {
        /// How often.
        attempts: u32,
        /// The places of the host where it could write, and so may have.
        could_write: Vec<AbsPath>,
    },
}

impl RerunRisk {
    /// After `attempts` runs, the last with `policy`.
    pub fn after(attempts: u32, policy: &Policy) -> Self {
        let entries = policy.fs.entries.iter().filter(|(_, entry)| entry.access == Access::Write);
        let could_write = entries.map(|(path, _)| path).chain(&policy.fs.precreate).cloned().collect();
        Self::RanBefore { attempts, could_write }
    }
}
