//! What a confined process may try, and which layer answers.
//!
//! One table ([`Effect::ALL`]); everything that lists effects walks it. "Full" and "partial" are too coarse to decide
//! anything, so a policy needs a set of effects and a backend answers for each.

mod table;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use table::{Effect, Layer, UnknownEffect, UnknownLayer};

/// Why something is as it is, for people. A lower-case fragment without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// From a literal.
    pub const fn new(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a backend can do about one effect on one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Governed {
    /// Prevented, by each of these layers alone.
    Enforced {
        /// Never empty.
        layers: Vec<Layer>,
    },
    /// Seen and reported, not prevented.
    Detected {
        /// What is seen, and when.
        reason: Reason,
    },
    /// Neither.
    NotGoverned {
        /// What is lacking.
        reason: Reason,
    },
    /// Nobody can tell here.
    Untestable {
        /// What stands in the way.
        reason: Reason,
    },
}

impl Governed {
    /// Enforced by `layers`.
    pub fn by(layers: &[Layer]) -> Self {
        Self::Enforced { layers: layers.to_vec() }
    }

    /// Not governed, for a fixed reason.
    pub const fn not(reason: &'static str) -> Self {
        Self::NotGoverned { reason: Reason::new(reason) }
    }

    /// Whether it counts for a policy that needs the effect; `detected` and `untestable` do not.
    pub const fn is_enforced(&self) -> bool {
        matches!(self, Self::Enforced { .. })
    }

    /// Why it is not enforced; `None` where it is.
    pub const fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Enforced { .. } => None,
            Self::Detected { reason } | Self::NotGoverned { reason } | Self::Untestable { reason } => {
                Some(reason)
            }
        }
    }
}

/// A sorted set of effects. Its text form is the names joined by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Effects(BTreeSet<Effect>);

impl Effects {
    /// Whether `effect` is in the set.
    pub fn contains(&self, effect: Effect) -> bool {
        self.0.contains(&effect)
    }

    /// Adds one.
    pub fn insert(&mut self, effect: Effect) {
        self.0.insert(effect);
    }

    /// In the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = Effect> + '_ {
        self.0.iter().copied()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of `self` that are not in `other`.
    pub fn without(&self, other: &Self) -> Self {
        self.iter().filter(|effect| !other.contains(*effect)).collect()
    }
}

impl IntoIterator for Effects {
    type Item = Effect;
    type IntoIter = std::collections::btree_set::IntoIter<Effect>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<Effect> for Effects {
    fn from_iter<I: IntoIterator<Item = Effect>>(effects: I) -> Self {
        Self(effects.into_iter().collect())
    }
}

impl Extend<Effect> for Effects {
    fn extend<I: IntoIterator<Item = Effect>>(&mut self, effects: I) {
        self.0.extend(effects);
    }
}

impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Effect::name).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for Effects {
    type Err = UnknownEffect;
    fn from_str(list: &str) -> Result<Self, UnknownEffect> {
        list.split(',').filter(|name| !name.is_empty()).map(str::parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back_and_is_the_json_name() {
        for effect in Effect::ALL {
            assert_eq!(effect.name().parse::<Effect>().unwrap(), *effect);
            assert_eq!(serde_json::to_string(effect).unwrap(), format!("\"{effect}\""));
        }
        for layer in Layer::ALL {
            assert_eq!(layer.name().parse::<Layer>().unwrap(), *layer);
            assert_eq!(serde_json::to_string(layer).unwrap(), format!("\"{layer}\""));
        }
    }

    #[test]
    fn a_list_of_all_effects_survives_its_text_form() {
        let all: Effects = Effect::ALL.iter().copied().collect();
        assert_eq!(all.to_string().parse::<Effects>().unwrap(), all);
        assert_eq!("fs-nope".parse::<Effects>(), Err(UnknownEffect("fs-nope".into())));
    }
}
