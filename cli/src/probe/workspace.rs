//! A workspace that stands for any: what the default policy needs does not depend on which it is.

use confine_core::policy::Policy;
use confine_core::{AbsPath, Argv, LaunchFault, LaunchStage};
use confine_runner::probe::Throwaway;

use crate::arguments::PolicyOptions;
use crate::{fault, request};

/// Where there is no place for anything.
pub(super) const REMEDY: &str = "make `/var/tmp`, or what `TMPDIR` names, a directory that you may write to";

/// The default policy, resolved for a throwaway workspace.
///
/// # Errors
/// Where there is no place for one, or the policy does not resolve here.
pub(super) fn default_policy() -> Result<Policy, LaunchFault> {
    let directory = Throwaway::new().map_err(|error| {
        fault::system(LaunchStage::Usage, "make a throwaway workspace", &error).help(REMEDY)
    })?;
    let path = directory.path().to_owned();
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
