//! The question on the terminal, and who answers it.

use std::fs::File;

use confine_tests::tmux::Terminal;
use confine_tests::world::{assert_gone, marker};

use super::*;

#[test]
fn no_is_the_default_and_control_c_cancels() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        for (keys, outcome, by) in [
            ("\r", "rejected", "approver"),
            ("no\r", "rejected", "approver"),
            ("yess\x15\r", "rejected", "approver"),
            ("\x03", "cancelled", "approver"),
            ("c\r", "cancelled", "approver"),
        ] {
            let asking = Asked::new(scene).shell(&writes(&target));
            let before = asking.pty.modes();
            asking.answers(1, keys);
            let (run, pty) = asking.ends();
            let run = run.exits(2).reports("/verdict", "denied").reports("/refusal/outcome", outcome);
            run.reports("/refusal/by", by).reports("/attempts", json!([]));
            assert!(!is_there(&target), "{keys:?}");
            assert_eq!(pty.modes(), before, "{keys:?}");
        }
        // What is none of the answers is explained, and the question stays.
        let asking = Asked::new(scene).shell(&writes(&target));
        asking.answers(1, "what\r");
        asking.pty.shows("type one of yes/no/cancel, and Enter", 1);
        asking.pty.types("n\r");
        asking.ends().0.exits(2).reports("/refusal/outcome", "rejected");
    });
}

#[test]
fn what_was_typed_before_the_question_does_not_answer_it() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        let go = scene.workspace().join("go");
        let script = format!("echo ready; until test -e go; do sleep 0.02; done; {}", writes(&target));
        let asking = Asked::new(scene).shell(&script);
        asking.pty.types("yes\r");
        assert!(within(PATIENCE, || asking.pty.screen().contains("yes")), "the terminal echoes it");
        asking.pty.types("y\ry\ry");
        File::create(&go).expect("root may");
        asking.pty.shows("yes/no/cancel? (no in 59 s) ", 1);
        assert!(!is_there(&target));
        asking.pty.types("y\r");
        asking.ends().0.exits(0);
        assert!(is_there(&target), "the same key counts once the question is there");
        for file in [target, go] {
            std::fs::remove_file(file).expect("it is there");
        }
    });
}

#[test]
fn the_program_can_neither_answer_nor_make_the_terminal_answer() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        // It has no controlling terminal, and what it leaves running is gone before the question.
        let script = format!(
            "(sleep 1; echo y > /dev/tty; echo y >&0) 2>/dev/null & echo y 2>/dev/null > /dev/tty; {}",
            writes(&target)
        );
        let asking = Asked::new(scene).shell(&script);
        asking.pty.shows(QUESTION, 1);
        // A terminal that answers a query late, as an escape sequence.
        asking.pty.types("\x1b]ly\r\x1b\\");
        asking.pty.shows("yes/no/cancel? (no in 58 s) ", 1);
        asking.pty.types("\x03");
        asking.ends().0.exits(2).reports("/refusal/outcome", "cancelled");
        assert!(!is_there(&target));
    });
}

#[test]
fn being_told_to_stop_cancels_and_restores_the_terminal() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            let asking = Asked::new(scene).shell(&format!("echo $PPID; {}", writes(&target)));
            let before = asking.pty.modes();
            asking.pty.shows(QUESTION, 1);
            assert_ne!(asking.pty.modes(), before, "keys are not echoed at the question");
            signal_child(&asking.running, signal);
            let (run, pty) = asking.ends();
            run.exits(2).reports("/refusal/outcome", "cancelled");
            assert_eq!(pty.modes(), before, "{signal}");
            assert!(!is_there(&target));
        }
    });
}

#[test]
fn being_told_to_stop_between_the_answer_and_the_run_starts_nothing() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Ordinary], &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        let log = scene.home().join(".local/state/confine/sessions/stops.jsonl");
        // It is measured once more before the yes is used, which takes its time.
        let big = File::create(scene.workspace().join("big")).expect("root may");
        big.set_len(8 * 1024 * 1024).expect("there is room");
        for (number, signal) in [Some(Signal::SIGTERM), Some(Signal::SIGINT), None].into_iter().enumerate() {
            let confine = scene.confine().options(["--ask"]).env("CONFINE_SESSION", "stops");
            let marker = marker();
            let script = format!("echo {marker}; {}", writes(&target));
            let asking = Asked::of(confine).run(&["sh", "-c", &script, "big"]);
            let used = || content(&log).unwrap_or_default().matches("approval/used").count();
            let before = used();
            asking.answers(1, "y\r");
            // The yes is written down, and cannot be used before this lock is gone.
            let decided = || content(&log).unwrap_or_default().matches("approval/decided").count() > number;
            let patience = std::time::Instant::now();
            while !decided() {
                assert!(patience.elapsed() < PATIENCE, "nothing is decided: {}", asking.pty.screen());
            }
            let held = File::open(&log).expect("a log");
            held.lock().expect("a lock");
            assert_eq!(used(), before, "the yes is not used yet");
            std::thread::sleep(Duration::from_millis(100));
            if let Some(signal) = signal {
                signal_child(&asking.running, signal);
            }
            std::thread::sleep(Duration::from_millis(50));
            drop(held);
            let (run, pty) = asking.ends();
            match signal {
                None => drop(run.exits(0).reports("/verdict", "passed")),
                Some(signal) => {
                    let run =
                        run.exits(2).reports("/refusal/outcome", "cancelled").reports("/attempts", json!([]));
                    assert_eq!(run.stdout.matches(&marker).count(), 1, "{signal}: {run}");
                    assert!(pty.screen().contains("confine: cancelled"), "{}", pty.screen());
                }
            }
            assert_eq!(is_there(&target), signal.is_none());
            assert_gone(&marker, PATIENCE);
        }
    });
}

/// setsid waits for confine, which is its child.
fn signal_child(running: &Running, signal: Signal) {
    let parent = running.pid();
    let children = format!("/proc/{parent}/task/{parent}/children");
    let child = std::fs::read_to_string(children).expect("it runs").trim().to_owned();
    let child = if child.is_empty() { parent.to_string() } else { child };
    let pid = nix::unistd::Pid::from_raw(child.parse().expect("one child"));
    nix::sys::signal::kill(pid, signal).expect("it runs");
}

#[test]
fn what_is_shown_of_a_hostile_command_is_harmless_and_complete() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        let hostile = "\u{1b}[2J\u{1b}[8m\u{202e}\u{200b}\n[yes] yes\rpadding   end ";
        let script = format!("printf '\\033[?1049h\\033[8m\\033]0;'; {}", writes(&target));
        let asking = Asked::new(scene).run(&["sh", "-c", &script, "a b", hostile, ""]);
        asking.answers(1, "\r");
        let (run, pty) = asking.ends();
        run.exits(2);
        let screen = pty.screen();
        assert!(
            !screen.contains("\u{1b}[2J") && !screen.contains('\u{202e}') && !screen.contains('\u{200b}')
        );
        for text in [
            r"\u{1b}[2J\u{1b}[8m\u{202e}\u{200b}\n[yes] yes\rpadding \u{20}\u{20}end",
            "sh -c '",
            r"' 'a b' '\u{1b}",
            r"end\u{20}' ''",
        ] {
            assert!(screen.contains(text), "`{text}` is not in\n{screen}");
        }
        // Whatever the program left the terminal in is ended before the question.
        let question = screen.find("confine: a command").expect("the question");
        for plain in ["\u{18}\u{1b}\\", "\u{1b}[0m", "\u{1b}[?7h", "\u{1b}[r", "\u{1b}(B"] {
            assert!(screen[..question].contains(plain), "{plain:?} is not before the question");
        }
    });
}

#[test]
fn in_tmux_a_person_reads_the_question_and_answers_by_keys() {
    needs!(root, bwrap, landlock = 6, tmux);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        let words = format!("sh -c '{}'", writes(&target));
        let terminal = Terminal::start(scene, "--ask", &words);
        // The number counts: it is not the first one any more.
        terminal.shows("yes/no/cancel? (no in 5");
        terminal.shows("confine: a command was denied something.");
        terminal.press(&["y"]);
        terminal.shows(" s) y");
        assert!(!is_there(&target), "only Enter answers");
        terminal.press(&["Enter"]);
        terminal.shows("confine: allowed");
        terminal.ends_with("0");
        assert_eq!(content(&target).as_deref(), Some("in\n"));
        std::fs::remove_file(&target).expect("it was allowed");

        let terminal = Terminal::start(scene, "--ask", &words);
        terminal.shows("yes/no/cancel? (no in 60 s)");
        terminal.press(&["C-c"]);
        terminal.shows("confine: cancelled");
        terminal.ends_with("2");
        assert!(!is_there(&target));
    });
}
