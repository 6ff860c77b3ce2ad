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

/// Opened by somebody else, and not to be opened by whoever runs confine.
#[test]
fn a_report_goes_to_a_descriptor_whatever_its_file_allows() {
    let scene = scene();
    std::fs::set_permissions(scene.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let wrapper = if is_root() { "setpriv --reuid 12345 --regid 12345 --clear-groups" } else { "" };
    for number in [1, 2, 3, 9] {
        let path = scene.path().join(format!("log{number}"));
        std::fs::write(&path, "before\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o200)).unwrap();
        let other = if number == 2 { "" } else { "2>/dev/null" };
        let script = format!(
            "umask 077; exec {number}>>{log} && chmod 0 {log} && HOME={top} exec {wrapper} {confine} run --nope \
             --report fd:{number} {other}",
            log = path.display(),
            top = scene.path().display(),
            confine = env!("CARGO_BIN_EXE_confine"),
        );
        let output = std::process::Command::new("sh").arg("-c").arg(&script).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{output:?}");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let log = std::fs::read_to_string(&path).unwrap();
        let json = log.strip_prefix("before\n").unwrap();
        let report = serde_json::Deserializer::from_str(json).into_iter::<Value>().next();
        assert_eq!(report.unwrap().unwrap()["version"], 1, "{log}");
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn a_report_waits_for_room_in_a_pipe_that_does_not_block_and_says_when_nobody_reads() {
    let scene = scene();
    let long = "x".repeat(100_000);
    let script = format!(
        "import os, subprocess, sys, time\n\
         r, w = os.pipe(); os.set_blocking(w, False); os.set_inheritable(w, True)\n\
         p = subprocess.Popen(['{confine}', 'run', '--nope', '--report', f'fd:{{w}}', '--', 'true', *['{long}'] * 2], \
         pass_fds=[w], stderr=subprocess.PIPE)\n\
         os.close(w)\n\
         if sys.argv[1] == 'deaf': os.close(r)\n\
         else:\n time.sleep(0.3); sys.stdout.write(open(r).read())\n\
         sys.stderr.write(p.stderr.read().decode()); sys.exit(p.wait())",
        confine = env!("CARGO_BIN_EXE_confine"),
    );
    let run = |how: &str| {
        let mut python = std::process::Command::new("python3");
        python.arg("-c").arg(&script).arg(how).current_dir(scene.path()).output().unwrap()
    };
    let output = run("reads");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["command"][2].as_str().map(str::len), Some(long.len()));
    let output = run("deaf");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125));
    assert!(
        stderr.contains("write the report: broken pipe") && stderr.contains("a reader that stays"),
        "{stderr}"
    );
}

#[test]
fn a_descriptor_that_is_closed_or_open_for_reading_is_refused() {
    let scene = scene();
    for (redirection, number) in [("", 7), ("0</dev/null", 0), ("7</dev/null", 7)] {
        let confine = env!("CARGO_BIN_EXE_confine");
        let script = format!("{confine} run --report fd:{number} -- touch ran {redirection}");
        let mut shell = std::process::Command::new("sh");
        let output = shell.arg("-c").arg(&script).current_dir(scene.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{redirection}");
        let stderr = text(&output.stderr);
        assert!(stderr.contains(&format!("`fd:{number}`: it is not open for writing")), "{stderr}");
        assert!(!scene.path().join("ran").exists());
    }
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
