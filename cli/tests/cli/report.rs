//! `--report`: written whatever happened, whole or not at all, and never where the program could write.

use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::Value;

use crate::call::{confine, text};
use crate::exits::needs_a_sandbox;

fn scene() -> tempfile::TempDir {
    let directory = tempfile::Builder::new().prefix("confine-cli-").tempdir_in("/var/tmp").unwrap();
    std::fs::create_dir(directory.path().join("ws")).unwrap();
    directory
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_call_that_is_wrong_has_a_report_with_nulls() {
    let scene = scene();
    let words = ["run", "--nope", "--report", "r.json", "--", "some", "command"];
    let output = confine(scene.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let report = read(&scene.path().join("r.json"));
    assert_eq!(report["version"], 1);
    assert_eq!(report["command"], serde_json::json!(["some", "command"]));
    assert_eq!(report["verdict"], "launcher-failed");
    assert_eq!(report["outcome"]["kind"], "launcher-failed");
    assert_eq!(report["launch_fault"]["stage"], "usage");
    assert_eq!(report["backend"], Value::Null);
    assert_eq!(report["run"].as_str().unwrap().len(), 26);
}

#[test]
fn a_policy_that_does_not_load_has_a_report_too() {
    let scene = scene();
    let words = ["run", "--policy", "nope.toml", "--report", "r.json", "--", "true"];
    let output = confine(scene.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(read(&scene.path().join("r.json"))["launch_fault"]["stage"], "policy");
}

#[test]
fn a_report_file_is_private_replaces_a_link_and_leaves_nothing_else() {
    let scene = scene();
    let victim = scene.path().join("victim");
    std::fs::write(&victim, "as it was").unwrap();
    std::os::unix::fs::symlink(&victim, scene.path().join("r.json")).unwrap();
    confine(scene.path()).args(["run", "--nope", "--report", "r.json"]).output().unwrap();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "as it was");
    let metadata = scene.path().join("r.json").symlink_metadata().unwrap();
    assert!(metadata.is_file() && metadata.nlink() == 1);
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_eq!(names(scene.path()), ["r.json", "victim", "ws"]);
}

#[test]
fn a_run_that_is_killed_leaves_no_report_and_nothing_beside_it() {
    if !needs_a_sandbox("a_run_that_is_killed_leaves_no_report_and_nothing_beside_it") {
        return;
    }
    let scene = scene();
    std::fs::write(scene.path().join("r.json"), "of an earlier run").unwrap();
    let words = ["run", "--workspace", "ws", "--report", "r.json", "--"];
    let script = ["sh", "-c", "touch ws/started; sleep 60"];
    let mut child = confine(scene.path()).args(words).args(script).spawn().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !scene.path().join("ws/started").exists() && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(scene.path()), ["r.json", "ws"]);
    assert_eq!(std::fs::read(scene.path().join("r.json")).unwrap(), b"of an earlier run");
}

#[test]
fn a_report_inside_a_write_grant_is_refused_and_nothing_runs() {
    let scene = scene();
    let words = ["run", "--workspace", "ws", "--report", "ws/r.json", "--", "touch", "ws/ran"];
    let output = confine(scene.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("ws/r.json") && stderr.contains("\nhelp: "), "{stderr}");
    assert_eq!(names(&scene.path().join("ws")), [""; 0]);
}

#[test]
fn a_report_goes_to_a_pipe_a_file_and_a_socket_by_number() {
    let scene = scene();
    let script = format!("{} run --nope --report fd:3 3>&1 2>/dev/null", env!("CARGO_BIN_EXE_confine"));
    let shell = |script: &str| {
        std::process::Command::new("sh").arg("-c").arg(script).current_dir(scene.path()).output().unwrap()
    };
    let piped: Value = serde_json::from_slice(&shell(&script).stdout).unwrap();
    assert_eq!(piped["version"], 1);

    std::fs::write(scene.path().join("log"), "before\n").unwrap();
    shell(&script.replace("3>&1", "3>>log"));
    let log = std::fs::read_to_string(scene.path().join("log")).unwrap();
    assert!(serde_json::from_str::<Value>(log.strip_prefix("before\n").unwrap()).is_ok());

    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut child = confine(scene.path())
        .args(["run", "--nope", "--report", "fd:1"])
        .stdout(std::os::fd::OwnedFd::from(theirs))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut sent = String::new();
    ours.read_to_string(&mut sent).unwrap();
    child.wait().unwrap();
    assert!(serde_json::from_str::<Value>(&sent).is_ok(), "{sent}");
}

#[test]
fn the_report_of_a_run_says_what_the_exit_code_says() {
    if !needs_a_sandbox("the_report_of_a_run_says_what_the_exit_code_says") {
        return;
    }
    let scene = scene();
    let words = [
        "run",
        "--workspace",
        "ws",
        "--report",
        "r.json",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2; exit 3",
    ];
    let output = confine(scene.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "out\n");
    assert!(text(&output.stderr).starts_with("err\n"));
    let report = read(&scene.path().join("r.json"));
    assert_eq!(report["outcome"], serde_json::json!({"kind": "exited", "code": 3}));
    assert_eq!(report["verdict"], "failed");
    assert!(report["plan"].as_str().unwrap().starts_with("sha256:"));
    assert!(report["usage"]["launch_us"].as_u64().unwrap() > 0);
}

#[test]
fn json_captures_both_streams_and_prints_the_report() {
    if !needs_a_sandbox("json_captures_both_streams_and_prints_the_report") {
        return;
    }
    let scene = scene();
    let words = ["run", "--workspace", "ws", "--json", "--", "sh", "-c", "echo out; echo err >&2"];
    let output = confine(scene.path()).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["output"]["stdout"]["text"], "out\n");
    assert_eq!(report["output"]["stderr"]["text"], "err\n");
    assert_eq!(report["verdict"], "passed");
}
