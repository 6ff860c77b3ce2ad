//! Git repositories in the workspace: what of them is protected, so that nothing planted in one runs on the host.

use super::resolve::Assembly;
use serde::{Deserialize, Serialize};

/// `[filesystem] git`: how repositories at or below a workspace root are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Git {
    /// Committing works; what runs code on the host's next git command is protected.
    #[default]
    Work,
    /// The whole of `.git` is read-only.
    Protect,
    /// Nothing special.
    Open,
}
pub(super) fn list(_: &mut Assembly<'_>) {}
pub(super) fn yield_to_user(_: &mut Assembly<'_>) {}
