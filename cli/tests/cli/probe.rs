//! `confine --probe`: the same answer for the same host, and no less than the truth where something is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use seccompiler::{SeccompAction, SeccompFilter};
use serde_json::Value;

use crate::call::{confine, matches_file, text};
use crate::exits::{needs_a_sandbox, needs_root};

/// Where a stub stands: no parent of it may be writable by others.
fn stubs() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stubs");
    std::fs::create_dir_all(&directory).unwrap();
    let stub = directory.join("bwrap");
    if !stub.exists() {
        let own = directory.join(format!("bwrap-{}", std::process::id()));
        let words = "bwrap: setting up uid map: Permission denied";
        std::fs::write(&own, format!("#!/bin/sh\n[ \"$1\" = --version ] && {{ echo bubblewrap 0.4.0; exit 0; }}\necho '{words}' >&2\nexit 1\n")).unwrap();
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(&own, &stub).unwrap();
    }
    directory
}

fn probe(prepare: impl FnOnce(&mut Command)) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut command = confine(directory.path());
    prepare(command.args(["--probe", "--json"]));
    command.output().unwrap()
}

fn probe_with_path(path: &str) -> Output {
    probe(|command| {
        command.env("PATH", path);
    })
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)))
}

/// What the golden table keeps: usable, and status and reason of everything.
fn table(answer: &Value) -> String {
    let mut lines = Vec::new();
    for backend in answer["backends"].as_array().unwrap() {
        let id = backend["id"].as_str().unwrap();
        let reason = backend["reason"].as_str().unwrap_or("-");
        lines.push(format!(
            "{id} usable={} enforcement={} reason: {reason}",
            backend["usable"], backend["enforcement"]
        ));
        let effects: BTreeMap<String, Value> = serde_json::from_value(backend["effects"].clone()).unwrap();
        for (effect, governed) in effects {
            let status = governed["status"].as_str().unwrap();
            let reason = governed["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
            lines.push(format!("  {effect} {status}{reason}"));
        }
    }
    lines.join("\n") + "\n"
}

/// As `probe`, on a kernel that refuses to make Landlock rulesets.
fn probe_without_landlock(path: &'static str) -> Output {
    // The filter stays on this thread and on what it starts.
    std::thread::spawn(move || {
        let refuse = SeccompAction::Errno(u32::try_from(libc::ENOSYS).unwrap());
        let rules = BTreeMap::from([(libc::SYS_landlock_create_ruleset, Vec::new())]);
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).unwrap();
        let program: seccompiler::BpfProgram = filter.try_into().unwrap();
        probe(|command| {
            seccompiler::apply_filter(&program).unwrap();
            command.env("PATH", path);
        })
    })
    .join()
    .unwrap()
}

const EXHAUSTED: &str = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";

fn probe_without_namespaces() -> Output {
    let directory = tempfile::tempdir().unwrap();
    let inner = confine(directory.path());
    let mut command = Command::new("unshare");
    command.args(["-Ur", "sh", "-c", EXHAUSTED, "sh"]).arg(inner.get_program()).args(["--probe", "--json"]);
    command.current_dir(directory.path()).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.output().unwrap()
}

#[test]
fn the_four_simulations_equal_their_tables() {
    let name = "the_four_simulations_equal_their_tables";
    if !needs_a_sandbox(name) || !needs_root(name) {
        return;
    }
    let stub = format!("{}:/usr/bin:/bin", stubs().display());
    let simulations = [
        ("bwrap-missing", probe_with_path("/nonexistent")),
        ("bwrap-stub", probe_with_path(&stub)),
        ("namespaces-exhausted", probe_without_namespaces()),
        ("landlock-refused", probe_without_landlock("/usr/bin:/bin")),
    ];
    for (simulation, output) in simulations {
        matches_file(format!("tests/golden/probe-{simulation}.txt"), table(&answer(&output)).as_bytes());
    }
}

#[test]
fn a_host_without_any_usable_backend_is_125_with_remedies() {
    if !needs_a_sandbox("a_host_without_any_usable_backend_is_125_with_remedies") {
        return;
    }
    let output = probe_without_landlock("/nonexistent");
    assert_eq!(output.status.code(), Some(125));
    let found = answer(&output);
    assert!(
        found["backends"].as_array().unwrap().iter().all(|backend| backend["usable"] == false),
        "{found:#}"
    );
    assert_eq!(found["default"], Value::Null);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("no backend is usable") && stderr.contains("bubblewrap"), "{stderr}");
}

/// What calls under way, other tests' among them, work in.
fn workspaces() -> BTreeSet<OsString> {
    let names = std::fs::read_dir("/var/tmp").unwrap().flatten().map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().starts_with("confine-probe-")).collect()
}

#[test]
fn the_answer_is_deterministic_complete_and_leaves_nothing() {
    if !needs_a_sandbox("the_answer_is_deterministic_complete_and_leaves_nothing") {
        return;
    }
    let before = workspaces();
    let (one, other) = (probe(|_| ()), probe(|_| ()));
    assert_eq!(one.stdout, other.stdout);
    // Those of other tests go as well.
    let appeared: BTreeSet<OsString> = workspaces().difference(&before).cloned().collect();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !workspaces().is_disjoint(&appeared) {
        assert!(Instant::now() < deadline, "{appeared:?} stay");
        std::thread::sleep(Duration::from_millis(20));
    }
    let found = answer(&one);
    assert_eq!(found["version"], 1);
    for backend in found["backends"].as_array().unwrap() {
        for key in ["id", "usable", "program", "sha256", "reason", "remedy", "enforcement"] {
            assert!(backend.get(key).is_some(), "{key}");
        }
        let effects = backend["effects"].as_object().unwrap();
        assert_eq!(effects.len(), confine_core::Effect::ALL.len());
    }
}

#[test]
fn required_effects_decide_the_exit_code() {
    if !needs_a_sandbox("required_effects_decide_the_exit_code") {
        return;
    }
    let code = |effects: &str| {
        let output = probe(|command| {
            command.args(["--require", effects]);
        });
        output.status.code()
    };
    assert_eq!(code("fs-write,fd-inherit"), Some(0));
    assert_eq!(code("fs-write,fs-lock"), Some(125), "nothing governs locks");
}

#[test]
fn the_table_is_plain_where_nobody_looks_at_it_on_a_terminal() {
    if !needs_a_sandbox("the_table_is_plain_where_nobody_looks_at_it_on_a_terminal") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let output = confine(directory.path()).arg("probe").output().unwrap();
    let shown = text(&output.stdout);
    assert!(!shown.contains('\x1b'));
    for effect in confine_core::Effect::ALL {
        assert!(shown.lines().any(|line| line.starts_with(effect.name())), "{effect}");
    }
}

/// A `bwrap` in the workspace of `scene` that leaves a trace when it is run, and is otherwise the real one.
fn planted(scene: &Path) -> PathBuf {
    let directory = scene.join("ws/node_modules/.bin");
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("bwrap");
    let trace = scene.join("trace");
    std::fs::write(
        &file,
        format!("#!/bin/sh\necho ran >> {}\nexec /usr/bin/bwrap \"$@\"\n", trace.display()),
    )
    .unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

const PLANTED: &[&[&str]] = &[
    &["run", "--", "true"],
    &["run", "--policy", "read-only", "--", "true"],
    &["run", "--policy", "read-only", "--backend", "bwrap", "--", "true"],
    &["probe"],
    &["--probe", "--json"],
];

#[test]
fn a_bwrap_in_the_workspace_is_never_run_and_one_elsewhere_is() {
    if !needs_a_sandbox("a_bwrap_in_the_workspace_is_never_run_and_one_elsewhere_is") {
        return;
    }
    let scene = tempfile::Builder::new().prefix("confine-cli-").tempdir_in("/var/tmp").unwrap();
    let (top, path) = (scene.path(), format!("{}:/usr/bin:/bin", planted(scene.path()).display()));
    let (workspace, elsewhere) = (top.join("ws"), top.join("elsewhere"));
    std::fs::create_dir(&elsewhere).unwrap();
    for words in PLANTED {
        let output = confine(&workspace).env("PATH", &path).args(*words).output().unwrap();
        assert!(!top.join("trace").exists(), "{words:?}");
        let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(
            told.contains("lies in the workspace") || told.contains("lies in a write grant"),
            "{words:?}: {told}"
        );
        if words[0] == "run" {
            assert_eq!(output.status.code(), Some(125), "{words:?}");
        }
        // The control: where it lies in no workspace, it is the user's own.
        confine(&elsewhere).env("PATH", &path).args(*words).output().unwrap();
        assert!(top.join("trace").exists(), "{words:?}");
        std::fs::remove_file(top.join("trace")).unwrap();
    }
}
