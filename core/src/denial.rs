//! What the sandbox refused, as far as evidence goes. Classification fills it; records alone are proof.

use serde::{Deserialize, Serialize};

use crate::{AbsPath, Effect, Layer};

/// How sure a denial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Anything less than the next.
    Possible,
    /// A known text about a target that the policy blocks and ordinary permissions would have allowed.
    Likely,
    /// A record; never text.
    Proven,
}

/// What was tried, or would be granted: a one-key object in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// A read.
    Read(AbsPath),
    /// A write.
    Write(AbsPath),
    /// A file to be created.
    Precreate(AbsPath),
    /// A system call, by name.
    Syscall(String),
}

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// Which effect.
    pub effect: Effect,
    /// Of what.
    pub target: Option<Target>,
    /// By which layer.
    pub layer: Option<Layer>,
    /// How sure.
    pub certainty: Certainty,
    /// The smallest grant that would let it pass; `None` where none would.
    pub grant: Option<Target>,
}
