//! A terminal that knows no sequences: `TERM` is unset or `dumb`.

use super::*;

/// What follows the question there, as no key but Enter ends it.
const LINE: &str = "yes/no/cancel? (no in 60 s) ";

#[test]
fn a_terminal_without_sequences_is_asked_in_plain_text() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Ordinary], &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        for (term, keys, code, outcome) in [
            (Some("dumb"), "y\r", 0, None),
            (None, "yes\r", 0, None),
            (None, "\r", 2, Some("rejected")),
            (Some("dumb"), "yex\x7fs\x15no\r", 2, Some("rejected")),
            (Some("dumb"), "\x04", 2, Some("cancelled")),
            (None, "\x03", 2, Some("cancelled")),
        ] {
            let asking = asking(scene, term, &writes(&target));
            let before = asking.pty.modes();
            asking.pty.shows(LINE, 1);
            asking.pty.types(keys);
            let (run, pty) = asking.ends();
            let run = run.exits(code);
            assert_eq!(report(&run)["refusal"]["outcome"], json!(outcome), "{keys:?}: {run}");
            assert_eq!(is_there(&target), code == 0, "{keys:?}: {run}");
            assert_eq!(pty.modes(), before, "{keys:?}");
            let screen = pty.screen();
            // Also the echo of Ctrl-C is two letters.
            let is_plain = |c: char| matches!(c, '\n' | '\r' | '\x08') || !c.is_control();
            assert!(screen.chars().all(is_plain), "{screen:?}");
            assert!(screen.contains(&format!("create and write {}", target.display())), "{screen}");
            assert_eq!(screen.matches("(no in").count(), 1, "it is said once\n{screen}");
            let _ = std::fs::remove_file(&target);
        }
    });
}

#[test]
fn what_was_typed_before_counts_no_more_there_and_a_wrong_line_is_explained() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Ordinary], &[Backend::Bwrap], |scene| {
        let (target, go) = (scene.outside().join("y"), scene.workspace().join("go"));
        let script = format!("until test -e go; do sleep 0.02; done; {}", writes(&target));
        let asking = asking(scene, None, &script);
        asking.pty.types("yes\ry");
        assert!(within(PATIENCE, || asking.pty.screen().contains("yes")), "the terminal echoes it");
        std::fs::File::create(&go).expect("root may");
        asking.pty.shows(LINE, 1);
        asking.pty.types("what\r");
        asking.pty.shows("type one of yes/no/cancel, and Enter\r\nyes/no/cancel?", 1);
        assert!(!is_there(&target));
        asking.pty.types("y\r");
        asking.ends().0.exits(0);
        assert!(is_there(&target));
    });
}

fn asking(scene: &Scene, term: Option<&str>, script: &str) -> Asking {
    let mut asked = Asked::new(scene);
    asked.confine = asked.confine.env("TERM", term.unwrap_or("xterm"));
    let asked = if term.is_some() { asked } else { asked.through("unset TERM; exec \"$0\" \"$@\"") };
    asked.shell(script)
}
