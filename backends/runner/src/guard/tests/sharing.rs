//! Two runs in one repository.

use super::*;

#[test]
fn the_last_of_two_runs_removes_the_placeholders_they_share() {
    let bench = Bench::git();
    let first = bench.begin(&bench.policy(""), "r1");
    let hooks = bench.ws(".git/hooks");
    let second_policy = bench.policy("");
    assert!(!second_policy.fs.placeholders.contains_key(&hooks), "it takes the placeholder for real");
    let second = bench.begin(&second_policy, "r2");
    assert!(first.finish().violations.is_empty());
    assert!(exists(&hooks) && exists(&bench.ws(".git/info/attributes")), "the second stands on them");
    assert!(second.finish().violations.is_empty());
    assert!(!exists(&hooks) && !exists(&bench.ws(".git/info")) && !exists(&bench.ws(".git/commondir")));
}

#[test]
fn the_first_may_also_be_the_last() {
    let bench = Bench::git();
    let first = bench.begin(&bench.policy(""), "r1");
    let second = bench.begin(&bench.policy(""), "r2");
    drop(second);
    assert!(exists(&bench.ws(".git/hooks")));
    drop(first);
    assert!(!exists(&bench.ws(".git/hooks")) && bench.journal().is_empty());
}

#[test]
fn a_placeholder_that_goes_between_the_look_and_the_start_is_made_again() {
    let bench = Bench::git();
    std::fs::create_dir(bench.ws(".git/info")).unwrap();
    let first = bench.begin(&bench.policy(""), "r1");
    let policy = bench.policy("");
    assert!(policy.fs.entries.contains_key(&bench.ws(".git/commondir")));
    first.finish();
    assert!(!exists(&bench.ws(".git/commondir")));
    let second = bench.begin(&policy, "r2");
    assert!(exists(&bench.ws(".git/commondir")) && exists(&bench.ws(".git/hooks")));
    assert!(second.finish().violations.is_empty());
    assert!(!exists(&bench.ws(".git/commondir")));
}

#[test]
fn two_runs_with_the_same_fresh_policy_share_what_only_one_can_make() {
    let bench = Bench::git();
    let policy = bench.policy("");
    let first = bench.begin(&policy, "r1");
    let second = bench.begin(&policy, "r2");
    first.finish();
    assert!(policy.fs.placeholders.keys().all(exists));
    assert!(second.finish().violations.is_empty());
    assert!(!policy.fs.placeholders.keys().any(exists));
}

#[test]
fn many_runs_at_once_leave_nothing() {
    let bench = Bench::git();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let bench = &bench;
            scope.spawn(move || {
                for number in 0..10 {
                    let policy = bench.policy("");
                    // The look may be outrun; a refusal by name is right then.
                    if let Ok(guard) =
                        Guard::begin(&policy, Mounts::Present, &format!("t{thread}-{number}"), &bench.places)
                    {
                        assert!(guard.finish().violations.is_empty());
                    }
                }
            });
        }
    });
    let left: Vec<_> = [".git/hooks", ".git/info", ".git/commondir", ".git/config.worktree"]
        .into_iter()
        .filter(|name| exists(&bench.ws(name)))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(bench.journal().is_empty() && bench.records().is_empty());
}

/// A first run that watches `.envrc`, which appears, and a second one whose mount stands on it.
fn planted(bench: &Bench) -> (Guard, Guard, AbsPath) {
    let planted = bench.ws(".envrc");
    let first = bench.begin(&bench.policy(""), "r1");
    std::fs::write(&planted, "planted").unwrap();
    let policy = bench.policy("");
    assert!(policy.fs.entries.contains_key(&planted), "it takes the name for real");
    (first, bench.begin(&policy, "r2"), planted)
}

#[test]
fn what_another_run_stands_on_is_told_by_the_first_and_moved_by_the_last() {
    let bench = Bench::new();
    let (first, second, planted) = planted(&bench);
    let third = bench.begin(&bench.policy(""), "r3");
    let aftermath = first.finish();
    assert_eq!(aftermath.violations, [Violation::ProtectedAppeared { path: planted.clone() }]);
    assert!(aftermath.quarantined.is_empty() && exists(&planted));
    assert!(second.finish().quarantined.is_empty() && exists(&planted), "the third stands on it");
    assert_eq!(third.finish().quarantined.len(), 1);
    assert!(!exists(&planted) && bench.journal().is_empty());
}

#[test]
fn the_run_that_watched_a_name_moves_it_where_it_is_the_last() {
    let bench = Bench::new();
    let (first, second, planted) = planted(&bench);
    let aftermath = second.finish();
    assert!(aftermath.violations.is_empty() && aftermath.quarantined.is_empty() && exists(&planted));
    assert_eq!(first.finish().quarantined.len(), 1);
    assert!(!exists(&planted));
}

#[test]
fn after_a_kill_of_either_the_name_goes() {
    for (kills_first, kills_second) in [(true, false), (false, true), (true, true)] {
        let bench = Bench::new();
        let (first, second, planted) = planted(&bench);
        for (guard, is_killed) in [(first, kills_first), (second, kills_second)] {
            if is_killed {
                super::recovery::kill(guard);
            } else {
                guard.finish();
            }
        }
        recover(&bench.places);
        assert!(!exists(&planted) && bench.journal().is_empty(), "{kills_first} {kills_second}");
        assert_eq!(bench.records().len(), 1);
    }
}

#[test]
fn what_takes_the_place_of_a_file_under_a_mask_is_moved_away() {
    let bench = Bench::new();
    let protected = bench.ws(".envrc");
    std::fs::write(&protected, "before").unwrap();
    let guard = bench.begin(&bench.policy(""), "r1");
    std::fs::rename(&protected, bench.ws("before")).unwrap();
    std::fs::create_dir(&protected).unwrap();
    let aftermath = guard.finish();
    assert_eq!(aftermath.violations, [Violation::MaskLost { path: protected.clone() }]);
    assert_eq!(aftermath.quarantined.len(), 1);
    assert!(!exists(&protected) && bench.records().len() == 1);
}
