//! What a helper of one plugin is started from.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use confine_core::Policy;
use confine_core::egress::Manifest;
use confine_runner::Confine;

/// Everything that a start needs. It does not change.
pub(crate) struct Spec {
    pub(crate) manifest: Manifest,
    /// The sealed copy.
    pub(crate) memory: OwnedFd,
    /// The plugin's configuration, JSON.
    pub(crate) config: Vec<u8>,
    /// The program that loads it.
    pub(crate) program: PathBuf,
    pub(crate) confinement: Confinement,
}

/// By what a helper is held.
pub(crate) enum Confinement {
    /// By the policy that follows from the manifest.
    Policy(Confine, Box<Policy>),
    /// By nothing: the user said so.
    None,
}

impl std::fmt::Debug for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spec").field("name", &self.manifest.name).finish_non_exhaustive()
    }
}
