//! How a run ended is told from records, for every kind of end.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test reports by panicking")]

mod harness;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use confine_core::outcome::Lookup;
use confine_core::policy::Background;
use confine_core::report::Violation;
use confine_core::{LaunchStage, LimitKind, Outcome, Verdict};
use harness::{BACKENDS, Scene, alive, ended, scene, sleeper, stderr, stdout, until_alive, until_gone};

async fn outcome(scene: &Scene, script: &str) -> Outcome {
    scene.run(&["sh", "-c", script]).await.outcome
}

#[tokio::test(flavor = "current_thread")]
async fn exit_codes_and_signals_are_the_programs_own() {
    for backend in BACKENDS {
        let scene = scene(backend);
        for code in [0, 1, 7, 77, 124, 125, 126, 127, 137, 255] {
            assert_eq!(outcome(&scene, &format!("exit {code}")).await, Outcome::Exited { code }, "{backend}");
        }
        for signal in [9, 11, 13, 15] {
            let Outcome::Signaled { signal: got, .. } = outcome(&scene, &format!("kill -{signal} $$")).await
            else {
                panic!("{backend}: signal {signal}")
            };
            assert_eq!(got, signal, "{backend}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_found_and_not_executable_are_told_apart() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let file = scene.path().join("plain");
        fs::write(&file, "echo no header\n").unwrap();
        let missing = scene.run(&["no-such-program"]).await;
        assert!(matches!(missing.outcome, Outcome::ExecFailed { lookup: Lookup::NotFound, .. }), "{backend}");
        assert_eq!((missing.outcome.exit_code(), missing.started), (127, None), "{backend}");
        assert_eq!(missing.report.verdict, Verdict::Failed);
        let plain = scene.run(&["./plain"]).await;
        assert_eq!(plain.outcome.exit_code(), 126, "{backend}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let headless = scene.run(&["./plain"]).await;
        assert_eq!(headless.outcome.exit_code(), 126, "{backend}: {:?}", headless.outcome);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn the_time_limit_ends_the_whole_tree() {
    for backend in BACKENDS {
        let mut scene = scene(backend);
        let limit = Duration::from_secs(1);
        scene.policy.limits.time = Some(limit);
        let sleeper = sleeper();
        let script = format!("trap '' TERM; echo begun; setsid sleep {sleeper} & sleep {sleeper}");
        let ended = scene.run(&["sh", "-c", &script]).await;
        assert_eq!(ended.outcome, Outcome::TimedOut { after: limit }, "{backend}");
        assert_eq!(stdout(&ended.report), "begun\n", "what was read is kept");
        assert!(
            (1900..4000).contains(&ended.report.usage.wall_ms),
            "{backend}: {}",
            ended.report.usage.wall_ms
        );
        assert_eq!(alive(&sleeper), 0, "{backend}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_program_may_clean_up_in_the_grace_of_the_time_limit() {
    for backend in BACKENDS {
        let mut scene = scene(backend);
        scene.policy.limits.time = Some(Duration::from_millis(500));
        let ended = scene.run(&["sh", "-c", "trap 'echo cleaned; exit 0' TERM; sleep 60 & wait"]).await;
        assert!(matches!(ended.outcome, Outcome::TimedOut { .. }), "{backend}");
        assert_eq!(stdout(&ended.report), "cleaned\n", "{backend}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn too_much_memory_ends_the_tree_and_little_does_not() {
    for backend in BACKENDS {
        let mut scene = scene(backend);
        // tail(1) keeps a last line of any length.
        let script = "head -c 300000000 /dev/zero | tail -n 1 | sleep 60";
        scene.policy.limits.memory = Some(100 << 20);
        let ended = scene.run(&["sh", "-c", script]).await;
        assert_eq!(ended.outcome, Outcome::Limit { which: LimitKind::Memory }, "{backend}");
        assert_eq!(ended.outcome.exit_code(), 137);
        assert!(matches!(outcome(&scene, "sleep 0.4").await, Outcome::Exited { code: 0 }), "{backend}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn the_kernels_limits_are_named() {
    for backend in BACKENDS {
        let mut scene = scene(backend);
        scene.policy.limits.file_size = Some(1000);
        let big = scene.run(&["dd", "if=/dev/zero", "of=big", "bs=4096", "count=1"]).await;
        assert_eq!(big.outcome, Outcome::Limit { which: LimitKind::FileSize }, "{backend}");
        assert!(fs::metadata(scene.path().join("big")).unwrap().len() <= 1000);
        scene.policy.limits.cpu = Some(Duration::from_secs(1));
        assert_eq!(
            outcome(&scene, "while :; do :; done").await,
            Outcome::Limit { which: LimitKind::Cpu },
            "{backend}"
        );
    }
}

#[tokio::test(flavor = "current_thread")]
async fn leftovers_are_ended_and_listed_and_may_be_a_violation() {
    for backend in BACKENDS {
        let mut scene = scene(backend);
        for background in [Background::End, Background::Deny] {
            scene.policy.limits.background = background;
            let sleeper = sleeper();
            let ended = scene.run(&["sh", "-c", &format!("setsid sleep {sleeper} & echo hi")]).await;
            assert_eq!(ended.outcome, Outcome::Exited { code: 0 }, "{backend}");
            assert_eq!((stdout(&ended.report).as_str(), alive(&sleeper)), ("hi\n", 0), "{backend}");
            let command = format!("sleep {sleeper}");
            let listed =
                ended.report.leftovers.iter().any(|left| left.command.to_string().contains(&command));
            assert!(listed || ended.report.leftovers.len() == 1, "{backend}: {:?}", ended.report.leftovers);
            let violated = ended.report.violations.contains(&Violation::Leftovers { count: 1 });
            assert_eq!(violated, background == Background::Deny, "{backend}");
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_program_that_handles_its_signal_is_cancelled_with_its_own_code() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let sleeper = sleeper();
        let script = format!("trap 'echo cleaned; exit 7' INT; sleep {sleeper} & wait");
        let run = scene.shell(&script).spawn().await.unwrap();
        until_alive(&sleeper, 1).await;
        run.canceller().signal(libc::SIGINT);
        let ended = ended(run).await;
        assert_eq!(
            ended.outcome,
            Outcome::Cancelled { code: Some(7), signal: Some(libc::SIGINT) },
            "{backend}"
        );
        assert_eq!(stdout(&ended.report), "cleaned\n", "{backend}");
        until_gone(&sleeper).await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_cancelled_run_leaves_no_process_and_keeps_its_output() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let sleeper = sleeper();
        let script = format!("trap '' TERM INT; echo some; setsid sleep {sleeper} & sleep {sleeper}");
        let run = scene.shell(&script).spawn().await.unwrap();
        until_alive(&sleeper, 2).await;
        run.canceller().cancel(Some(libc::SIGTERM));
        let report = run.wait().await;
        assert_eq!((report.verdict, alive(&sleeper)), (Verdict::Cancelled, 0), "{backend}");
        assert_eq!(stdout(&report), "some\n", "{backend}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn nothing_a_program_prints_changes_how_it_ended() {
    let scene = scene("bwrap");
    let words = "bwrap: Creating new namespace failed: Operation not permitted";
    let ended = scene.run(&["sh", "-c", &format!("echo '{words}' >&2; exit 1")]).await;
    assert_eq!(ended.outcome, Outcome::Exited { code: 1 });
    assert_eq!(stderr(&ended.report), format!("{words}\n"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_hidden_start_directory_is_a_launcher_failure() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let gone = confine_core::AbsPath::new(scene.path().join("gone")).unwrap();
        let ended = ended(scene.command(&["touch", "x"]).cwd(gone).spawn().await.unwrap()).await;
        let Outcome::LauncherFailed(fault) = ended.outcome else { panic!("{backend}: {:?}", ended.outcome) };
        assert_eq!(fault.stage, LaunchStage::Verify, "{backend}: {}", fault.text);
        assert!(!scene.path().join("x").exists());
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_command_of_any_number_of_words_arrives_whole() {
    for backend in harness::BACKENDS {
        let scene = scene(backend);
        for count in [3_900, 4_100, 9_100, 60_000] {
            let words = vec!["--"; count];
            let command = ["sh", "-c", "echo $# $1 > count", "sh"];
            let ended = scene.run(&[&command[..], &words].concat()).await;
            assert_eq!(
                ended.report.verdict,
                confine_core::Verdict::Passed,
                "{backend} {count}: {:?}",
                ended.outcome
            );
            let counted = fs::read_to_string(scene.path().join("count")).unwrap();
            assert_eq!(counted, format!("{count} --\n"));
        }
    }
}
