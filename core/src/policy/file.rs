//! A policy as written: TOML or JSON with the same keys.
//!
//! Every key that will ever mean something is known from the start; one whose feature is not built yet is an error that
//! names the feature. `extends` is only a word here: whoever reads files loads what it names, as an earlier layer.

mod error;
mod feature;
mod tables;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use error::ParseError;
pub use tables::{
    Approval, ApprovalAudit, ApprovalDefault, Egress, Enforcement, EnvironmentTable, Filesystem, LimitsTable,
    Network, NetworkAccess, SyscallMode, Syscalls, Version,
};

use crate::Effect;
use crate::policy::Mode;

/// A policy as written. Absent keys take the word of an earlier layer, then the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PolicyFile {
    /// The major version of the format: 1. An optional addition does not change it.
    pub version: Version,
    /// `read-only` (the default) or `workspace-write`, which makes the workspace roots write grants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The policy that this one extends: a built-in name or a file. Lists add up, scalars replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// Files.
    #[serde(default)]
    pub filesystem: Filesystem,
    /// Network.
    #[serde(default)]
    pub network: Network,
    /// Egress tools.
    #[serde(default)]
    pub egress: Egress,
    /// Environment.
    #[serde(default)]
    pub environment: EnvironmentTable,
    /// Limits.
    #[serde(default)]
    pub limits: LimitsTable,
    /// System calls.
    #[serde(default)]
    pub syscalls: Syscalls,
    /// Approvals.
    #[serde(default)]
    pub approval: Approval,
    /// What must be enforced.
    #[serde(default)]
    pub enforcement: Enforcement,
}

/// How a policy is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

impl PolicyFile {
    /// # Errors
    /// Unknown keys, wrong types, wrong versions, features that are not built yet: each names key and line.
    pub fn parse(text: &str, syntax: Syntax) -> Result<Self, ParseError> {
        match syntax {
            Syntax::Toml => Self::from_toml(text),
            Syntax::Json => Self::from_json(text),
        }
    }

    /// A built-in policy: `read-only` or `workspace-write`.
    pub fn builtin(name: &str) -> Option<Self> {
        let mode = match name {
            "read-only" => Mode::ReadOnly,
            "workspace-write" => Mode::WorkspaceWrite,
            _ => return None,
        };
        let accept_missing = vec![Effect::FsCarveOutNew, Effect::NetUnixPathNew];
        Some(Self {
            mode: Some(mode),
            filesystem: Filesystem { read: Some(vec!["/".into()]), ..Filesystem::default() },
            environment: EnvironmentTable {
                pass: Some(EnvironmentTable::default_pass()),
                ..EnvironmentTable::default()
            },
            enforcement: Enforcement { accept_missing, ..Enforcement::default() },
            ..Self::default()
        })
    }

    fn from_toml(text: &str) -> Result<Self, ParseError> {
        let toml = toml::Deserializer::parse(text).map_err(|error| ParseError::toml("", &error, text))?;
        serde_path_to_error::deserialize(toml)
            .map_err(|error| ParseError::toml(&error.path().to_string(), error.inner(), text))
    }

    fn from_json(text: &str) -> Result<Self, ParseError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let file = serde_path_to_error::deserialize(&mut json)
            .map_err(|error| ParseError::json(&error.path().to_string(), error.inner()))?;
        json.end().map_err(|error| ParseError::json("", &error))?;
        Ok(file)
    }
}

/// The JSON Schema of a policy file, draft 2020-12.
#[cfg(feature = "schema")]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(PolicyFile).into()
}
