//! `plan --json`, spawned by a program in another language: a launch that fails is told from a program that fails, and
//! nothing runs.

use std::fs;
use std::path::{Path, PathBuf};

use confine_tests::spawner::{LIKELY, plan, plan_by, portable, spawned};
use confine_tests::world::is_there;
use confine_tests::{Backend, Scene, User, each, installation, needs};
use serde_json::Value;

fn text(path: &Path) -> String {
    path.to_str().expect("a path of ours").to_owned()
}

/// Removes the first occurrence of some words that follow each other.
fn without(plan: &Value, words: &[&str]) -> Value {
    let mut argv = plan["argv"].as_array().expect("words").clone();
    let found =
        argv.windows(words.len()).position(|window| window.iter().zip(words).all(|(one, word)| one == word));
    let at = found.unwrap_or_else(|| panic!("{words:?} is not in {argv:?}"));
    argv.drain(at..at + words.len());
    with_argv(plan, argv)
}

/// Puts words before the first occurrence of `before`.
fn with(plan: &Value, words: &[&str], before: &str) -> Value {
    let mut argv = plan["argv"].as_array().expect("words").clone();
    let at = argv.iter().position(|word| word == before).unwrap_or_else(|| panic!("no {before} in {argv:?}"));
    argv.splice(at..at, words.iter().map(|word| Value::from(*word)));
    with_argv(plan, argv)
}

/// The word after `option`, replaced.
fn replaced(plan: &Value, option: &str, value: &str) -> Value {
    let mut argv = plan["argv"].as_array().expect("words").clone();
    let at = argv.iter().position(|word| word == option).unwrap_or_else(|| panic!("no {option} in {argv:?}"));
    argv[at + 1] = value.into();
    with_argv(plan, argv)
}

fn with_argv(plan: &Value, argv: Vec<Value>) -> Value {
    let mut plan = plan.clone();
    plan["argv"] = argv.into();
    plan
}

const TOUCH: &[&str] = &["touch", "ran"];

/// The stage noticed: 125 and its prefix, and nothing ran.
#[track_caller]
fn assert_stage_fails(scene: &Scene, change: impl Fn(Value) -> Value) {
    let run = portable(scene, TOUCH, change).exits(125).says(LIKELY);
    assert!(run.stderr.lines().any(|line| line.starts_with("confine-stage: ")), "{run}");
    assert!(!is_there(&scene.workspace().join("ran")), "{run}");
}

/// bwrap noticed: its own code and prefix, and nothing ran.
#[track_caller]
fn assert_bwrap_fails(scene: &Scene, change: impl Fn(Value) -> Value) {
    let run = portable(scene, TOUCH, change).exits(1).says(LIKELY);
    assert!(run.stderr.lines().any(|line| line.starts_with("bwrap: ")), "{run}");
    assert!(!is_there(&scene.workspace().join("ran")), "{run}");
}

/// The twin: the same plan, as it was, runs.
#[track_caller]
fn assert_sound(scene: &Scene) {
    portable(scene, TOUCH, |plan| plan).exits(0);
    assert!(is_there(&scene.workspace().join("ran")));
}

#[test]
fn a_stage_that_cannot_confine_exits_125_with_its_prefix() {
    needs!(root, bwrap, landlock = 6, python3);
    each(User::ALL, Backend::ALL, |scene| {
        assert_stage_fails(scene, |plan| with(&plan, &["--role", "nonsense"], "--landlock"));
        assert_stage_fails(scene, |plan| replaced(&plan, "--landlock", "0xffffffffffff"));
        assert_stage_fails(scene, |plan| replaced(&plan, "--seccomp", "AAAA"));
        assert_stage_fails(scene, |plan| with(&plan, &["--no-such-word", "x"], "--landlock"));
        assert_sound(scene);
    });
}

#[test]
fn a_mask_that_somebody_took_out_of_the_argv_is_noticed_by_the_stage() {
    needs!(root, bwrap, python3);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let netrc = text(&scene.write(&scene.home().join(".netrc"), "secret\n"));
        assert_stage_fails(scene, |plan| without(&plan, &["--ro-bind", "/dev/null", &netrc]));
        assert_sound(scene);
    });
}

#[test]
fn a_bwrap_that_cannot_confine_is_told_by_the_plans_own_rules() {
    needs!(root, bwrap, python3);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let missing = ["--ro-bind", "/nonexistent/source", "/mnt"];
        assert_bwrap_fails(scene, |plan| with(&plan, &missing, "--proc"));
        assert_bwrap_fails(scene, |plan| with(&plan, &["--no-such-option"], "--proc"));
        assert_sound(scene);
    });
}

/// A copy of what is installed, below a directory of root's.
fn installed(scene: &Scene) -> PathBuf {
    let place = scene.base().join("bin");
    fs::create_dir(&place).expect("a directory of root's");
    for program in [installation::confine(), installation::stage()] {
        fs::copy(&program, place.join(program.file_name().expect("a name"))).expect("a copy");
    }
    place
}

#[test]
fn a_stage_that_was_removed_runs_nothing() {
    needs!(root, bwrap, landlock = 6, python3);
    each(User::ALL, Backend::ALL, |scene| {
        let place = installed(scene);
        let plan = plan_by(scene, &place.join("confine"), TOUCH);
        fs::remove_file(place.join("confine-stage")).expect("it is a copy");
        let run = spawned(scene, &plan).exits(1);
        match scene.backend {
            Backend::Bwrap => run.says("bwrap: ").says(LIKELY),
            // The stage is what the spawner spawns, and its own error.
            Backend::Landlock => run.says("FileNotFoundError"),
        };
        assert!(!is_there(&scene.workspace().join("ran")));
    });
}

#[test]
fn a_directory_that_was_removed_runs_nothing() {
    needs!(root, bwrap, landlock = 6, python3);
    each(User::ALL, Backend::ALL, |scene| {
        let workspace = scene.workspace();
        let plan = plan(scene, &["touch", text(&scene.outside().join("ran")).as_str()]);
        fs::remove_dir_all(&workspace).expect("it is ours");
        let run = spawned(scene, &plan).says(LIKELY);
        assert!(matches!(run.code(), Some(1 | 125)), "{run}");
        assert!(!is_there(&scene.outside().join("ran")), "{run}");
        scene.directory(&workspace);
    });
}
