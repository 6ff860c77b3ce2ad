//! Why there is no broker, or no tool.

use confine_core::egress::manifest::ToolName;
use confine_core::policy::resolve::ResolveError;
use confine_core::probe::Unusable;
use confine_runner::SpawnError;

use crate::credential::CredentialError;
use crate::plugin::PluginError;

/// Why a tool may not be called.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The policy does not list it.
    #[error("the policy does not list the tool `{name}`")]
    Unlisted {
        /// Which.
        name: ToolName,
        /// Those that it lists.
        listed: Vec<String>,
    },
    /// The plugin.
    #[error("{0}")]
    Plugin(#[from] PluginError),
    /// The program that plugins are loaded into.
    #[error("there is nothing to load plugins into: {}", .0.reason)]
    Program(Unusable),
    /// The policy that follows from the manifest does not resolve here.
    #[error("the helper's policy does not resolve: {0}")]
    Policy(#[source] Box<ResolveError>),
    /// Nothing here confines it.
    #[error("nothing here confines the helper: {0}")]
    Unconfined(#[source] Box<SpawnError>),
}

impl LoadError {
    /// The next step for the user.
    pub fn help(&self) -> String {
        match self {
            Self::Unlisted { name, .. } => format!("add `{name}` to `tools` under `[egress]` in the policy"),
            Self::Plugin(PluginError::Changed { path, .. } | PluginError::OtherManifest { path, .. }) => {
                format!("look at what it is now, then: confine plugin lock {path}")
            }
            Self::Plugin(_) => "build it anew, as docs/plugins.md says".to_owned(),
            Self::Program(unusable) => unusable.remedy.as_ref().map_or_else(String::new, ToString::to_string),
            Self::Policy(_) | Self::Unconfined(_) => "see what is missing: confine probe".to_owned(),
        }
    }
}

/// Why there is no broker.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The secrets.
    #[error("{0}")]
    Credential(#[from] CredentialError),
}
