//! The one-file clients, and what the pages for authors show, run as they are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use confine_tests::world::{content, is_there};
use confine_tests::{Backend, Finished, Scene, User, each, installation, needs};

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// A copy of the clients where every user may read them.
fn copied(scene: &Scene) -> PathBuf {
    let place = scene.directory(&scene.base().join("clients"));
    for name in ["confine.py", "ten.py", "trouble.py", "harness.py", "front_end.py"] {
        scene.write(&place.join(name), &content(&clients().join(name)).expect("a client"));
    }
    place
}

fn python(scene: &Scene, program: &str, words: &[&Path]) -> Finished {
    let mut command = scene.command("python3");
    command.arg("-B").arg(copied(scene).join(program)).arg(installation::confine()).args(words);
    Finished::of(command, &[])
}

#[test]
fn ten_commands_at_once_from_python() {
    needs!(root, bwrap, python3);
    each(&[User::Root, User::Ordinary], &[Backend::Bwrap], |scene| {
        let run = python(scene, "ten.py", &[&scene.workspace(), &scene.outside()]).exits(0);
        assert!(run.stdout.contains("ten commands"), "{run}");
    });
}

#[test]
fn ten_commands_at_once_and_trouble_from_typescript() {
    needs!(root, bwrap, node, tsc);
    let scene = Scene::new(User::Ordinary, Backend::Bwrap);
    let place = scene.directory(&scene.base().join("built"));
    scene.write(&place.join("package.json"), r#"{"type": "module"}"#);
    let mut compile = Command::new(clients().join("node_modules/.bin/tsc"));
    compile.arg("--project").arg(clients()).arg("--outDir").arg(&place).stdin(Stdio::null());
    Finished::of(compile, &[]).exits(0);
    for (program, told) in [("ten.js", "ten commands"), ("trouble.js", "trouble is told")] {
        let mut command = scene.command("node");
        command
            .arg(place.join(program))
            .arg(installation::confine())
            .args([scene.workspace(), scene.outside()]);
        let run = Finished::of(command, &[]).exits(0);
        assert!(run.stdout.contains(told), "{run}");
    }
}

#[test]
fn no_input_is_lost_and_trouble_is_told_from_python() {
    needs!(root, bwrap, python3);
    let scene = Scene::new(User::Ordinary, Backend::Bwrap);
    let run = python(&scene, "trouble.py", &[&scene.workspace(), &scene.outside()]).exits(0);
    assert!(run.stdout.contains("trouble is told"), "{run}");
}

#[test]
fn a_harness_of_forty_lines_swaps_its_backend_by_one_word() {
    needs!(root, bwrap, landlock = 6, python3);
    let lines = content(&clients().join("harness.py")).expect("the harness").lines().count();
    assert!(lines <= 40, "{lines} lines");
    each(&[User::Root, User::Ordinary], Backend::ALL, |scene| {
        let words = [Path::new(scene.backend.id()), &scene.workspace(), &scene.outside()];
        let run = python(scene, "harness.py", &words).exits(0);
        assert!(run.stdout.contains("denied, asked, allowed once, run again"), "{run}");
        assert_eq!(content(&scene.outside().join("once")).as_deref(), Some("once\n"));
        assert_eq!(content(&scene.workspace().join("inside")).as_deref(), Some("inside\n"));
    });
}

#[test]
fn the_front_end_of_the_page_is_shown_everything_and_its_answer_counts() {
    needs!(root, bwrap, python3);
    let scene = Scene::new(User::Ordinary, Backend::Bwrap);
    let odd = scene.outside().join("odd \u{202e}");
    for (answer, verdict) in [("reject", "denied"), ("perhaps", "denied"), ("allow-once", "passed")] {
        let file = format!("'{}' && : '\u{1b}[2J'", odd.display());
        let words = [&scene.workspace(), Path::new(&file), Path::new(answer)];
        let run = python(&scene, "front_end.py", &words).exits(0);
        assert!(run.stdout.contains(&format!("it ended: {verdict}")), "{run}");
        assert!(run.stdout.contains(r"odd \u{202e}") && run.stdout.contains(r"\u{1b}[2J"), "{run}");
        assert!(!run.stdout.chars().any(|c| c == '\u{1b}' || c == '\u{202e}'), "{run}");
        assert_eq!(is_there(&odd), answer == "allow-once");
    }
}

#[test]
fn the_pages_show_the_programs_that_run_here() {
    let page = |name: &str| {
        content(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)).expect("a page")
    };
    for (name, program) in [("front-ends.md", "front_end.py"), ("harnesses.md", "harness.py")] {
        let shown = format!("```python\n{}```\n", content(&clients().join(program)).expect("a program"));
        assert!(page(name).contains(&shown), "docs/{name} does not show clients/{program}");
    }
}
