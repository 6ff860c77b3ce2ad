//! The pseudo-terminal: passed out, controlling, sized, with job control.

use std::fs::File;
use std::io::{Read, Write};
use std::time::Duration;

use confine_stage::{Record, Rule, Ruleset, Step, TerminalSize};

use crate::rig::{Running, everywhere, status, supervisor, wait_for};

/// Reads the master until `text` has come.
fn expect(running: &Running, text: &str) -> String {
    let terminal = running.terminal.as_ref().unwrap();
    let mut file = File::from(terminal.try_clone().unwrap());
    let mut seen = String::new();
    while !seen.contains(text) {
        assert!(wait_for(terminal, Duration::from_secs(10)), "{text:?} is not in {seen:?}");
        let mut bytes = [0; 1024];
        match file.read(&mut bytes) {
            Ok(length) if length > 0 => seen.push_str(&String::from_utf8_lossy(&bytes[..length])),
            _ => panic!("{text:?} is not in {seen:?}"),
        }
    }
    seen
}

#[test]
fn the_program_has_a_terminal_of_its_own() {
    for mut launch in everywhere() {
        launch.plan.tty = Some(TerminalSize { rows: 33, columns: 101 });
        let script = "stty size; tty; test -t 0 && test -t 1 && test -t 2 && echo on > /dev/tty; cat; exit 5";
        let mut running = launch.spawn(&["sh", "-c", script]);
        assert_eq!(running.next(), Some(Record::Terminal));
        running.until_started();
        let seen = expect(&running, "on\r\n");
        assert!(seen.contains("33 101") && seen.contains("/dev/pts/"), "{seen:?}");
        let mut master = File::from(running.terminal.as_ref().unwrap().try_clone().unwrap());
        master.write_all(b"hello\n").unwrap();
        expect(&running, "hello\r\nhello\r\n");
        master.write_all(b"\x04").unwrap();
        assert_eq!(status(&running.rest()), Some(0x500));
        running.child.wait().unwrap();
    }
}

#[test]
fn keys_make_signals_and_jobs_have_control() {
    let mut launch = supervisor();
    launch.plan.tty = Some(TerminalSize { rows: 24, columns: 80 });
    let mut running = launch.spawn(&["bash", "--norc", "-i"]);
    assert_eq!(running.next(), Some(Record::Terminal));
    running.until_started();
    let mut master = File::from(running.terminal.as_ref().unwrap().try_clone().unwrap());
    master.write_all(b"sleep 60; echo int $?\n").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    master.write_all(b"\x03").unwrap();
    master.write_all(b"echo after $((6*7)); jobs -l; exit 3\n").unwrap();
    let seen = expect(&running, "after 42");
    assert!(!seen.contains("no job control"), "{seen:?}");
    assert_eq!(status(&running.rest()), Some(0x300));
    running.child.wait().unwrap();
}

#[test]
fn a_closed_master_hangs_the_program_up() {
    let mut launch = supervisor();
    launch.plan.tty = Some(TerminalSize { rows: 24, columns: 80 });
    let mut running = launch.spawn(&["sleep", "60"]);
    running.until_started();
    running.terminal = None;
    assert_eq!(status(&running.rest()), Some(libc::SIGHUP));
    running.child.wait().unwrap();
}

#[test]
fn the_terminal_is_writable_by_its_name_with_stdio_access_and_not_without() {
    for (access, code) in [(None, 0x200), (Some(0x6), 0)] {
        let mut launch = supervisor();
        launch.plan.tty = Some(TerminalSize { rows: 24, columns: 80 });
        launch.plan.stdio_access = access;
        let rules = ["/usr", "/etc", "/dev/pts"].map(|path| Rule { access: 0xd, path: path.into() });
        launch.plan.landlock =
            Some(Ruleset { handled_fs: 0x1fff, rules: rules.into(), ..Ruleset::default() });
        let mut running = launch.spawn(&["sh", "-c", "echo on > $(tty)"]);
        assert_eq!(status(&running.rest()), Some(code), "{access:?}");
        running.child.wait().unwrap();
    }
}

#[test]
fn a_terminal_without_a_control_socket_is_refused() {
    let mut launch = supervisor();
    launch.plan.tty = Some(TerminalSize { rows: 24, columns: 80 });
    let output = launch.output(&["true"]);
    assert_eq!(output.status.code(), Some(125), "{:?}", Step::Terminal);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--control"));
}
