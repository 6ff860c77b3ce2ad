//! A protected name that appears: said, counted by `--strict`, moved away, listed and given back.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::call::{confine, text};
use crate::exits::needs_a_sandbox;

struct Scene {
    top: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let top = tempfile::Builder::new().prefix("confine-cli-").tempdir_in("/var/tmp").unwrap();
        std::fs::create_dir(top.path().join("ws")).unwrap();
        std::fs::create_dir(top.path().join("home")).unwrap();
        Self { top }
    }

    fn workspace(&self) -> PathBuf {
        self.top.path().join("ws")
    }

    fn command(&self, words: &[&str]) -> std::process::Command {
        let mut command = confine(&self.workspace());
        command.env("HOME", self.top.path().join("home")).args(words);
        command
    }

    fn call(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    fn quarantined(&self) -> Vec<Value> {
        let output = self.call(&["quarantine", "list", "--json"]);
        let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
        listed["quarantined"].as_array().unwrap().clone()
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[test]
fn a_planted_name_is_said_moved_away_and_can_be_restored() {
    if !needs_a_sandbox("a_planted_name_is_said_moved_away_and_can_be_restored") {
        return;
    }
    let scene = Scene::new();
    let planted = scene.workspace().join(".envrc");
    let output = scene.call(&["run", "--", "sh", "-c", "echo planted > .envrc"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("violation: the protected name") && stderr.contains(".envrc"), "{stderr}");
    assert!(!is_there(&planted));

    let listed = scene.quarantined();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(
        listed[0]["path"].as_str().unwrap(),
        planted.canonicalize().unwrap_or(planted.clone()).to_str().unwrap()
    );
    let id = listed[0]["id"].as_str().unwrap();
    assert!(text(&scene.call(&["quarantine", "list"]).stdout).contains(id));
    assert_eq!(scene.call(&["quarantine", "restore", id]).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&planted).unwrap(), "planted\n");
    let again = scene.call(&["quarantine", "restore", id]);
    assert_eq!(again.status.code(), Some(125));
    assert!(text(&again.stderr).contains("\nhelp: "), "{}", text(&again.stderr));
}

#[test]
fn strict_is_77_for_a_violation_and_only_where_the_program_exited_0() {
    if !needs_a_sandbox("strict_is_77_for_a_violation_and_only_where_the_program_exited_0") {
        return;
    }
    for (script, code) in [("true", 0), ("echo x > .envrc", 77), ("echo x > .envrc; exit 4", 4)] {
        let scene = Scene::new();
        let output = scene.call(&["run", "--strict", "--", "sh", "-c", script]);
        assert_eq!(output.status.code(), Some(code), "{script}: {}", text(&output.stderr));
    }
}

#[test]
fn what_a_killed_run_planted_is_found_by_the_next_command() {
    if !needs_a_sandbox("what_a_killed_run_planted_is_found_by_the_next_command") {
        return;
    }
    let scene = Scene::new();
    let planted = scene.workspace().join(".envrc");
    let mut child = scene.command(&["run", "--", "sh", "-c", "echo x > .envrc; sleep 60"]).spawn().unwrap();
    until(|| is_there(&planted));
    child.kill().unwrap();
    child.wait().unwrap();
    until(|| {
        let output = scene.call(&["policy", "show"]);
        text(&output.stderr).contains("was killed; its checks are made now")
    });
    assert!(!is_there(&planted));
    assert_eq!(scene.quarantined().len(), 1);
    assert_eq!(text(&scene.call(&["policy", "show"]).stderr), "", "once");
}

#[test]
fn two_runs_in_one_workspace_plant_no_protected_name_that_stays() {
    if !needs_a_sandbox("two_runs_in_one_workspace_plant_no_protected_name_that_stays") {
        return;
    }
    const PLANT: &str = "for i in $(seq 40); do mkdir .vscode && echo evil > .vscode/tasks.json && exit 3; \
        sleep 0.02; done; exit 0";
    for made in ["echo x > .vscode", "mkdir .vscode"] {
        let scene = Scene::new();
        let planted = scene.workspace().join(".vscode");
        let first = format!("{made}; until [ -e second ]; do sleep 0.02; done; sleep 0.1");
        let mut first = scene.command(&["run", "--", "sh", "-c", &first]).spawn().unwrap();
        until(|| is_there(&planted));
        let second = format!("touch second; {PLANT}");
        let output = scene.call(&["run", "--", "sh", "-c", &second]);
        assert_eq!(first.wait().unwrap().code(), Some(0));
        assert_eq!(output.status.code(), Some(0), "{made}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("was moved to"), "{made}: {}", text(&output.stderr));
        assert!(!is_there(&planted), "{made}");
        assert_eq!(scene.quarantined().len(), 1, "{made}");
    }
}

fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "it did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}
