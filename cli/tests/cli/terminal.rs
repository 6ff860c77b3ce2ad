//! `--tty`: a terminal of the program's own, and the caller's as it was before.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::call::{confine, text};
use crate::exits::needs_a_sandbox;

const CONFINE: &str = env!("CARGO_BIN_EXE_confine");

fn needs_a_terminal(test: &str) -> bool {
    if !needs_a_sandbox(test) {
        return false;
    }
    let there = Path::new("/usr/bin/script").exists();
    if !there {
        assert!(std::env::var_os("CONFINE_REQUIRE").is_none(), "{test} needs script(1)");
        eprintln!("SKIP {test}: script(1) is missing");
    }
    there
}

/// Runs a shell script on a terminal that script(1) makes.
fn on_a_terminal(directory: &Path, lines: &str) -> Output {
    let inner = confine(directory);
    let mut command = Command::new("/usr/bin/script");
    command.args(["-qec", lines, "/dev/null"]).current_dir(directory).env_clear().stdin(Stdio::null());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.output().unwrap()
}

fn scene() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("confine-cli-").tempdir_in("/var/tmp").unwrap()
}

#[test]
fn the_program_has_a_terminal_of_the_callers_size_and_the_callers_is_restored() {
    if !needs_a_terminal("the_program_has_a_terminal_of_the_callers_size_and_the_callers_is_restored") {
        return;
    }
    let scene = scene();
    let inside = "test -t 0 && test -t 1 && test -t 2 && stty size > size && exit 3";
    let lines = format!(
        "stty rows 33 cols 77; stty -a > before; {CONFINE} run --tty -- sh -c '{inside}'; echo $? > code; stty -a > after"
    );
    let output = on_a_terminal(scene.path(), &lines);
    let read = |name: &str| {
        std::fs::read_to_string(scene.path().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}: {}", text(&output.stdout)))
    };
    assert_eq!(read("size"), "33 77\n");
    assert_eq!(read("code"), "3\n");
    assert_eq!(read("before"), read("after"));
}

#[test]
fn the_callers_terminal_is_restored_when_confine_is_told_to_stop() {
    if !needs_a_terminal("the_callers_terminal_is_restored_when_confine_is_told_to_stop") {
        return;
    }
    let scene = scene();
    // The shell sends TERM once the program runs; the terminal is raw then.
    let lines = format!(
        "stty -a > before; (until test -e ready; do sleep 0.05; done; stty -a > during; kill -TERM $(cat pid)) & \
         sh -c 'echo $$ > pid; exec {CONFINE} run --tty -- sh -c \": > ready; sleep 60\"'; echo $? > code; stty -a > after"
    );
    let output = on_a_terminal(scene.path(), &lines);
    let read = |name: &str| {
        std::fs::read_to_string(scene.path().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}: {}", text(&output.stdout)))
    };
    assert_eq!(read("code"), "143\n");
    assert_ne!(read("before"), read("during"), "the control: it was raw");
    assert_eq!(read("before"), read("after"));
}

#[test]
fn a_stdin_that_is_no_terminal_ends_for_the_program_too() {
    if !needs_a_sandbox("a_stdin_that_is_no_terminal_ends_for_the_program_too") {
        return;
    }
    let scene = scene();
    let output =
        confine(scene.path()).args(["run", "--tty", "--", "cat"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
