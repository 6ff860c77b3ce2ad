//! What a denial offers, applied: the same command passes.

use confine_tests::{Backend, Scene, User, each, needs};

use super::pairs::Want::{Denied, Passed};
use super::pairs::{CARVED, Pair, WRITES, found, prepare, write};

/// What takes more than the one file that is named.
const MORE: &[Pair] = &[
    write("git", "init in a directory", "git init -q OUT/empty"),
    write("mktemp", "directory", "mktemp -d -p OUT"),
    write("ln", "symbolic link over another", "ln -sf f.txt OUT/s"),
    write(
        "sqlite",
        "new database",
        "/usr/bin/python3 -c \"import sqlite3;sqlite3.connect('OUT/db').execute('create table t(a)')\" 2>&1 || \
         { echo 'Error: unable to open database \"OUT/db\": unable to open database file' >&2; exit 1; }",
    ),
];

/// Options that apply what a report offers; `None` where a denial has no grant.
fn granted(report: &serde_json::Value) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for denial in report["denials"].as_array()?.iter().filter(|denial| denial["certainty"] != "possible") {
        let (kind, value) = denial["grant"].as_object()?.iter().next()?;
        words.extend([format!("--{kind}"), value.as_str()?.to_owned()]);
    }
    Some(words)
}

/// Runs each pair, and again with what its report offers: then it passes.
fn regrant(scene: &Scene, pairs: &[Pair], options: &[&str]) {
    let out = scene.outside().display().to_string();
    let mut wrong = Vec::new();
    // Without a mount tar says the same of reading and of writing.
    let said = |pair: &&Pair| pair.tool != "tar" || scene.backend == Backend::Bwrap;
    for pair in pairs.iter().filter(said) {
        let script = pair.script.replace("OUT", &out);
        prepare(scene);
        let run = scene.confine().options(options.iter().copied()).with_report().shell(&script);
        let Denied(_) = found(&run) else { continue };
        let report = run.report.as_ref().expect("a report");
        let Some(words) = granted(report) else {
            wrong.push(format!("{} {}: no grant: {:#}", pair.tool, pair.cause, report["denials"]));
            continue;
        };
        prepare(scene);
        let again = scene.confine().options(options.iter().copied().map(str::to_owned).chain(words.clone()));
        let again = again.with_report().shell(&script);
        if found(&again) != Passed {
            wrong.push(format!("{} {}: {words:?} is not enough: {again}", pair.tool, pair.cause));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), pairs.len(), wrong.join("\n"));
}

#[test]
fn the_grant_that_a_denial_offers_lets_the_same_command_pass() {
    needs!(root, bwrap, landlock = 6, git, python3, cc);
    each(&[User::Ordinary], Backend::ALL, |scene| {
        regrant(scene, WRITES, &[]);
        regrant(scene, MORE, &[]);
        regrant(scene, CARVED, &[]);
    });
}
