//! Wrappers that fail, hang or lie: stubs in bwrap's place.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test reports by panicking")]

mod harness;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use confine_core::probe::{Probe, Tool, Unusable};
use confine_core::{AbsPath, LaunchStage, Outcome, Verdict};
use confine_runner::{Confine, SpawnError};
use harness::{Scene, alive, ended, scene, sleeper, until_alive};

fn with_stub(script: &str) -> Scene {
    let mut scene = scene("bwrap");
    let stub = scene.outside.path().join("bwrap");
    fs::write(&stub, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    let probe =
        Probe { bwrap: Ok(Tool { path: AbsPath::new(stub).unwrap() }), ..scene.confine.probe().clone() };
    scene.confine = Confine::builder().stage(harness::stage()).probe(probe).detect().unwrap();
    scene
}

#[tokio::test(flavor = "current_thread")]
async fn words_that_sound_like_a_denial_are_a_launcher_failure_with_a_remedy() {
    let rows = [
        ("setting up uid map: Permission denied", LaunchStage::Namespace),
        ("loopback: Failed RTM_NEWADDR: No child processes", LaunchStage::Namespace),
        ("Can't mount proc on /newroot/proc: Operation not permitted", LaunchStage::Mount),
        ("Unknown option --argv0", LaunchStage::Spawn),
    ];
    for (words, stage) in rows {
        let scene = with_stub(&format!("echo \"bwrap: {words}\" >&2; exit 1"));
        let ended = scene.run(&["true"]).await;
        let Outcome::LauncherFailed(fault) = ended.outcome else { panic!("{words}: {:?}", ended.outcome) };
        assert_eq!(fault.stage, stage, "{words}");
        assert!(fault.text.contains(words) && fault.help.is_some(), "{fault:?}");
        assert_eq!(
            ended.report.output.unwrap().stderr.bytes,
            0,
            "the launcher's words are not the program's"
        );
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_wrapper_that_succeeds_without_a_record_ran_nothing() {
    let ended = with_stub("echo out; exit 0").run(&["true"]).await;
    assert_eq!(ended.report.verdict, Verdict::LauncherFailed);
    assert_eq!(ended.outcome.exit_code(), 125);
}

#[tokio::test(flavor = "current_thread")]
async fn a_wrapper_that_hangs_is_ended_after_a_while_with_its_children() {
    let sleeper = sleeper();
    let scene = with_stub(&format!("trap '' TERM; sleep {sleeper} & sleep {sleeper}"));
    let run = scene.command(&["true"]).spawn().await.unwrap();
    until_alive(&sleeper, 2).await;
    let begun = Instant::now();
    run.canceller().cancel(None);
    let report = run.wait().await;
    assert_eq!((report.verdict, alive(&sleeper)), (Verdict::Cancelled, 0));
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "current_thread")]
async fn a_wrapper_that_hangs_beside_a_masked_socket_can_be_cancelled() {
    let sockets = tempfile::tempdir_in("/var/tmp").unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(sockets.path().join("socket")).unwrap();
    let scene = with_stub("exec sleep 600");
    let spawned = tokio::time::timeout(Duration::from_secs(10), scene.command(&["true"]).spawn()).await;
    let run = spawned.expect("a run").unwrap();
    run.canceller().cancel(None);
    assert_eq!(run.wait().await.verdict, Verdict::Cancelled);
}

#[tokio::test(flavor = "current_thread")]
async fn a_dropped_run_ends_a_wrapper_that_hangs() {
    let sleeper = sleeper();
    let scene = with_stub(&format!("sleep {sleeper}"));
    let run = scene.command(&["true"]).spawn().await.unwrap();
    until_alive(&sleeper, 1).await;
    drop(run);
    harness::until_gone(&sleeper).await;
}

#[tokio::test(flavor = "current_thread")]
async fn the_wrappers_environment_and_descriptors_are_exactly_those_asked_for() {
    let scene =
        with_stub("ls /proc/$$/fd >\"$0.descriptors\"; tr '\\0' '\\n' </proc/$$/environ >\"$0.environment\"");
    let pass = [("HOME", "/x"), ("AWS_SECRET_ACCESS_KEY", "hush"), ("CONFINE", "1")];
    let command = scene.command(&["true"]).environment(pass.map(|(name, value)| (name.into(), value.into())));
    let plan = command.confined().unwrap().env;
    let ended = ended(command.spawn().await.unwrap()).await;
    assert_eq!(ended.report.environment.dropped, 1);
    let seen = |what: &str| fs::read_to_string(scene.outside.path().join(format!("bwrap.{what}"))).unwrap();
    let environment = seen("environment");
    let mut names: Vec<&str> = environment.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    let mut expected: Vec<&str> = plan.set.keys().map(String::as_str).collect();
    expected.push("HOME");
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(names, expected);
    let passed = inherited();
    let numbers = seen("descriptors").lines().map(|line| line.parse().unwrap()).collect::<BTreeSet<i32>>();
    // 10 to 12 are the shell's own: its script, and what it saves of a redirection.
    let ours: Vec<i32> =
        numbers.into_iter().filter(|number| !(10..13).contains(number) && !passed.contains(number)).collect();
    assert_eq!(ours, [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// What this process got without close-on-exec from whoever started it; the stage closes that.
fn inherited() -> BTreeSet<i32> {
    let numbers = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let passes = |number: &i32| {
        let flags = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        let flags = flags.lines().find_map(|line| line.strip_prefix("flags:")).map(str::trim).unwrap_or("0");
        i32::from_str_radix(flags, 8).unwrap() & libc::O_CLOEXEC == 0
    };
    numbers.filter(|number| *number > 7).filter(passes).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn a_wrapper_that_is_no_program_is_a_fault_by_name() {
    let scene = with_stub("");
    fs::write(scene.outside.path().join("bwrap"), "no header").unwrap();
    let error = scene.command(&["true"]).spawn().await.err().unwrap();
    let SpawnError::Fault(fault) = error else { panic!() };
    assert_eq!(fault.stage, LaunchStage::Spawn);
    assert!(fault.text.contains("bwrap"), "{}", fault.text);
}

#[tokio::test(flavor = "current_thread")]
async fn a_refusal_names_effects_remedy_and_the_way_without_them() {
    let mut scene = scene("bwrap");
    let missing = Unusable::new("bubblewrap is not installed", "apt-get install bubblewrap");
    let probe = Probe { bwrap: Err(missing), ..scene.confine.probe().clone() };
    scene.confine = Confine::builder().stage(harness::stage()).probe(probe).detect().unwrap();
    let cwd = AbsPath::new(scene.path()).unwrap();
    let command = scene.confine.command(["true"]).cwd(cwd).policy(&scene.policy);
    let fault = command.spawn().await.err().unwrap().fault();
    assert_eq!(fault.stage, LaunchStage::Choose);
    assert!(fault.effect.is_some());
    let help = fault.help.unwrap();
    assert!(help.contains("apt-get install bubblewrap") && help.contains("--accept-missing"), "{help}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_tool_that_the_program_could_replace_is_refused_by_its_name() {
    for (backend, tool) in [("bwrap", "bwrap"), ("bwrap", "stage"), ("landlock", "stage")] {
        let mut scene = scene(backend);
        let inside = AbsPath::new(scene.path()).unwrap().join(tool).unwrap();
        let mut probe = scene.confine.probe().clone();
        let place = if tool == "bwrap" { &mut probe.bwrap } else { &mut probe.stage };
        fs::copy(&place.as_ref().unwrap().path, &inside).unwrap();
        *place = Ok(Tool { path: inside.clone() });
        scene.confine = Confine::builder().stage(harness::stage()).probe(probe).detect().unwrap();
        let Err(SpawnError::Fault(fault)) = scene.command(&["touch", "ran"]).spawn().await else {
            panic!("{backend} with its {tool} in the workspace")
        };
        assert_eq!((fault.stage, fault.path.as_ref()), (LaunchStage::Choose, Some(&inside)));
        assert!(fault.help.unwrap().contains("outside the workspace"));
        assert!(!scene.path().join("ran").exists());
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_tool_elsewhere_is_used() {
    for backend in harness::BACKENDS {
        let scene = scene(backend);
        scene.run(&["touch", "ran"]).await;
        assert!(scene.path().join("ran").exists(), "{backend}");
    }
}
