//! The first promises: a write stays where the policy allows it, and an exit says truly what happened.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use confine_tests::backend::{LANDLOCK_LOSSES, ROOTS_LOSSES};
use confine_tests::world::{content, is_there, living, marker};
use confine_tests::{Backend, Finished, Scene, User, each, needs};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

#[test]
fn a_write_inside_the_workspace_stays_and_one_outside_is_denied() {
    needs!(root, bwrap, landlock = 6);
    each(User::ALL, Backend::ALL, |scene| {
        let out = format!("/var/tmp/confine-out-{}.txt", marker());
        let script = format!("echo hi > in.txt; echo x > {out}");
        scene.confine().shell(&script).fails();
        assert_eq!(content(&scene.workspace().join("in.txt")).as_deref(), Some("hi\n"));
        assert!(!is_there(Path::new(&out)), "{out} was written");

        // A home directory elsewhere: nothing lets a program write confine's own state.
        let twin = scene.confine().env("HOME", scene.reports()).option("--write", "/var/tmp").shell(&script);
        let written = content(Path::new(&out));
        let _ = fs::remove_file(&out);
        twin.exits(0);
        assert_eq!(written.as_deref(), Some("x\n"));
        assert_eq!(content(&scene.workspace().join("in.txt")).as_deref(), Some("hi\n"));
    });
}

#[test]
fn auto_chooses_bwrap_and_loses_only_what_the_built_in_policy_accepts() {
    needs!(root, bwrap, landlock = 3);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let run = scene.plain().with_report().run(["true"]).exits(0).reports("/backend", "bwrap");
        let missing = run.report.as_ref().and_then(|report| report["missing"].as_array()).expect("a list");
        let missing: Vec<_> = missing.iter().filter_map(|loss| loss["effect"].as_str()).collect();
        assert_eq!(missing, ["fs-carve-out-new", "net-unix-path-new"]);
    });
}

#[test]
fn the_accept_list_of_the_harness_is_the_one_that_the_refusal_prints() {
    needs!(root, landlock = 7, git);
    each(User::ALL, &[Backend::Landlock], |scene| {
        scene.repository(&scene.workspace());
        let refused = scene.plain().option("--backend", "landlock").run(["touch", "ran"]).exits(125);
        let lost = |effect: &&str| scene.user == User::Root || !ROOTS_LOSSES.contains(effect);
        let expected = LANDLOCK_LOSSES.split(',').filter(lost).collect::<Vec<_>>().join(",");
        assert_eq!(accept_list(&refused), Some(expected), "{refused}");
        assert!(!is_there(&scene.workspace().join("ran")));
    });
}

#[test]
fn without_bwrap_the_refusal_names_the_loss_and_its_own_list_makes_it_run() {
    needs!(root, landlock = 6, python3);
    each(User::ALL, &[Backend::Landlock], |scene| {
        let path = path_without_bwrap(scene);
        let refused = scene.plain().env("PATH", &path).with_report().run(["touch", "ran"]).exits(125);
        assert!(!is_there(&scene.workspace().join("ran")));
        let refused =
            refused.says("help:").says("bubblewrap").says("fs-hide").reports("/verdict", "launcher-failed");
        let list = accept_list(&refused).unwrap_or_else(|| panic!("no --accept-missing list: {refused}"));

        let ran = scene
            .plain()
            .env("PATH", &path)
            .option("--accept-missing", &list)
            .with_report()
            .run(["touch", "ran"]);
        let ran = ran.exits(0).reports("/backend", "landlock");
        assert!(is_there(&scene.workspace().join("ran")));
        let missing = ran.report.as_ref().and_then(|report| report["missing"].as_array()).expect("a list");
        let missing: Vec<_> = missing.iter().filter_map(|loss| loss["effect"].as_str()).collect();
        for effect in list.split(',') {
            assert!(missing.contains(&effect), "{effect} is lost, and the report has only {missing:?}");
        }
    });
}

/// The list after `--accept-missing` in a refusal.
fn accept_list(refused: &Finished) -> Option<String> {
    let (_, rest) = refused.stderr.split_once("--accept-missing")?;
    let list = rest
        .trim_start_matches([' ', '='])
        .split(|c: char| !(c.is_ascii_lowercase() || c == '-' || c == ','))
        .next()?;
    Some(list.to_owned())
}

/// A PATH on which everything is but bwrap.
fn path_without_bwrap(scene: &Scene) -> String {
    let place = scene.base().join("bin");
    fs::create_dir(&place).unwrap();
    for program in ["sh", "touch", "true"] {
        std::os::unix::fs::symlink(Path::new("/bin").join(program), place.join(program)).unwrap();
    }
    place.to_str().unwrap().to_owned()
}

/// What a program does, and how it must be told: exit code, outcome, verdict.
struct Ending {
    script: &'static str,
    code: i32,
    kind: &'static str,
    detail: (&'static str, i64),
    verdict: &'static str,
}

const fn ending(
    script: &'static str,
    code: i32,
    kind: &'static str,
    detail: (&'static str, i64),
    verdict: &'static str,
) -> Ending {
    Ending { script, code, kind, detail, verdict }
}

const ENDINGS: &[Ending] = &[
    ending("exit 0", 0, "exited", ("code", 0), "passed"),
    ending("exit 1", 1, "exited", ("code", 1), "failed"),
    ending("exit 77", 77, "exited", ("code", 77), "failed"),
    ending("exit 124", 124, "exited", ("code", 124), "failed"),
    ending("exit 125", 125, "exited", ("code", 125), "failed"),
    ending("exit 126", 126, "exited", ("code", 126), "failed"),
    ending("exit 127", 127, "exited", ("code", 127), "failed"),
    ending("exit 137", 137, "exited", ("code", 137), "failed"),
    ending("exit 255", 255, "exited", ("code", 255), "failed"),
    ending("kill -9 $$", 137, "signaled", ("signal", 9), "failed"),
    ending("kill -15 $$", 143, "signaled", ("signal", 15), "failed"),
    ending("kill -PIPE $$", 141, "signaled", ("signal", 13), "failed"),
    ending("kill -ABRT $$", 134, "signaled", ("signal", 6), "failed"),
];

#[test]
fn every_ending_is_told_by_exit_code_and_report() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Root, User::Ordinary], Backend::ALL, |scene| {
        for ending in ENDINGS {
            let (field, value) = ending.detail;
            scene
                .confine()
                .with_report()
                .shell(ending.script)
                .exits(ending.code)
                .reports("/outcome/kind", ending.kind)
                .reports(&format!("/outcome/{field}"), value)
                .reports("/verdict", ending.verdict)
                .reports("/launch_fault", Value::Null);
        }
    });
}

#[test]
fn a_program_that_cannot_be_executed_is_126_and_a_missing_one_127() {
    needs!(root, bwrap, landlock = 6);
    each(User::ALL, Backend::ALL, |scene| {
        let ws = scene.workspace();
        let executable = |name: &str, text: &str| {
            let path = scene.write(&ws.join(name), text);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        scene.write(&ws.join("plain"), "#!/bin/sh\n");
        executable("headless", "echo ran through a shell\n");
        executable("orphaned", "#!/nonexistent/interpreter\n");
        executable("sound", "#!/bin/sh\nexit 0\n");
        let table = [
            ("./plain", 126, "exec-failed"),
            ("./headless", 126, "exec-failed"),
            ("./orphaned", 126, "exec-failed"),
            ("/", 126, "exec-failed"),
            ("./nothing", 127, "exec-failed"),
            ("no-such-program", 127, "exec-failed"),
            ("./sound", 0, "exited"),
        ];
        for (program, code, kind) in table {
            let run = scene.confine().with_report().run([program]);
            let run = run.exits(code).reports("/outcome/kind", kind).reports("/launch_fault", Value::Null);
            assert_eq!(run.stdout, "", "{run}");
        }
    });
}

#[test]
fn a_launcher_failure_is_125_with_its_stage_and_nothing_runs() {
    needs!(root, bwrap, landlock = 6);
    each(User::ALL, Backend::ALL, |scene| {
        let ran = scene.workspace().join("ran");
        let run = |options: &[&str]| {
            let run = scene.confine().options(options.iter().copied()).with_report().run(["touch", "ran"]);
            let run = run
                .exits(125)
                .reports("/outcome/kind", "launcher-failed")
                .reports("/verdict", "launcher-failed");
            assert!(!is_there(&ran), "{run}");
            run
        };
        run(&["--cwd", "/nonexistent/directory"]).says("/nonexistent/directory");
        run(&["--read", "/nope"]).says("/nope").reports("/launch_fault/stage", "policy");
        run(&["--policy", "no-such-policy"]).says("no-such-policy");
        scene.confine().run(["touch", "ran"]).exits(0);
        assert!(is_there(&ran));
    });
}

#[test]
fn a_wrong_call_is_125_and_names_what_is_wrong() {
    needs!(root, bwrap);
    let scene = Scene::new(User::Ordinary, Backend::Bwrap);
    scene.plain().option("--no-such-flag", "x").run(["touch", "ran"]).exits(125).says("--no-such-flag");
    scene.plain().option("--timeout", "soon").run(["touch", "ran"]).exits(125).says("soon");
    scene
        .plain()
        .option("--backend", "no-such-backend")
        .run(["touch", "ran"])
        .exits(125)
        .says("no-such-backend");
    scene.plain().option("--accept-missing", "fs-nope").run(["touch", "ran"]).exits(125).says("fs-nope");
    scene.plain().run(Vec::<String>::new()).exits(125);
    assert!(!is_there(&scene.workspace().join("ran")));
}

/// Lines that a wrapper, the stage or confine might say themselves.
const HOSTILE: &[&str] = &[
    "bwrap: Creating new namespace failed: Operation not permitted",
    "bwrap: execvp true: No such file or directory",
    "confine: cannot set up the sandbox",
    "confine-stage: landlock: Permission denied",
    "confine: help: --accept-missing fs-write",
    "sh: 1: Permission denied",
    "{\"exit-code\": 0}",
    "{\"child-pid\": 1}",
    "staged",
    "exec-failed 2",
    "status 0",
];

#[test]
fn nothing_that_a_program_says_changes_what_is_told_about_it() {
    needs!(root, bwrap, landlock = 6, python3);
    const SPEAK: &str = "import os,sys\nos.write(2, bytes.fromhex(sys.argv[1]))\nos._exit(int(sys.argv[2]))";
    let line = prop_oneof![
        prop::sample::select(HOSTILE).prop_map(|line| format!("{line}\n").into_bytes()),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    let said = prop::collection::vec(line, 0..6).prop_map(|lines| lines.concat());
    let codes = prop::sample::select(vec![0_i32, 1, 2, 77, 124, 125, 126, 127, 137, 255]);
    each(&[User::Ordinary], Backend::ALL, |scene| {
        let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(24) });
        let outcome = runner.run(&(said.clone(), codes.clone()), |(bytes, code)| {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let run = scene.confine().with_report().run(["python3", "-c", SPEAK, &hex, &code.to_string()]);
            let run = run.exits(code).reports("/outcome/kind", "exited").reports("/outcome/code", code);
            let report = run.report.as_ref().unwrap();
            let (verdict, denials) = (&report["verdict"], &report["denials"]);
            // Words about what the policy blocks make a denial likely, and nothing more.
            let expected: &[&str] = if code == 0 { &["passed"] } else { &["failed", "denied"] };
            prop_assert!(expected.iter().any(|one| verdict == *one), "{verdict}");
            let proven =
                denials.as_array().into_iter().flatten().any(|denial| denial["certainty"] == "proven");
            prop_assert!(!proven, "{denials}");
            prop_assert_eq!(&run.stderr, &String::from_utf8_lossy(&bytes));
            Ok(())
        });
        outcome.unwrap_or_else(|failure| panic!("{failure}"));
    });
}

/// What a spawner in another language does with `plan --json`, and nothing of ours around it.
const SPAWN: &str = "
import json, os, subprocess, sys
plan = json.load(sys.stdin)
env = {name: os.environ[name] for name in plan['env']['pass'] if name in os.environ}
env.update(plan['env']['set'])
done = subprocess.run(plan['argv'], env=env, cwd=plan['cwd'], stdin=subprocess.DEVNULL)
sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)
";

const RUNNER_ONLY: &str = "orphan,fs-carve-out-new,fd-stdio,fs-metadata";

fn portable(scene: &Scene, words: &[&str], spawner: impl FnOnce(&str) -> String) -> Finished {
    let losses = match scene.backend {
        Backend::Bwrap => RUNNER_ONLY.to_owned(),
        Backend::Landlock => format!("{LANDLOCK_LOSSES},{RUNNER_ONLY}"),
    };
    let plan = scene
        .plain()
        .verb(["plan", "--json"])
        .options(["--backend", scene.backend.id(), "--accept-missing", &losses])
        .run(words)
        .exits(0);
    let mut python: Command = scene.command("python3");
    python.args(["-c", SPAWN]).env("SECRET_TOKEN", "s3cret");
    Finished::of(python, spawner(&plan.stdout).as_bytes())
}

#[test]
fn a_portable_argv_confines_without_any_of_our_code_around_it() {
    needs!(root, bwrap, landlock = 6, python3);
    each(User::ALL, Backend::ALL, |scene| {
        let out = scene.outside().join("out.txt");
        let script = format!(
            "echo hi > in.txt; echo ${{SECRET_TOKEN-unset}} > seen.txt; echo x > {}; exit 7",
            out.display()
        );
        portable(scene, &["sh", "-c", &script], str::to_owned).exits(7);
        assert_eq!(content(&scene.workspace().join("in.txt")).as_deref(), Some("hi\n"));
        assert_eq!(content(&scene.workspace().join("seen.txt")).as_deref(), Some("unset\n"));
        assert!(!is_there(&out));
        scene.control(["sh", "-c", &script]).exits(7);
        assert!(is_there(&out));
    });
}

#[test]
fn a_portable_argv_that_cannot_confine_exits_125_with_the_fixed_prefix() {
    needs!(root, bwrap, landlock = 6, python3);
    each(&[User::Root, User::Ordinary], Backend::ALL, |scene| {
        // The working directory is gone between the plan and the spawn: the stage finds out.
        let gone = scene.directory(&scene.workspace().join("gone"));
        let losses = format!("{LANDLOCK_LOSSES},{RUNNER_ONLY}");
        let plan = scene
            .plain()
            .verb(["plan", "--json"])
            .options(["--backend", scene.backend.id(), "--accept-missing", &losses, "--cwd"])
            .options([gone.as_os_str()])
            .run(["touch", "../ran"])
            .exits(0);
        fs::remove_dir(&gone).unwrap();
        let mut plan: Value = serde_json::from_str(&plan.stdout).unwrap();
        plan["cwd"] = "/".into();
        let mut python = scene.command("python3");
        python.args(["-c", SPAWN]);
        let run = Finished::of(python, plan.to_string().as_bytes());
        assert!(!is_there(&scene.workspace().join("ran")), "{run}");
        match scene.backend {
            // bwrap itself changes the directory, and fails as it does.
            Backend::Bwrap => assert!(matches!(run.code(), Some(1 | 125)), "{run}"),
            Backend::Landlock => assert_eq!(run.code(), Some(125), "{run}"),
        }
        let known = run.stderr.lines().any(|line| line.starts_with("confine") || line.starts_with("bwrap: "));
        assert!(known, "{run}");
    });
}

#[test]
fn a_plan_that_only_the_runner_can_keep_is_refused_until_the_loss_is_accepted() {
    needs!(root, bwrap);
    each(&[User::Ordinary], &[Backend::Bwrap], |scene| {
        let refused = scene.plain().verb(["plan", "--json"]).option("--backend", "bwrap").run(["true"]);
        refused.exits(125).says("orphan").says("--accept-missing");
    });
}

#[test]
fn nothing_is_left_of_a_run_that_ended() {
    needs!(root, bwrap, landlock = 6);
    each(User::ALL, Backend::ALL, |scene| {
        let marker = marker();
        let script = format!("setsid sleep {marker} & (sleep {marker} &) ; exit 3");
        scene.confine().shell(&script).exits(3);
        assert_eq!(living(&marker), Vec::<String>::new());
    });
}
