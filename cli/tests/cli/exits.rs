//! Exit codes of `run`, by real runs.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::call::{confine, text};

/// Whether runs can be tried: without the stage beside the binary they cannot. With `CONFINE_REQUIRE` set, a missing
/// one fails.
pub(crate) fn needs_a_sandbox(test: &str) -> bool {
    let stage = Path::new(env!("CARGO_BIN_EXE_confine")).with_file_name("confine-stage");
    if stage.exists() {
        return true;
    }
    assert!(std::env::var_os("CONFINE_REQUIRE").is_none(), "{test}: {} is missing", stage.display());
    eprintln!("SKIP {test}: {} is missing", stage.display());
    false
}

/// Whether root runs the test; the kept tables are root's.
pub(crate) fn needs_root(test: &str) -> bool {
    let root = std::fs::metadata("/proc/self")
        .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0);
    if !root {
        let required =
            std::env::var("CONFINE_REQUIRE").is_ok_and(|list| list.split(',').any(|one| one == "root"));
        assert!(!required, "{test} needs root, which CONFINE_REQUIRE lists");
        eprintln!("SKIP {test}: needs root");
    }
    root
}

fn scene() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("confine-cli-").tempdir_in("/var/tmp").unwrap()
}

/// Words after `confine run`, the exit code, and what stderr must hold.
const RUNS: &[(&[&str], i32, &str)] = &[
    (&["--", "true"], 0, ""),
    (&["--", "false"], 1, ""),
    (&["--", "sh", "-c", "exit 77"], 77, ""),
    (&["--", "sh", "-c", "exit 124"], 124, ""),
    (&["--", "sh", "-c", "exit 125"], 125, ""),
    (&["--", "sh", "-c", "exit 137"], 137, ""),
    (&["--", "sh", "-c", "kill -9 $$"], 137, ""),
    (&["--", "sh", "-c", "kill -PIPE $$"], 141, ""),
    (&["--", "no-such-program"], 127, "cannot execute `no-such-program`: not found"),
    (&["--", "/etc/hostname"], 126, "cannot execute `/etc/hostname`"),
    (&["--timeout", "300ms", "--", "sleep", "60"], 124, "the time limit of 300ms was reached"),
];

#[test]
fn every_exit_code_is_the_documented_one() {
    if !needs_a_sandbox("every_exit_code_is_the_documented_one") {
        return;
    }
    for (words, code, says) in RUNS {
        let scene = scene();
        let output = confine(scene.path()).arg("run").args(*words).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{words:?}: {stderr}");
        assert!(stderr.contains(says), "{words:?}: {stderr}");
        if *code == 0 {
            assert_eq!(stderr, "", "{words:?}");
        }
    }
}

#[test]
fn dropped_variables_are_counted_for_a_command_that_failed_and_only_then() {
    if !needs_a_sandbox("dropped_variables_are_counted_for_a_command_that_failed_and_only_then") {
        return;
    }
    for (program, says) in [("false", true), ("true", false)] {
        let scene = scene();
        let output =
            confine(scene.path()).env("SECRET_NAME", "x").args(["run", "--", program]).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(
            stderr.contains("variables removed by policy") || stderr.contains("variable removed by policy"),
            says
        );
        assert!(!stderr.contains("SECRET_NAME"), "{stderr}");
    }
}

#[test]
fn stdin_and_stdout_are_the_callers_own() {
    if !needs_a_sandbox("stdin_and_stdout_are_the_callers_own") {
        return;
    }
    let scene = scene();
    let script = format!("echo x | {} run -- cat > out", env!("CARGO_BIN_EXE_confine"));
    let status =
        std::process::Command::new("sh").arg("-c").arg(script).current_dir(scene.path()).status().unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(scene.path().join("out")).unwrap(), "x\n");
}

#[test]
fn a_signal_reaches_the_programs_own_trap_and_its_exit_code_counts() {
    if !needs_a_sandbox("a_signal_reaches_the_programs_own_trap_and_its_exit_code_counts") {
        return;
    }
    let scene = scene();
    let program = "trap 'exit 7' INT; : > ready; while :; do sleep 0.05; done";
    let mut child = confine(scene.path()).args(["run", "--", "sh", "-c", program]).spawn().unwrap();
    until(|| scene.path().join("ready").exists());
    send("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

#[test]
fn term_ends_a_program_that_ignores_it_after_two_seconds() {
    if !needs_a_sandbox("term_ends_a_program_that_ignores_it_after_two_seconds") {
        return;
    }
    let scene = scene();
    let program = "trap '' TERM; : > ready; while :; do sleep 0.05; done";
    let words = ["run", "--report", "../report", "--", "sh", "-c", program];
    let inner = scene.path().join("ws");
    std::fs::create_dir(&inner).unwrap();
    let mut child = confine(&inner).args(words).spawn().unwrap();
    until(|| inner.join("ready").exists());
    let asked = Instant::now();
    send("TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let took = asked.elapsed();
    assert!((Duration::from_millis(1900)..Duration::from_secs(4)).contains(&took), "{took:?}");
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scene.path().join("report")).unwrap()).unwrap();
    assert_eq!(report["verdict"], "cancelled");
}

#[test]
fn a_second_signal_ends_the_tree_at_once() {
    if !needs_a_sandbox("a_second_signal_ends_the_tree_at_once") {
        return;
    }
    let scene = scene();
    let program = "trap '' INT; : > ready; while :; do sleep 0.05; done";
    let mut child = confine(scene.path()).args(["run", "--", "sh", "-c", program]).spawn().unwrap();
    until(|| scene.path().join("ready").exists());
    send("INT", child.id());
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "the first one only goes to the program");
    send("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_hangup_ends_the_program_unless_confine_was_started_to_ignore_it() {
    if !needs_a_sandbox("a_hangup_ends_the_program_unless_confine_was_started_to_ignore_it") {
        return;
    }
    for (before, code) in [("", 129), ("trap '' HUP; ", 5)] {
        let scene = scene();
        let program = ": > ready; sleep 1; exit 5";
        let script = format!("{before}exec {} run -- sh -c '{program}'", env!("CARGO_BIN_EXE_confine"));
        let home = confine(scene.path());
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(script).current_dir(scene.path()).env_clear();
        shell.envs(home.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut child = shell.spawn().unwrap();
        until(|| scene.path().join("ready").exists());
        send("HUP", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{before}");
    }
}

fn send(signal: &str, pid: u32) {
    let script = format!("kill -{signal} {pid}");
    assert!(std::process::Command::new("sh").arg("-c").arg(script).status().unwrap().success());
}

fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "it did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}
