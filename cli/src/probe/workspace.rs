//! A workspace that stands for any: what the default policy needs does not depend on which it is.

use std::path::Path;

use confine_core::policy::Policy;
use confine_core::{AbsPath, Argv, LaunchFault, LaunchStage};
use tempfile::TempDir;

use crate::arguments::PolicyOptions;
use crate::{fault, request};

/// Not below `/tmp`, which is private inside.
const PLACE: &str = "/var/tmp";

/// The default policy, resolved for a throwaway workspace.
///
/// # Errors
/// Where there is no place for one, or the policy does not resolve here.
pub(super) fn default_policy() -> Result<Policy, LaunchFault> {
    let place = Some(Path::new(PLACE)).filter(|place| place.is_dir());
    let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
    let made = TempDir::with_prefix_in("confine-probe-", place);
    let made = made.and_then(|made| Ok((made.path().canonicalize()?, made)));
    let (path, _directory) = made.map_err(|error| {
        fault::system(LaunchStage::Usage, "make a throwaway workspace", &error)
            .help("make `/var/tmp` a directory that you may write to")
    })?;
    let options = PolicyOptions {
        policy: Some("workspace-write".into()),
        workspaces: vec![path.clone()],
        cwd: Some(path),
        ..PolicyOptions::default()
    };
    request::resolve(&options).map(|resolved| resolved.policy)
}

/// A command that is not run.
pub(super) fn argv() -> Result<Argv, LaunchFault> {
    let unmade =
        |error: &dyn std::fmt::Display| LaunchFault::new(LaunchStage::Usage, format!("probe: {error}"));
    Argv::new(["true"], AbsPath::root()).map_err(|error| unmade(&error))
}
