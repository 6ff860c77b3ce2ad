//! What a yes gives, and to what.

use super::*;

#[test]
fn a_yes_runs_the_command_again_with_exactly_the_file_that_was_denied() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, Backend::ALL, |scene| {
        let (y, z) = (scene.outside().join("y"), scene.outside().join("z"));
        let script = format!("echo begun; {}", writes(&y));
        let asking = Asked::new(scene).shell(&script);
        asking.answers(1, "y\r");
        let (run, pty) = asking.ends();
        let run = run.exits(0).reports("/verdict", "passed").reports("/refusal", Value::Null);
        assert_eq!(content(&y).as_deref(), Some("in\n"));
        assert_eq!(run.stdout, "begun\nbegun\n", "both attempts are seen");
        let attempts = report(&run)["attempts"].as_array().expect("a list").clone();
        assert_eq!(attempts.len(), 2, "{attempts:#?}");
        assert_eq!((&attempts[0]["verdict"], &attempts[1]["verdict"]), (&json!("denied"), &json!("passed")));
        assert_eq!(
            (&attempts[0]["grant"], &attempts[1]["grant"]),
            (&Value::Null, &json!({"grants": [{"precreate": y}]}))
        );
        assert_eq!(attempts[0]["outcome"], json!({"kind": "exited", "code": 2}));
        assert_eq!(attempts[0]["denials"][0]["grant"], json!({"precreate": y}));
        let screen = pty.screen();
        for text in [
            "confine: a command was denied something. May it run again with more?",
            &format!("sh -c 'echo begun; {}'", writes(&y)),
            &format!("create and write {}", y.display()),
            &format!("+ filesystem.precreate = [\"{}\"]", y.display()),
            "it ran once",
            "confine: allowed",
        ] {
            assert!(screen.contains(text), "`{text}` is not in\n{screen}");
        }
        // The grant was for that command and that file: neither a neighbour nor a second call has it.
        std::fs::remove_file(&y).expect("the user's own file");
        for (target, keys) in [(&z, "\r"), (&y, "n\r")] {
            let asking = Asked::new(scene).shell(&writes(target));
            asking.answers(1, keys);
            asking.ends().0.exits(2).reports("/verdict", "denied");
            assert!(!is_there(target));
        }
    });
}

#[test]
fn a_file_that_is_there_is_granted_itself_and_its_neighbour_is_asked_about_again() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, Backend::ALL, |scene| {
        let y = scene.write(&scene.outside().join("y"), "");
        let z = scene.write(&scene.outside().join("z"), "");
        let asking = Asked::new(scene).shell(&format!("set -e; {}; {}", writes(&y), writes(&z)));
        asking.answers(1, "y\r").answers(2, "n\r");
        let (run, pty) = asking.ends();
        let run = run.exits(2).reports("/verdict", "denied").reports("/refusal/outcome", "rejected");
        assert_eq!(content(&y).as_deref(), Some("in\n"));
        assert_eq!(content(&z).as_deref(), Some(""));
        assert_eq!(report(&run)["attempts"].as_array().map(Vec::len), Some(2));
        assert_eq!(report(&run)["denials"][0]["grant"], json!({"write": z}));
        assert!(pty.screen().contains(&format!("+ filesystem.write = [\"{}\"]", z.display())));
    });
}

#[test]
fn a_directory_is_granted_with_all_below_and_the_question_says_so() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Ordinary], &[Backend::Bwrap], |scene| {
        let made = scene.outside().join("made");
        let asking = Asked::new(scene).run(&["mkdir", &made.display().to_string()]);
        asking.answers(1, "y\r");
        let (run, pty) = asking.ends();
        run.exits(0);
        let screen = pty.screen();
        let grant = format!("write {} and all below", scene.outside().display());
        assert!(made.is_dir() && screen.contains(&grant), "{screen}");
        assert!(screen.contains("(likely, by its own words only)"), "{screen}");
    });
}

#[test]
fn a_policy_may_ask_and_a_workspaces_own_may_only_say_never() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        let asks = "version = 1\nextends = \"workspace-write\"\n[approval]\ndefault = \"ask\"\n";
        let policy = scene.write(&scene.home().join("asks.toml"), asks);
        let asking = Asked::of(scene.confine()).option("--policy", &policy).shell(&writes(&target));
        asking.answers(1, "y\r");
        asking.ends().0.exits(0);
        std::fs::remove_file(&target).expect("it was allowed");

        let own = scene.workspace().join(".confine/policy.toml");
        scene.write(&own, "version = 1\n[approval]\ndefault = \"ask\"\n");
        scene.confine().shell("exit 0").exits(125).says("policy.toml");
        scene.write(&own, "version = 1\n[approval]\ndefault = \"never\"\n");
        let run = Asked::new(scene).shell(&writes(&target)).asks_nothing();
        run.exits(2).reports("/refusal/by", "service");
        assert!(!is_there(&target));
    });
}

#[test]
fn standard_input_is_read_again_from_a_file_and_a_pipe_is_not_replayed() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, Backend::ALL, |scene| {
        let target = scene.outside().join("y");
        // The command has read a line before it is denied.
        let script = format!("read line; echo $line; cat > {}", target.display());
        let input = scene.write(&scene.home().join("input"), "skipped\nfirst\nsecond\n");
        let from_file = format!("{{ read skipped; exec \"$0\" \"$@\"; }} < {}", input.display());
        let asking = Asked::new(scene).through(&from_file).shell(&script);
        asking.answers(1, "y\r");
        let run = asking.ends().0.exits(0);
        assert_eq!(run.stdout, "first\nfirst\n");
        assert_eq!(content(&target).as_deref(), Some("second\n"));
        std::fs::remove_file(&target).expect("it was allowed");

        let asking = Asked::new(scene).through("printf 'first\\nsecond\\n' | \"$0\" \"$@\"").shell(&script);
        let run = asking.asks_nothing().exits(2).reports("/refusal/outcome", "unavailable");
        run.reports("/refusal/by", "service").says("cannot be given to it again");
        assert!(!is_there(&target));
        let asking = Asked::new(scene).through("exec \"$0\" \"$@\" < /dev/null").shell(&writes(&target));
        asking.answers(1, "y\r");
        asking.ends().0.exits(0);
        std::fs::remove_file(&target).expect("it was allowed");
    });
}

#[test]
fn case_f12_no_prompt_has_a_yes_without_effect() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        // Hard: what the caller hides or protects, and what a workspace's own policy does, is not offered.
        let file = scene.write(&scene.workspace().join("x"), "content");
        let read = ["cat", "x"];
        Asked::new(scene).option("--hide", &file).run(&read).asks_nothing().fails();
        let own = scene.workspace().join(".confine/policy.toml");
        scene.write(&own, "version = 1\n[filesystem]\nprotect = [\"x\"]\n");
        let denied = Asked::new(scene).shell("echo more >> x").asks_nothing();
        denied.exits(2).reports("/verdict", "denied");
        std::fs::remove_file(&own).expect("root may");
        Asked::new(scene).option("--protect", &file).shell("echo more >> x").asks_nothing().exits(2);
        assert_eq!(content(&file).as_deref(), Some("content"));
        // Soft: what is protected without anybody's saying so is really lifted.
        let file = scene.write(&scene.workspace().join(".envrc"), "content");
        let asking = Asked::new(scene).shell("echo more >> .envrc");
        asking.answers(1, "y\r");
        asking.ends().0.exits(0);
        assert_eq!(content(&file).as_deref(), Some("contentmore\n"));
    });
}
