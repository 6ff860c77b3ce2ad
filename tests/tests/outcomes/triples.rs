//! `confine explain` against the real sandbox: random policies, paths and accesses. One confined shell tries many.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use confine_tests::{Backend, Scene, Temporary, User, each, needs};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

/// So many policies for each backend, and so many triples for each policy.
const POLICIES: usize = 5;
const TRIPLES: usize = 20;

/// Directories of the tree, below the place outside and below the workspace.
const DIRECTORIES: &[&str] = &["a", "a/b", "a/b/c", "d", "d/e"];
/// Files in each of them; `tool` is executable, and `new` is not there.
const FILES: &[&str] = &["file", "tool", "new"];
/// The host's, and of the workspace's protected names.
const OTHERS: &[&str] = &[
    "/etc/passwd",
    "/etc/shadow",
    "/usr/bin/env",
    "/dev/null",
    "/dev/zero",
    "/proc/version",
    "WS/.envrc",
    "WS/.vscode/x",
    "WS/new",
];

#[derive(Clone, Debug)]
struct Triple {
    access: &'static str,
    path: PathBuf,
}

/// Options that grant, hide and protect some of the tree.
fn policies() -> impl Strategy<Value = Vec<(&'static str, usize, bool)>> {
    let option = prop_oneof![Just("--write"), Just("--read"), Just("--hide"), Just("--protect")];
    proptest::collection::vec((option, 0..DIRECTORIES.len(), any::<bool>()), 0..6)
}

fn triples() -> impl Strategy<Value = Vec<(&'static str, usize, usize, usize)>> {
    let access = prop_oneof![Just("read"), Just("write"), Just("exec")];
    proptest::collection::vec((access, 0..3_usize, 0..DIRECTORIES.len(), 0..FILES.len() * 3), TRIPLES)
}

fn tree(scene: &Scene, top: &Path) {
    for directory in DIRECTORIES {
        for name in FILES.iter().filter(|name| **name != "new") {
            let path = top.join(directory).join(name);
            scene.write(&path, &format!("#!/bin/sh\n# {}\n", path.display()));
            let mode = if *name == "tool" { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
        }
    }
}

fn placed(scene: &Scene, (access, kind, directory, file): (&'static str, usize, usize, usize)) -> Triple {
    let path = match kind {
        0 => scene.outside().join(DIRECTORIES[directory]).join(FILES[file % FILES.len()]),
        1 => scene.workspace().join(DIRECTORIES[directory]).join(FILES[file % FILES.len()]),
        _ => OTHERS[file % OTHERS.len()].replace("WS", &scene.workspace().display().to_string()).into(),
    };
    Triple { access, path }
}

/// A line of shell that prints whether the act works, and leaves everything as it was.
fn attempt(triple: &Triple) -> String {
    let path = triple.path.display();
    let is_ours = triple.path.starts_with("/var/tmp") && triple.path.is_file();
    let seen = match is_ours.then(|| fs::read_to_string(&triple.path).expect("it is ours")) {
        // Of our own files the content is compared: an empty stand-in is not the file.
        Some(text) if text.contains("# /") => format!("grep -q '^# {path}$' {path}"),
        _ => format!("head -c 1 {path}"),
    };
    let act = match triple.access {
        "read" => seen,
        "exec" => format!("{path} --version"),
        _ if triple.path.exists() => format!(": >> {path}"),
        _ => format!("(: > {path}) && rm {path}"),
    };
    format!("if ({act}) </dev/null >/dev/null 2>&1; then echo yes; else echo no; fi\n")
}

#[test]
fn explain_agrees_with_the_real_sandbox_on_two_hundred_triples() {
    needs!(root, bwrap, landlock = 6);
    agrees(&[User::Ordinary], POLICIES);
}

#[test]
fn explain_agrees_for_other_users_as_well() {
    needs!(root, bwrap, landlock = 6);
    agrees(&[User::Root, User::Nobody], 1);
}

/// Paths below a directory of the host's in `/tmp`, TMP, and whether explain is asked with a grant for that.
const IN_TMP: &[(&str, bool)] = &[
    ("/tmp/confine-new", false),
    ("/tmp/confine-none/new", false),
    ("/tmp/confine-none/far/new", false),
    ("TMP/new", false),
    ("TMP/new", true),
    ("TMP/none/new", true),
    ("/tmp/confine-none/new", true),
];

#[test]
fn explain_knows_which_directories_a_private_tmp_has() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Ordinary], Backend::ALL, |scene| {
        let shared = Temporary::new("/tmp/confine-shared-");
        scene.own(shared.path());
        let mut answers = BTreeSet::new();
        for (path, is_granted) in IN_TMP {
            let path = path.replace("TMP", &shared.path().display().to_string());
            let grant = ["--write".as_ref(), shared.path().as_os_str()];
            let options = if *is_granted { &grant[..] } else { &[] };
            let triple = Triple { access: "write", path: path.clone().into() };
            let real = scene.confine().options(options).shell(&attempt(&triple)).exits(0).stdout;
            let words = ["explain", "write", path.as_str(), "--json"];
            let answer = scene.confine().verb(words).options(options).run(Vec::<String>::new());
            let says = if answer.code() == Some(0) { "yes" } else { "no" };
            assert_eq!(says, real.trim(), "{path}, granted: {is_granted}: {answer}");
            answers.insert(says);
        }
        assert_eq!(answers.len(), 2, "too much the same");
    });
}

fn agrees(users: &[User], count: usize) {
    each(users, Backend::ALL, |scene| {
        tree(scene, &scene.outside());
        tree(scene, &scene.workspace());
        scene.write(&scene.workspace().join(".envrc"), "");
        scene.directory(&scene.workspace().join(".vscode"));
        // The same choices every time: a failure is to be found again.
        let mut runner = TestRunner::deterministic();
        let (mut tried, mut answers) = (0, BTreeSet::new());
        for _ in 0..count {
            let options = policies().new_tree(&mut runner).expect("a policy").current();
            let options: Vec<String> = options
                .into_iter()
                .flat_map(|(option, directory, outside)| {
                    let top = if outside { scene.outside() } else { scene.workspace() };
                    [option.to_owned(), top.join(DIRECTORIES[directory]).display().to_string()]
                })
                .collect();
            let triples = triples().new_tree(&mut runner).expect("triples").current();
            let triples: Vec<Triple> = triples.into_iter().map(|triple| placed(scene, triple)).collect();
            let script: String = triples.iter().map(attempt).collect();
            let run = scene.confine().options(options.clone()).shell(&script).exits(0);
            let real: Vec<&str> = run.stdout.lines().collect();
            assert_eq!(real.len(), triples.len(), "{run}");
            for (triple, real) in triples.iter().zip(real) {
                let path = triple.path.display().to_string();
                let words = ["explain", triple.access, path.as_str(), "--json"];
                let answer = scene.confine().verb(words).options(options.clone()).run(Vec::<String>::new());
                let says = if answer.code() == Some(0) { "yes" } else { "no" };
                assert_eq!(says, real, "{triple:?} under {options:?}: {answer}");
                tried += 1;
                answers.insert((triple.access, says));
            }
        }
        assert_eq!(tried, count * TRIPLES);
        assert!(answers.len() >= if count > 1 { 5 } else { 3 }, "too much the same: {answers:?}");
    });
}
