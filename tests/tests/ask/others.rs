//! What others do while a question stands.

use super::*;

#[test]
fn two_questions_on_one_terminal_stand_one_after_the_other() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let both = "\"$0\" \"$@\" a & \"$0\" \"$@\" b & wait";
        let asking =
            Asked::new(scene).through(both).shell(&format!("echo in >> {}/$0", scene.outside().display()));
        let grants = ["a", "b"].map(|name| {
            (scene.outside().join(name), format!("create and write {}", scene.outside().join(name).display()))
        });
        // The other one has nothing to say meanwhile.
        asking.pty.shows("yes/no/cancel? (no in 58 s)", 1);
        asking.pty.types("y\r");
        asking.pty.shows(QUESTION, 2);
        let screen = asking.pty.screen();
        let (first, second) = screen.split_once("confine: allowed").unwrap_or_else(|| panic!("{screen}"));
        for (_, grant) in &grants {
            assert_eq!(first.contains(grant), !second.contains(grant), "{screen}");
        }
        asking.pty.types("n\r");
        let (_, pty) = asking.ends();
        let screen = pty.screen();
        assert_eq!(screen.matches("confine: refused").count(), 1, "{screen}");
        let made = grants.iter().filter(|(target, _)| is_there(target)).collect::<Vec<_>>();
        assert!(matches!(made[..], [(_, grant)] if first.contains(grant)), "{made:?}\n{screen}");
        std::fs::remove_file(&made[0].0).expect("it is there");
    });
}

#[test]
fn a_lock_that_the_program_leaves_on_the_terminal_keeps_nobody_from_asking() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        let asking = Asked::new(scene).shell(&format!("flock -n 0 && {}", writes(&target)));
        asking.answers(1, "y\r");
        asking.ends().0.exits(0);
        std::fs::remove_file(&target).expect("it was allowed");
    });
}

#[test]
fn what_is_another_file_by_the_time_of_the_answer_is_refused() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, Backend::ALL, |scene| {
        let target = scene.write(&scene.outside().join("y"), "old\n");
        let other = scene.write(&scene.outside().join("z"), "other\n");
        let asking = Asked::new(scene).shell(&writes(&target));
        asking.pty.shows(QUESTION, 1);
        std::fs::remove_file(&target).expect("it is there");
        std::os::unix::fs::symlink(&other, &target).expect("a free name");
        is_refused(asking, "the host changed since the question");
        assert_eq!(content(&other).as_deref(), Some("other\n"));
    });
}

#[test]
fn a_file_that_is_a_directory_by_the_time_of_the_answer_is_refused() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Ordinary], &[Backend::Bwrap], |scene| {
        let target = scene.write(&scene.outside().join("y"), "old\n");
        let asking = Asked::new(scene).shell(&writes(&target));
        asking.pty.shows(QUESTION, 1);
        std::fs::remove_file(&target).expect("it is there");
        scene.directory(&target);
        is_refused(asking, "the host changed since the question");
    });
}

#[test]
fn a_file_that_was_to_be_made_and_is_there_by_now_is_refused() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, Backend::ALL, |scene| {
        let target = scene.outside().join("y");
        let asking = Asked::new(scene).shell(&writes(&target));
        asking.pty.shows(QUESTION, 1);
        scene.write(&target, "theirs\n");
        is_refused(asking, "the host changed since the question");
        assert_eq!(content(&target).as_deref(), Some("theirs\n"));
    });
}

#[test]
fn case_h03_a_yes_to_a_script_that_is_another_by_now_starts_nothing_and_is_not_called_allowed() {
    needs!(root, bwrap, landlock = 6);
    let cases: [(&[&str], &str, &str); 4] = [
        (&["sh", "script"], "exec \"$0\" \"$@\"", "script"),
        (&["sh"], "exec \"$0\" \"$@\" < script", "the standard input"),
        (&["env", "sh", "script"], "exec \"$0\" \"$@\"", "script"),
        (&["timeout", "5", "sh", "script"], "exec \"$0\" \"$@\"", "script"),
    ];
    each(&[User::Ordinary], &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        let script = scene.write(&scene.workspace().join("script"), &writes(&target));
        for (words, through, named) in cases {
            let asking = Asked::new(scene).through(through).run(words);
            asking.pty.shows(QUESTION, 1);
            std::fs::write(&script, format!("{}\necho more", writes(&target))).expect("root may");
            is_refused(asking, named);
            assert!(!is_there(&target), "{words:?}");

            std::fs::write(&script, writes(&target)).expect("root may");
            let asking = Asked::new(scene).through(through).run(words);
            asking.answers(1, "y\r");
            asking.ends().0.exits(0).reports("/verdict", "passed");
            assert_eq!(content(&target).as_deref(), Some("in\n"), "{words:?}");
            std::fs::remove_file(&target).expect("it was allowed");
        }
    });
}

/// Answers yes, which comes to nothing: the first run is the last.
#[track_caller]
fn is_refused(asking: Asking, reason: &str) {
    asking.pty.types("y\r");
    let (run, pty) = asking.ends();
    let run = run.exits(2).reports("/verdict", "denied").reports("/refusal/outcome", "rejected");
    let run = run.reports("/refusal/by", "service").reports("/attempts", json!([]));
    assert!(report(&run)["refusal"]["reason"].as_str().is_some_and(|said| said.contains(reason)), "{run}");
    let screen = pty.screen();
    assert!(screen.contains("confine: refused") && !screen.contains("confine: allowed"), "{screen}");
}
