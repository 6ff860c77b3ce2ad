//! The network part of a resolved policy.

use serde::{Deserialize, Serialize};

use crate::{Effect, Effects};

/// Which network the program has. `proxy` comes with egress tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NetPlan {
    /// None.
    #[default]
    Off,
    /// The host's.
    Open,
}

impl NetPlan {
    /// As in `CONFINE_NETWORK`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Open => "open",
        }
    }

    /// The effects that this part needs.
    pub fn needs(self) -> Effects {
        match self {
            Self::Off => [Effect::NetTcp, Effect::NetUdp, Effect::NetOther].into_iter().collect(),
            Self::Open => Effects::default(),
        }
    }
}
