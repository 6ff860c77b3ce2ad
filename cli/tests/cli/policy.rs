//! `confine policy`: checked, shown, and never half understood.

use std::path::Path;

use serde_json::Value;

use crate::call::{confine, text};

const GOOD: &str =
    "version = 1\nmode = \"workspace-write\"\n[filesystem]\nwrite = [\"out\"]\n[limits]\ntime = \"10min\"\n";

fn directory_with(policy: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("ws")).unwrap();
    std::fs::create_dir(directory.path().join("out")).unwrap();
    std::fs::write(directory.path().join("p.toml"), policy).unwrap();
    directory
}

fn json(directory: &Path, words: &[&str]) -> Value {
    let output = confine(directory).args(words).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

#[test]
fn a_good_policy_checks_silently() {
    let directory = directory_with(GOOD);
    let words = ["policy", "check", "p.toml", "--workspace", "ws"];
    let output = confine(directory.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    let words = ["policy", "check", "p.toml", "--workspace", "ws", "--json"];
    assert_eq!(json(directory.path(), &words)["ok"], true);
}

#[test]
fn a_bad_policy_is_a_no_with_file_line_and_key() {
    let directory = directory_with("version = 1\n[filesystem]\nwrit = []\n");
    let words = ["policy", "check", "p.toml", "--workspace", "ws"];
    let output = confine(directory.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    for part in ["p.toml", "line 3", "writ", "\nhelp: "] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    let answer = json(directory.path(), &["policy", "check", "p.toml", "--workspace", "ws", "--json"]);
    assert_eq!(answer["version"], 1);
    assert_eq!(answer["ok"], false);
    assert!(answer["fault"]["text"].as_str().unwrap().contains("line 3"));
}

#[test]
fn a_run_under_a_bad_policy_runs_nothing() {
    let directory = directory_with("version = 1,\n");
    let words = ["run", "--policy", "p.toml", "--workspace", "ws", "--", "touch", "ws/ran"];
    let output = confine(directory.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("line 1"), "{}", text(&output.stderr));
    assert!(!directory.path().join("ws/ran").exists());
}

#[test]
fn the_resolved_policy_shows_each_path_with_access_and_source() {
    let directory = directory_with(GOOD);
    let top = directory.path().canonicalize().unwrap();
    let words = ["policy", "show", "p.toml", "--workspace", "ws", "--hide", "out"];
    let output = confine(directory.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let line = |start: &str, path: &Path| {
        let path = path.to_str().unwrap();
        let found = shown
            .lines()
            .find(|line| line.starts_with(start) && line.split_whitespace().any(|word| word == path));
        found.unwrap_or_else(|| panic!("{start} {path} in:\n{shown}")).to_owned()
    };
    assert!(line("write", &top.join("ws")).contains("workspace"));
    assert!(line("hide", &top.join("out")).contains("command line"));
    assert!(
        line("read", Path::new("/")).contains("p.toml") || line("read", Path::new("/")).contains("built in")
    );
    assert!(shown.contains("time=600s"), "{shown}");
}

#[test]
fn the_resolved_policy_as_json_has_the_same_entries() {
    let directory = directory_with(GOOD);
    let top = directory.path().canonicalize().unwrap();
    let shown = json(directory.path(), &["policy", "show", "p.toml", "--workspace", "ws", "--json"]);
    let entries = &shown["fs"]["entries"];
    assert_eq!(entries[top.join("ws").to_str().unwrap()]["access"], "write", "{shown}");
    assert_eq!(entries[top.join("out").to_str().unwrap()]["access"], "write", "{shown}");
    assert!(shown["id"].as_str().unwrap().starts_with("sha256:"));
}

#[test]
fn an_option_that_names_nothing_is_an_error_by_its_name() {
    let directory = directory_with(GOOD);
    for option in ["--read", "--write"] {
        let words = ["policy", "show", "--workspace", "ws", option, "nope"];
        let output = confine(directory.path()).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{option}");
        assert!(text(&output.stderr).contains("nope"), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("\nhelp: "), "{}", text(&output.stderr));
    }
}

#[test]
fn a_policy_that_a_workspace_brings_along_may_only_take_away() {
    let wider = "version = 1\n[filesystem]\nwrite = [\"../../out\"]\n";
    let narrower = "version = 1\n[filesystem]\nhide = [\"../../out\"]\n";
    for (brought, code) in [(wider, 125), (narrower, 0)] {
        let directory = directory_with(GOOD);
        std::fs::create_dir(directory.path().join("ws/.confine")).unwrap();
        std::fs::write(directory.path().join("ws/.confine/policy.toml"), brought).unwrap();
        let words = ["policy", "show", "--policy", "workspace-write", "--workspace", "ws"];
        let output = confine(directory.path()).args(words).output().unwrap();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{brought}: {stderr}");
        match code {
            0 => assert!(
                stdout.lines().any(|line| line.starts_with("hide") && line.contains("/out ")),
                "{stdout}"
            ),
            _ => assert!(stderr.contains(".confine/policy.toml") && stderr.contains("\nhelp: "), "{stderr}"),
        }
    }
}
