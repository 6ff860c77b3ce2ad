//! What a session allows by itself: its mode, whether anybody is asked, and the name for both.

use serde::{Deserialize, Serialize};

use super::{ApprovalPolicy, PresetName};
use crate::policy::Mode;

/// The broad shape of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// Nothing of the host is written.
    #[default]
    ReadOnly,
    /// The workspace is.
    WorkspaceWrite,
    /// confine is not called at all.
    DangerFullAccess,
}

impl SessionMode {
    /// The policy's mode; `None` where there is no policy.
    pub const fn policy(self) -> Option<Mode> {
        match self {
            Self::ReadOnly => Some(Mode::ReadOnly),
            Self::WorkspaceWrite => Some(Mode::WorkspaceWrite),
            Self::DangerFullAccess => None,
        }
    }
}

/// A mode and an approval policy under one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The name.
    pub name: PresetName,
    /// The mode.
    pub mode: SessionMode,
    /// Whether anybody is asked.
    pub approval: ApprovalPolicy,
}

/// The presets that there always are.
const BUILT_IN: [(&str, SessionMode, ApprovalPolicy); 3] = [
    ("plan", SessionMode::ReadOnly, ApprovalPolicy::Ask),
    ("workspace-write", SessionMode::WorkspaceWrite, ApprovalPolicy::Ask),
    ("danger-full-access", SessionMode::DangerFullAccess, ApprovalPolicy::Never),
];

impl Preset {
    /// The presets that there always are.
    pub fn built_in() -> Vec<Self> {
        let preset =
            |(name, mode, approval)| Some(Self { name: PresetName::new(name).ok()?, mode, approval });
        BUILT_IN.into_iter().filter_map(preset).collect()
    }
}

/// What a session has set for itself, folded from its events; what it has not, the caller's default decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// The last preset that was chosen.
    pub preset: Option<PresetName>,
    /// The mode, by the preset or set by itself since.
    pub mode: Option<SessionMode>,
    /// The approval policy, likewise.
    pub approval: Option<ApprovalPolicy>,
}

impl Permissions {
    /// The mode and the approval policy in force: the session's, else `default`'s.
    pub fn effective(&self, default: (SessionMode, ApprovalPolicy)) -> (SessionMode, ApprovalPolicy) {
        (self.mode.unwrap_or(default.0), self.approval.unwrap_or(default.1))
    }
}
