//! What is allowed: the policy as written and as resolved.
//!
//! [`PolicyFile`] is a file or the command line; [`resolve`](resolve::resolve) turns it, with a [`View`] of the host,
//! into a [`Policy`], the only thing that a backend sees.

pub mod builtin;
mod covers;
pub mod env;
pub mod file;
pub mod fs;
pub mod git;
pub mod limits;
pub mod net;
pub mod pattern;
pub mod quantity;
pub mod resolve;
pub mod view;

#[cfg(test)]
pub(crate) mod fake;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use env::EnvPlan;
pub use file::{ApprovalAudit, ApprovalDefault, PolicyFile};
pub use fs::{Access, Entry, FsPlan, Kind, Source};
pub use limits::{Background, Limits};
pub use net::NetPlan;
pub use view::View;

use crate::{Effect, Effects};

/// The broad shape of a policy. Full access is no policy: it means "do not call confine".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// No write grant of its own; the private `/tmp` stays writable and vanishes.
    #[default]
    ReadOnly,
    /// The workspace roots are write grants.
    WorkspaceWrite,
}

/// The digest of a policy's canonical JSON, before patterns are expanded and without the working directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PolicyId(String);

impl PolicyId {
    /// From the canonical JSON of what identifies the policy.
    pub(crate) fn of(canonical: &[u8]) -> Self {
        use sha2::{Digest as _, Sha256};
        use std::fmt::Write as _;
        let mut text = String::from("sha256:");
        for byte in Sha256::digest(canonical) {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A resolved policy: absolute, canonical, expanded against one view of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Policy {
    /// Its identity.
    pub id: PolicyId,
    /// Its shape.
    pub mode: Mode,
    /// Files.
    pub fs: FsPlan,
    /// Network.
    pub net: NetPlan,
    /// Environment.
    pub env: EnvPlan,
    /// Limits.
    pub limits: Limits,
    /// Whether user namespaces are allowed inside.
    pub nested: bool,
    /// Effects wanted beyond those that the policy implies.
    pub require: Effects,
    /// Effects that the user accepts to lose.
    pub accept_missing: Effects,
    /// What happens to a denial. No part of the identity: what is enforced is the same either way.
    pub approval: ApprovalDefault,
    /// What to do where what is asked and answered cannot be written down. No part of the identity either.
    pub audit: ApprovalAudit,
}

impl Policy {
    /// The effects that a backend must enforce, less nothing: `accept_missing` and
    /// [`chosen_losses`](Self::chosen_losses) are subtracted by whoever chooses.
    pub fn needs(&self) -> Effects {
        use Effect::*;
        let mut needs: Effects = [
            FsWrite,
            FsTruncate,
            FsRename,
            FsMetadata,
            FsSetid,
            FsDevice,
            FdInherit,
            FdStdio,
            NetUnixPath,
            NetUnixPathNew,
            NetUnixAbstract,
            ProcSee,
            ProcSignal,
            ProcTrace,
            ProcPrivilege,
            ProcSysctl,
            ProcNamespace,
            ProcKernel,
            IpcSysv,
            TtyInject,
            EnvLeak,
            Orphan,
        ]
        .into_iter()
        .collect();
        needs.extend(self.fs.needs());
        needs.extend(self.net.needs());
        needs.extend(self.limits.needs());
        needs.extend(self.require.iter());
        needs
    }

    /// Needed effects that a setting of the policy itself gives up (`proc = "host"`, `nested = true`, `tmp = "host"`):
    /// the setting is the acceptance; the report lists them under `missing`.
    pub fn chosen_losses(&self) -> Vec<(Effect, crate::Reason)> {
        let mut losses = self.fs.chosen_losses();
        if self.nested {
            losses.push((Effect::ProcNamespace, crate::Reason::new("the policy says `nested = true`")));
        }
        losses
    }
}
