//! One real launch of a backend, in a throwaway workspace under the built-in read-only policy.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use confine_core::policy::Policy;
use confine_core::probe::Unusable;
use confine_core::{AbsPath, BackendId, ConfineError, Effect, LaunchFault, LaunchStage, Reason, Report};
use confine_runner::{Confine, SpawnError, Stdio};
use tempfile::TempDir;

use super::version;
use crate::arguments::PolicyOptions;
use crate::{fault, request};

/// How long a launch may take.
const BOUND: Duration = Duration::from_secs(5);
/// Not below `/tmp`, which is private inside.
const PLACE: &str = "/var/tmp";
/// Tries to create a file in the workspace, which is read-only.
const SCRIPT: &str = r#": > "$1""#;

/// A throwaway workspace, and the policy that forbids to write into it.
pub(super) struct Attempt {
    /// The workspace; removed when this is dropped.
    pub(super) workspace: AbsPath,
    read_only: Policy,
    _directory: TempDir,
}

impl Attempt {
    /// Makes the workspace.
    ///
    /// # Errors
    /// Where there is no place for it.
    pub(super) fn prepare() -> Result<Self, LaunchFault> {
        let place = Some(Path::new(PLACE))
            .filter(|place| place.is_dir())
            .map_or_else(std::env::temp_dir, Path::to_owned);
        let unable = |error: &std::io::Error| {
            fault::system(LaunchStage::Usage, "make a throwaway workspace", error)
                .help("make `/var/tmp` a directory that you may write to")
        };
        let directory = TempDir::with_prefix_in("confine-probe-", place).map_err(|error| unable(&error))?;
        let canonical = directory.path().canonicalize().map_err(|error| unable(&error))?;
        let workspace = AbsPath::new(canonical).map_err(|error| {
            LaunchFault::new(LaunchStage::Usage, format!("make a throwaway workspace: {error}"))
        })?;
        let read_only = policy("read-only", &workspace, Effect::ALL)?;
        Ok(Self { workspace, read_only, _directory: directory })
    }

    /// The default policy, in the workspace.
    ///
    /// # Errors
    /// Where it does not resolve here.
    pub(super) fn default_policy(&self) -> Result<Policy, LaunchFault> {
        policy("workspace-write", &self.workspace, &[])
    }

    /// Launches the backend, whatever it cannot enforce here; its sandbox must stand and forbid the write.
    pub(super) fn launch(&self, confine: &Confine, id: BackendId) -> Result<(), Unusable> {
        let marker = self.workspace.as_path().join(format!("written-through-{id}"));
        let asked = (id.as_str() == "bwrap").then(|| confine.probe());
        let words = ["/bin/sh".as_ref(), "-c".as_ref(), SCRIPT.as_ref(), "sh".as_ref(), marker.as_os_str()];
        let command = confine.command(words).cwd(self.workspace.clone()).policy(&self.read_only).backend(id);
        let report = wait(command.stdin(Stdio::Null))?;
        judged(&report, &marker).map_err(|unusable| match asked {
            Some(facts) => version::noted(unusable, facts),
            None => unusable,
        })
    }
}

fn policy(name: &str, workspace: &AbsPath, accepted: &[Effect]) -> Result<Policy, LaunchFault> {
    let options = PolicyOptions {
        policy: Some(name.into()),
        workspaces: vec![workspace.as_path().to_owned()],
        cwd: Some(workspace.as_path().to_owned()),
        accept_missing: Some(accepted.iter().copied().collect()),
        ..PolicyOptions::default()
    };
    request::resolve(&options).map(|resolved| resolved.policy)
}

/// Spawns it and waits; what takes longer than the bound is ended.
fn wait(command: confine_runner::Command) -> Result<Report, Unusable> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Unusable::without_remedy(format!("no runtime: {error}")))?;
    runtime.block_on(async {
        let run = command.spawn().await.map_err(|refused| refusal(&refused))?;
        tokio::time::timeout(BOUND, run.wait()).await.map_err(|_| {
            Unusable::without_remedy(format!("a launch did not end within {} s", BOUND.as_secs()))
        })
    })
}

/// Why nothing was spawned: the backend's own word where it has one.
fn refusal(refused: &SpawnError) -> Unusable {
    if let SpawnError::Refused(refusals) = refused
        && let Some(ConfineError::Unusable { unusable, .. }) = refusals.0.first()
    {
        return unusable.clone();
    }
    unusable(&refused.fault())
}

/// The sandbox stood, and the world is as before. Whether the program itself succeeded does not matter: its write is
/// to fail.
fn judged(report: &Report, marker: &Path) -> Result<(), Unusable> {
    if let Some(fault) = &report.launch_fault {
        return Err(unusable(fault));
    }
    if marker.exists() {
        return Err(Unusable::without_remedy("a write that the policy forbids went through"));
    }
    // The control: outside, the same write works; else its failure inside would mean nothing.
    File::create(marker).and_then(|_| std::fs::remove_file(marker)).map_err(|error| {
        Unusable::without_remedy(format!(
            "nothing can be told: the forbidden write fails outside too ({error})"
        ))
    })
}

fn unusable(fault: &LaunchFault) -> Unusable {
    Unusable { reason: Reason::from(fault.text.clone()), remedy: fault.help.clone().map(Reason::from) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_means_that_the_policy_did_not_hold() {
        let directory = tempfile::tempdir().unwrap();
        let marker = directory.path().join("marker");
        assert!(judged_without_fault(&marker).is_ok());
        File::create(&marker).unwrap();
        let held = judged_without_fault(&marker).unwrap_err();
        assert_eq!(held.reason.to_string(), "a write that the policy forbids went through");
    }

    #[test]
    fn where_the_write_fails_outside_too_nothing_is_claimed() {
        assert!(judged_without_fault(Path::new("/nope/marker")).is_err());
    }

    fn judged_without_fault(marker: &Path) -> Result<(), Unusable> {
        let fault = LaunchFault::new(LaunchStage::Usage, "");
        let report = Report { launch_fault: None, ..confine_runner::unstarted(&[], None, None, fault) };
        judged(&report, marker)
    }
}
