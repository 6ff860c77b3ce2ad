//! The state directory: in a workspace, missing, or not to be had.

use std::path::Path;

use serde_json::Value;

use crate::call::{confine, text};
use crate::exits::needs_a_sandbox;

fn scene() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("confine-state-").tempdir_in("/var/tmp").unwrap()
}

fn git_init(directory: &Path) {
    let mut git = std::process::Command::new("git");
    git.args(["init", "-q"]).current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(git.status().unwrap().success());
}

#[test]
fn the_first_run_of_a_user_may_have_home_as_its_workspace() {
    if !needs_a_sandbox("the_first_run_of_a_user_may_have_home_as_its_workspace") {
        return;
    }
    let home = scene();
    let script = "touch made && ! touch .local/state/confine/planted 2> said";
    for _ in ["first", "second"] {
        let words = ["run", "--workspace", ".", "--", "sh", "-c", script];
        let output = confine(home.path()).env("HOME", home.path()).args(words).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
        assert!(home.path().join("made").exists());
        assert!(!home.path().join(".local/state/confine/planted").exists());
    }
}

#[test]
fn a_plan_of_such_a_run_makes_nothing() {
    let home = scene();
    let words = ["plan", "--workspace", ".", "--", "true"];
    confine(home.path()).env("HOME", home.path()).args(words).output().unwrap();
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn where_no_state_can_be_kept_names_are_watched_and_placeholders_are_refused() {
    if !needs_a_sandbox("where_no_state_can_be_kept_names_are_watched_and_placeholders_are_refused") {
        return;
    }
    let workspace = scene();
    // sysfs takes no directories.
    let call = |script: &str, more: &[&str]| {
        let mut command = confine(workspace.path());
        command.env("XDG_STATE_HOME", "/sys").args(["run", "--json"]).args(more);
        command.args(["--", "sh", "-c", script]).output().unwrap()
    };
    let report: Value = serde_json::from_slice(&call("echo evil > .envrc", &[]).stdout).unwrap();
    let loss = report["missing"].as_array().unwrap().iter().find(|loss| loss["effect"] == "fs-carve-out-new");
    assert!(loss.unwrap()["reason"].as_str().unwrap().contains("state directory"), "{report:#}");
    assert!(!workspace.path().join(".envrc").exists(), "{report:#}");
    assert!(Path::new(report["quarantined"][0]["to"].as_str().unwrap()).exists(), "{report:#}");

    git_init(workspace.path());
    let refused = call("true", &[]);
    let stderr = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("`--git protect`"), "{stderr}");
    let helped = call("true", &["--git", "protect"]);
    assert_eq!(helped.status.code(), Some(0), "{}", text(&helped.stderr));
}
