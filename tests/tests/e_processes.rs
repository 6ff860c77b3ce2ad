//! Field cases E: processes, signals, standard streams.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use confine_core::report::OutcomeNote;
use confine_tests::backend::LANDLOCK_LOSSES;
use confine_tests::library::{absolute, builder, workspace_write};
use confine_tests::world::{assert_gone, content, is_there, living, marker, within};
use confine_tests::{Backend, Running, Scene, User, each, needs};
use nix::sys::signal::Signal;

const EVERYBODY: &[User] = User::ALL;
const ROOT_AND_ORDINARY: &[User] = &[User::Root, User::Ordinary];

/// Waits until the program has written `ready` into the workspace.
#[track_caller]
fn until_ready(scene: &Scene) {
    let ready = scene.workspace().join("ready");
    assert!(within(Duration::from_secs(10), || is_there(&ready)), "the program does not start");
}

#[test]
fn case_e01_a_grandchild_that_holds_the_pipe_does_not_hold_the_run() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        let marker = marker();
        for captured in [false, true] {
            let confine = scene.confine().option("--timeout", "30");
            let confine = if captured { confine.with_report() } else { confine };
            let run = confine.shell(&format!("sleep {marker} & echo hi; exit 0")).exits(0);
            assert_eq!(run.stdout, "hi\n");
            assert!(run.took < Duration::from_secs(1), "{run}");
            assert_gone(&marker, Duration::ZERO);
            if captured {
                let report = run.report.as_ref().expect("a report");
                let left = report["leftovers"].as_array().expect("a list");
                assert!(left.iter().any(|one| one["command"].to_string().contains(&marker)), "{report:#}");
            }
        }
    });
}

#[test]
fn case_e02_the_time_limit_ends_the_whole_tree() {
    needs!(root, bwrap, landlock = 6);
    each(ROOT_AND_ORDINARY, Backend::ALL, |scene| {
        let marker = marker();
        let script = format!(
            "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do echo {marker} >> tick; sleep 0.02; done' & \
             setsid sleep {marker} & sleep {marker}; sleep {marker}"
        );
        let run = scene.confine().option("--timeout", "400ms").with_report().shell(&script).exits(124);
        let run = run.reports("/outcome/kind", "timed-out").reports("/outcome/after_ms", 400);
        let run = run.reports("/verdict", "timed-out");
        assert!(run.took < Duration::from_millis(2400), "{run}");
        assert_eq!(living(&marker), Vec::<String>::new());
        let tick = scene.workspace().join("tick");
        let after = content(&tick);
        assert!(after.is_some(), "it never ran");
        thread::sleep(Duration::from_millis(60));
        assert_eq!(content(&tick), after, "written after the end");
    });
    each(&[User::Ordinary], Backend::ALL, |scene| {
        let run = scene.confine().option("--timeout", "30").with_report().shell("exit 124").exits(124);
        run.reports("/outcome/kind", "exited").reports("/verdict", "failed");
    });
}

#[test]
fn case_e03_the_command_line_passes_stdin_through() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        assert_eq!(scene.confine().input("x\n").run(["cat"]).exits(0).stdout, "x\n");
        assert_eq!(scene.confine().shell("cat; echo done").exits(0).stdout, "done\n");
        let big = "0123456789abcdef".repeat(64 * 1024);
        let run = scene.confine().input(big.clone()).with_report().run(["cat"]).exits(0);
        assert!(run.stdout == big, "{} of {} bytes came back", run.stdout.len(), big.len());
    });
}

#[test]
fn case_e03_the_library_gives_no_stdin_by_default() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Root], Backend::ALL, |scene| {
        let confine = builder().detect().expect("facts");
        let policy = workspace_write(&scene.workspace(), LANDLOCK_LOSSES);
        let report = confine
            .command(["sh", "-c", "cat; readlink /proc/self/fd/0; echo done"])
            .cwd(absolute(&scene.workspace()))
            .policy(&policy)
            .backend(confine_core::BackendId::new(scene.backend.id()))
            .run_blocking()
            .expect("it spawns");
        assert_eq!(report.outcome, OutcomeNote::Exited { code: 0 }, "{report:?}");
        let output = report.output.expect("captured by default");
        assert_eq!(output.stdout.text.as_os_str(), "/dev/null\ndone\n");
    });
}

const ON_INT: &str = "
import os, signal, sys, time
def clean(*_):
    open('cleaned', 'w').close()
    sys.exit(7)
signal.signal(signal.SIGINT, clean)
open('ready', 'w').close()
time.sleep(60)
";

#[test]
fn case_e04_an_interrupt_reaches_the_programs_own_handler() {
    needs!(root, bwrap, landlock = 6, python3);
    each(EVERYBODY, Backend::ALL, |scene| {
        let run = scene.confine().with_report().start(["python3", "-c", ON_INT]);
        until_ready(scene);
        run.signal(Signal::SIGINT);
        run.wait().exits(7).reports("/outcome/kind", "cancelled").reports("/verdict", "cancelled");
        assert!(is_there(&scene.workspace().join("cleaned")));
    });
}

#[test]
fn case_e04_a_second_interrupt_ends_the_tree() {
    needs!(root, bwrap, landlock = 6);
    each(ROOT_AND_ORDINARY, Backend::ALL, |scene| {
        let marker = marker();
        let script =
            format!("trap 'touch first' INT; touch ready; while :; do sleep 0.05; done; sleep {marker}");
        let run = scene.confine().with_report().start(["sh", "-c", &script]);
        until_ready(scene);
        run.signal(Signal::SIGINT);
        let first = scene.workspace().join("first");
        assert!(within(Duration::from_secs(2), || is_there(&first)), "the first one does not arrive");
        let sent = Instant::now();
        run.signal(Signal::SIGINT);
        let run = run.wait().exits(130);
        assert!(sent.elapsed() < Duration::from_millis(1500), "{run}");
        run.reports("/outcome/kind", "cancelled");
        assert_gone(&marker, Duration::ZERO);
    });
}

fn stopped(scene: &Scene, run: Running, signal: Signal, code: i32, marker: &str) {
    until_ready(scene);
    run.signal(signal);
    let sent = Instant::now();
    let run = run.wait().exits(code);
    assert!(sent.elapsed() < Duration::from_secs(2), "{run}");
    assert_gone(marker, Duration::ZERO);
    run.reports("/outcome/kind", "cancelled");
}

#[test]
fn case_e05_stopping_confine_stops_the_program() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129), (Signal::SIGQUIT, 131)] {
            let marker = marker();
            let script = format!("setsid sleep {marker} & touch ready; exec sleep {marker}");
            let run = scene.confine().with_report().start(["sh", "-c", &script]);
            stopped(scene, run, signal, code, &marker);
            fs::remove_file(scene.workspace().join("ready")).unwrap();
        }
    });
}

#[test]
fn case_e09_endless_output_is_bounded_and_ends_with_the_time_limit() {
    needs!(root, bwrap, landlock = 6);
    each(ROOT_AND_ORDINARY, Backend::ALL, |scene| {
        let confine = scene.confine().options(["--timeout", "700ms", "--max-output", "1M", "--json"]);
        let run = confine.start(["yes", "0123456789"]);
        let status = format!("/proc/{}/status", run.pid());
        let mut peak = 0;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(500) {
            peak = peak.max(fs::read_to_string(&status).ok().and_then(|text| high_water(&text)).unwrap_or(0));
            thread::sleep(Duration::from_millis(20));
        }
        let run = run.wait();
        assert_eq!(run.code(), Some(124), "{}", run.stderr);
        assert!(run.took < Duration::from_secs(4), "it hangs: {:?}", run.took);
        assert!((1..50 * 1024).contains(&peak), "{peak} KiB resident");
        let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("a report");
        let stream = &report["output"]["stdout"];
        assert!(stream["omitted"].as_u64().is_some_and(|omitted| omitted > 0), "{stream:.200}");
        let text = stream["text"].as_str().expect("text");
        assert!(text.len() <= 1024 * 1024 + 100, "{} bytes are kept", text.len());
        assert_eq!(text.matches("[confine: ").count(), 1);
        assert_eq!(report["verdict"], "timed-out");
    });
}

/// `VmHWM` of a status file, in KiB.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn case_e11_processes_in_the_background_are_ended_and_listed() {
    needs!(root, bwrap, landlock = 6, python3);
    each(EVERYBODY, Backend::ALL, |scene| {
        let marker = marker();
        let server =
            "import os, sys, time; os.setsid(); open('ready', 'w').close(); time.sleep(float(sys.argv[1]))";
        let script = format!(
            "python3 -c \"{server}\" {marker} & while [ ! -e ready ]; do sleep 0.01; done; echo started"
        );
        let run = scene.confine().with_report().shell(&script).exits(0);
        assert_eq!(run.stdout, "started\n");
        let report = run.report.as_ref().expect("a report");
        let left = report["leftovers"].as_array().expect("a list");
        let listed =
            left.iter().any(|one| one["command"].to_string().contains(&marker) && one["pid"].is_number());
        assert!(listed, "{report:#}");
        assert_gone(&marker, Duration::ZERO);
    });
}
