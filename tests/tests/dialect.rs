//! `confine dialect`, and the rows measured again with the tools of this host.

use std::process::Command;

use confine_tests::{Finished, installation, needs};
use serde_json::Value;

/// Rows that a host with the tools of a development machine measures at least.
const MEASURED: u64 = 60;

/// As the caller calls it: tools may live in a home directory.
fn dialect(words: &[&str]) -> Finished {
    let mut command = Command::new(installation::confine());
    command.arg("dialect").args(words);
    Finished::of(command, b"")
}

fn answer(words: &[&str]) -> (Finished, Value) {
    let finished = dialect(words);
    let json = serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error} in {finished}"));
    (finished, json)
}

#[test]
fn this_host_words_refusals_as_the_tables_say() {
    needs!(root, bwrap, landlock = 6, git, python3, cc);
    let (finished, json) = answer(&["verify", "--json"]);
    let dialects = json["dialects"].as_array().expect("a list");
    for id in ["bwrap", "landlock"] {
        let checked = dialects.iter().find(|checked| checked["id"] == id).expect("a measured dialect");
        assert_eq!(checked["differ"], Value::Array(Vec::new()), "{id}");
        assert!(checked["agree"].as_u64() >= Some(MEASURED), "{id}: {checked}");
    }
    finished.exits(0);
}

#[test]
fn tables_are_listed_and_shown_and_an_unknown_one_is_named() {
    let (_, json) = answer(&["list", "--json"]);
    let dialects = json["dialects"].as_array().expect("a list");
    let documented = dialects.iter().filter(|one| one["source"] == "documentation").map(|one| &one["id"]);
    assert_eq!(documented.collect::<Vec<_>>(), ["seatbelt", "windows"]);
    let (_, json) = answer(&["show", "bwrap", "--json"]);
    assert!(json["rows"].as_array().expect("a list").iter().any(|row| row["tool"] == "coreutils"));
    dialect(&["show", "bwrap"]).exits(0);
    let wrong = dialect(&["show", "nope"]).exits(125);
    assert!(wrong.stderr.contains("`nope`") && wrong.stderr.contains("help:"), "{wrong}");
}
