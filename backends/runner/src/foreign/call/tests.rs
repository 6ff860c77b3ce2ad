use super::*;
use std::io::Write as _;
use std::path::Path;

const SHORT: Bounds = Bounds { time: Duration::from_millis(300), answer: 64 * 1024 };
const AMPLE: Bounds = Bounds { time: Duration::from_secs(5), answer: 64 * 1024 };

fn asked(script: &str, request: &[u8], bounds: Bounds) -> Result<Vec<u8>, CallError> {
    let program = sealed::copy(script.as_bytes()).unwrap();
    call(&program, "confine-backend-test", "verb", request, bounds)
}

fn answer(script: &str) -> String {
    String::from_utf8(asked(script, b"request", AMPLE).unwrap()).unwrap()
}

#[test]
fn a_script_gets_its_verb_and_its_request_and_nothing_that_was_left_open() {
    let (left, _) = nix::unistd::pipe().unwrap();
    let high = fcntl(&left, FcntlArg::F_DUPFD(200)).unwrap();
    let text =
        answer("#!/bin/sh\necho \"$# $1\"; cat; echo; env -u PWD -u SHLVL -u _ | sort; ls /proc/$$/fd");
    nix::unistd::close(high).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("1 verb"));
    assert_eq!(lines.next(), Some("request"));
    assert_eq!(lines.next(), Some("LC_ALL=C"));
    assert!(lines.next().unwrap().starts_with("PATH=/usr/local/sbin:"));
    let mut numbers: Vec<i32> = lines.map(|line| line.parse().unwrap()).collect();
    numbers.sort_unstable();
    // dash has its script open by a number of its own: 10.
    assert!(numbers == [0, 1, 2, 3] || numbers == [0, 1, 2, 3, 10], "{numbers:?}");
}

#[test]
fn it_starts_in_the_root_and_the_caller_stays_where_it_is() {
    let here = std::env::current_dir().unwrap();
    assert_ne!(here, Path::new("/"), "the control");
    assert_eq!(answer("#!/bin/sh\n/bin/pwd"), "/\n");
    assert_eq!(std::env::current_dir().unwrap(), here);
}

#[test]
fn a_program_that_is_no_script_runs_from_memory_too() {
    let program = sealed::program(Path::new("/bin/echo")).unwrap();
    let bytes = call(&program, "confine-backend-test", "verb", b"", AMPLE).unwrap();
    assert_eq!(bytes, b"verb\n");
}

#[test]
fn one_that_hangs_is_ended_with_its_whole_group() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let script = format!("#!/bin/sh\nsleep 600 & echo $! $$ > {}; wait", pids.display());
    let begun = Instant::now();
    assert!(matches!(asked(&script, b"", SHORT), Err(CallError::Late(_))));
    assert!(begun.elapsed() < Duration::from_secs(3));
    for pid in std::fs::read_to_string(&pids).unwrap().split_whitespace() {
        assert_gone(pid);
    }
}

/// Moves itself, which a shell cannot.
const LEAVES: &str = "#!/usr/bin/perl\nsetpgrp(0, getpgrp(getppid())) or die $!; \
    open(my $f, q{>}, q{FILE}) or die $!; print $f $$; close $f; sleep 600;";

#[test]
fn one_that_left_its_group_is_ended_within_the_limit_as_well() {
    if !Path::new("/usr/bin/perl").exists() {
        eprintln!("SKIP one_that_left_its_group_is_ended_within_the_limit_as_well: perl is missing");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let begun = Instant::now();
    let script = LEAVES.replace("FILE", pid.to_str().unwrap());
    assert!(matches!(asked(&script, b"", SHORT), Err(CallError::Late(_))));
    assert!(begun.elapsed() < Duration::from_secs(3));
    assert_gone(&std::fs::read_to_string(&pid).unwrap());
}

#[test]
fn a_child_in_a_session_of_its_own_is_ended_with_one_that_hangs() {
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let script = format!("#!/bin/sh\nsetsid sh -c 'echo $$ > {}; exec sleep 600' & wait", pid.display());
    assert!(matches!(asked(&script, b"", SHORT), Err(CallError::Late(_))));
    assert_gone(std::fs::read_to_string(&pid).unwrap().trim());
}

#[test]
fn one_that_leaves_a_child_behind_has_answered_and_the_child_is_ended() {
    let text = answer("#!/bin/sh\nsleep 600 & echo $!");
    assert_gone(text.trim());
}

/// A zombie whose parent has not looked yet is as good as gone.
fn assert_gone(pid: &str) {
    let until = Instant::now() + Duration::from_secs(2);
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return;
        }
        assert!(Instant::now() < until, "{stat}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn too_much_is_refused_and_exactly_the_bound_is_not() {
    let long = |count: usize| format!("#!/bin/sh\nhead -c {count} /dev/zero");
    assert_eq!(asked(&long(AMPLE.answer), b"", AMPLE).unwrap().len(), AMPLE.answer);
    assert!(matches!(asked(&long(AMPLE.answer + 1), b"", AMPLE), Err(CallError::TooLong(_))));
    let begun = Instant::now();
    assert!(matches!(asked("#!/bin/sh\nexec cat /dev/zero", b"", AMPLE), Err(CallError::TooLong(_))));
    assert!(begun.elapsed() < Duration::from_secs(2), "it does not wait for the end");
}

#[test]
fn a_flood_of_complaints_neither_blocks_nor_counts() {
    assert_eq!(answer("#!/bin/sh\nhead -c 4000000 /dev/zero >&2; echo fine"), "fine\n");
}

#[test]
fn a_crash_is_told_with_its_last_words() {
    let said = |script: &str| asked(script, b"", AMPLE).unwrap_err().to_string();
    assert_eq!(said("#!/bin/sh\necho one >&2; echo two >&2; exit 3"), "it exits with 3: `two`");
    assert_eq!(said("#!/bin/sh\nkill -SEGV $$"), "it is ended by SIGSEGV");
    assert_eq!(said("#!/bin/sh\nprintf '\\033[2J' >&2; exit 1"), r"it exits with 1: `\u{1b}[2J`");
    assert!(said("#!/no/such/interpreter\n").starts_with("it cannot be started: No such file"));
    assert!(said("").starts_with("it cannot be started: Exec format error"));
}

#[test]
fn a_request_longer_than_a_pipe_arrives_even_where_nobody_reads_it_at_once() {
    let request = vec![b'x'; 3 << 20];
    let script = "#!/bin/sh\nhead -c 60000 /dev/zero; wc -c | tr -d '\\n'";
    let bytes = asked(script, &request, AMPLE).unwrap();
    assert!(bytes.ends_with(b"3145728"));
    assert_eq!(asked("#!/bin/sh\necho", &request, AMPLE).unwrap(), b"\n", "nor where nobody reads it");
}

#[test]
fn the_copy_that_runs_cannot_be_changed_by_the_program() {
    let program =
        sealed::copy(&b"#!/bin/sh\n(: > /proc/$$/fd/3) 2>/dev/null && echo changed || echo sealed"[..])
            .unwrap();
    let bytes = call(&program, "confine-backend-test", "verb", b"", AMPLE).unwrap();
    assert_eq!(bytes, b"sealed\n");
    assert!(File::from(program).write_all(b"x").is_err());
}
