//! After a kill: the entry's lock is free, and nothing was paid.

use super::*;
use std::time::Duration;

/// Leaves what a killed process leaves.
pub(super) fn kill(mut guard: Guard) {
    if let Some(Debts { ledger, .. }) = guard.debts.take() {
        drop(ledger);
    }
}

#[test]
fn the_next_start_removes_placeholders_and_makes_the_checks() {
    let bench = Bench::git();
    let policy = bench.policy("[filesystem]\nprecreate = [\"empty\"]\n");
    let guard = bench.begin(&policy, "r1");
    write(&bench.ws(".envrc"), "evil");
    assert!(recover(&bench.places).is_empty(), "it is alive");
    kill(guard);
    assert!(exists(&bench.ws(".git/hooks")) && exists(&bench.ws("empty")));
    let recovered = recover(&bench.places);
    assert_eq!(recovered.len(), 1);
    assert_eq!(recovered[0].run, "r1");
    assert_eq!(recovered[0].aftermath.violations, [appeared(&bench.ws(".envrc"))]);
    assert!(!exists(&bench.ws(".git/hooks")) && !exists(&bench.ws("empty")) && !exists(&bench.ws(".envrc")));
    assert!(bench.journal().is_empty() && recover(&bench.places).is_empty());
}

#[test]
fn a_placeholder_that_a_living_run_uses_survives_the_recovery_of_a_dead_one() {
    let bench = Bench::git();
    let dead = bench.begin(&bench.policy(""), "r1");
    let alive = bench.begin(&bench.policy(""), "r2");
    kill(dead);
    assert_eq!(recover(&bench.places).len(), 1);
    assert!(exists(&bench.ws(".git/hooks")));
    alive.finish();
    assert!(!exists(&bench.ws(".git/hooks")));
}

#[test]
fn what_the_host_made_of_a_placeholder_meanwhile_is_not_deleted() {
    let bench = Bench::git();
    kill(bench.begin(&bench.policy(""), "r1"));
    write(&bench.ws(".git/hooks/pre-commit"), "mine");
    let recovered = recover(&bench.places);
    let moved = &recovered[0].aftermath.quarantined[0];
    assert_eq!(moved.path, bench.ws(".git/hooks"));
    assert_eq!(std::fs::read_to_string(moved.to.join("pre-commit").unwrap()).unwrap(), "mine");
}

#[test]
fn a_kill_before_the_placeholders_were_noted_is_recovered_by_their_content() {
    let bench = Bench::git();
    kill(bench.begin(&bench.policy(""), "r1"));
    let entry = bench.runs().join("r1.jsonl").unwrap();
    let text = std::fs::read_to_string(&entry).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let torn: String = rest.chars().take(10).collect();
    std::fs::write(&entry, format!("{first}\n{torn}")).unwrap();
    assert!(recover(&bench.places)[0].aftermath.violations.is_empty());
    assert!(!exists(&bench.ws(".git/hooks")) && !exists(&bench.ws(".git/commondir")));
}

#[test]
fn a_dead_run_whose_placeholders_were_never_noted_is_still_taken_over() {
    let bench = Bench::git();
    kill(bench.begin(&bench.policy(""), "r1"));
    let policy = bench.policy("");
    let second = bench.begin(&policy, "r2");
    assert_eq!(recover(&bench.places).len(), 1);
    assert!(exists(&bench.ws(".git/commondir")), "the second stands on what the first left");
    second.finish();
    assert!(!exists(&bench.ws(".git/commondir")) && !exists(&bench.ws(".git/hooks")));
}

#[test]
fn an_entry_of_another_format_is_left_alone() {
    let bench = Bench::new();
    kill(bench.begin(&bench.policy(""), "r1"));
    write(&bench.runs().join("r2.jsonl").unwrap(), "{\"version\":9}\n");
    write(&bench.runs().join("r3.jsonl").unwrap(), "");
    assert_eq!(recover(&bench.places).len(), 1);
    assert_eq!(bench.journal().len(), 2);
}

#[test]
fn a_whole_process_that_is_killed_leaves_a_free_lock() {
    let bench = Bench::new();
    let runs = bench.places.make_state().unwrap().make_below("runs").unwrap();
    let entry = runs.path.join("k.jsonl").unwrap();
    write(&entry, &serde_json::to_string(&Entry::of("k")).unwrap());
    let mut flock = std::process::Command::new("flock");
    let mut holder =
        flock.args(["--no-fork".as_ref(), entry.as_path()]).args(["sleep", "600"]).spawn().unwrap();
    let free = || std::fs::File::open(&entry).unwrap().try_lock().is_ok();
    while free() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(recover(&bench.places).is_empty());
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(recover(&bench.places)[0].run, "k");
}
