//! `confine explain`, `confine classify` and `policy describe`: what is odd is answered, or refused by name.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::call::{confine, text};

/// Landlock alone needs no program beside the stage.
const BACKEND: [&str; 4] = ["--backend", "landlock", "--accept-missing", LOST];
const LOST: &str =
    "fs-hide,fs-metadata,fs-carve-out,fs-device,fd-stdio,net-unix-path,proc-see,proc-sysctl,ipc-sysv";

fn call(directory: &Path, words: &[&str]) -> Output {
    confine(directory).args(words).output().unwrap()
}

fn explained(directory: &Path, access: &str, path: &str) -> (Option<i32>, Value) {
    let words = [&["explain", access, path, "--json"][..], &BACKEND].concat();
    let output = call(directory, &words);
    let answer = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{access} {path}: {error}: {}", text(&output.stderr)));
    (output.status.code(), answer)
}

#[test]
fn explain_goes_as_the_kernel_does() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    let script = |name: &str, first: &str| {
        std::fs::write(top.join(name), first).unwrap();
        std::fs::set_permissions(top.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    script("runs", "#!/bin/sh\n");
    script("orphan", "#! /nothing/there -x\n");
    std::fs::create_dir(top.join("sub")).unwrap();
    symlink("/etc", top.join("out")).unwrap();
    symlink("circle", top.join("circle")).unwrap();
    assert_eq!(explained(top, "exec", "runs").0, Some(0));
    let (code, orphan) = explained(top, "exec", "orphan");
    assert_eq!((code, &orphan["permissions"]), (Some(1), &"missing".into()), "{orphan}");
    assert_eq!(orphan["interpreter"], "/nothing/there");
    let (code, sub) = explained(top, "exec", "sub");
    assert_eq!((code, &sub["permissions"]), (Some(1), &"EACCES".into()), "{sub}");
    assert_eq!(explained(top, "exec", "/tmp").0, Some(1));
    let (code, circle) = explained(top, "read", "circle/x");
    assert_eq!((code, &circle["permissions"]), (Some(1), &"ELOOP".into()), "{circle}");
    let (code, up) = explained(top, "write", "out/../new");
    assert_eq!((code, &up["target"]["write"]), (Some(1), &"/new".into()), "{up}");
    let (code, environ) = explained(top, "read", "/proc/1/environ");
    assert_eq!((code, &environ["effect"]), (Some(1), &"proc-trace".into()), "{environ}");
    let empty = call(top, &["explain", "read", ""]);
    assert_eq!(empty.status.code(), Some(125));
    assert!(text(&empty.stderr).contains("an empty path"), "{}", text(&empty.stderr));
}

#[test]
fn classify_takes_no_pipe_and_no_record_of_another_run_or_backend() {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    assert!(std::process::Command::new("mkfifo").arg(top.join("pipe")).status().unwrap().success());
    for (name, content) in [
        ("seven", "{\"child-pid\": 3}\n{\"exit-code\": 7}\n"),
        ("never", "{\"child-pid\": 3}\n"),
        ("other", "{\"status\": 7}\n"),
    ] {
        std::fs::write(top.join(name), content).unwrap();
    }
    for (words, says) in [
        (&["--status", "1", "--stderr", "pipe"][..], "no regular file"),
        (&["--status", "1", "--stdout", "/dev/zero"], "no regular file"),
        (&["--status", "1", "--status-record", "pipe"], "no regular file"),
        (&["--status", "1", "--status-record", "seven"], "ended with 7, not 1"),
        (&["--signal", "9", "--status-record", "seven"], "ended with 7, not 137"),
        (&["--status", "0", "--status-record", "never"], "never ran"),
        (&["--status", "7", "--status-record", "other"], "bwrap did not write it"),
        (
            &[&BACKEND[..], &["--status", "7", "--status-record", "seven"]].concat(),
            "the backend is `landlock`",
        ),
    ] {
        let output = call(top, &[&["classify"], words, &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(125), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(says), "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_description_says_what_a_backend_does_not_enforce() {
    let directory = tempfile::tempdir().unwrap();
    let words = [&["policy", "describe", "--for", "model", "--memory", "2GiB"][..], &BACKEND].concat();
    let output = call(directory.path(), &words);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("Not enforced here") && said.contains("memory 2GiB"), "{said}");
}
