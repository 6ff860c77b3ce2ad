//! Any runtime, any thread: who drops what, and when.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test reports by panicking")]

mod harness;

use std::thread;
use std::time::Duration;

use confine_core::{Outcome, Verdict};
use harness::{BACKENDS, alive, ended, scene, sleeper, stdout, until_alive, until_gone};
use tokio::runtime::{Builder, Runtime};

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn the_blocking_facade_needs_no_runtime_and_refuses_to_block_one() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let report = scene.shell("echo hi").run_blocking().unwrap();
        assert_eq!((report.verdict, stdout(&report).as_str()), (Verdict::Passed, "hi\n"), "{backend}");
        let inside = current_thread().block_on(async { scene.shell("echo hi").run_blocking() });
        assert!(inside.is_err());
    }
}

#[test]
fn a_dropped_run_ends_the_tree_even_where_the_runtime_never_goes_on() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let sleeper = sleeper();
        let script = format!("setsid sleep {sleeper} & sleep {sleeper}");
        let runtime = current_thread();
        let run = runtime.block_on(async {
            let run = scene.shell(&script).spawn().await.unwrap();
            until_alive(&sleeper, 2).await;
            run
        });
        drop(run);
        current_thread().block_on(until_gone(&sleeper));
        drop(runtime);
    }
}

#[test]
fn a_dropped_runtime_ends_the_tree_and_the_report_says_so() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let sleeper = sleeper();
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let run = runtime.block_on(async {
            let run = scene.command(&["sleep", &sleeper]).spawn().await.unwrap();
            until_alive(&sleeper, 1).await;
            run
        });
        drop(runtime);
        current_thread().block_on(until_gone(&sleeper));
        assert_eq!(current_thread().block_on(run.wait()).verdict, Verdict::LauncherFailed, "{backend}");
    }
}

#[test]
fn a_run_outlives_the_thread_that_asked_for_it() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let command = scene.command(&["sleep", "1"]);
        let handle = runtime.handle().clone();
        let run = thread::spawn(move || handle.block_on(command.spawn()).unwrap()).join().unwrap();
        assert_eq!(runtime.block_on(ended(run)).outcome, Outcome::Exited { code: 0 }, "{backend}");
    }
}

#[test]
fn runs_do_not_wait_for_each_other() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let runtime = current_thread();
        let begun = std::time::Instant::now();
        runtime.block_on(async {
            let mut runs = tokio::task::JoinSet::new();
            for _ in 0..8 {
                let run = scene.command(&["sleep", "1"]).spawn().await.unwrap();
                runs.spawn(run.wait());
            }
            while let Some(report) = runs.join_next().await {
                assert_eq!(report.unwrap().verdict, Verdict::Passed, "{backend}");
            }
        });
        assert!(begun.elapsed() < Duration::from_secs(6), "{backend}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_spawn_that_nobody_waits_for_leaves_nothing() {
    for backend in BACKENDS {
        let scene = scene(backend);
        let sleeper = sleeper();
        let runtime = current_thread();
        for delay in 0..20 {
            let spawning = scene.command(&["sleep", &sleeper]).spawn();
            let _ = runtime
                .block_on(async { tokio::time::timeout(Duration::from_micros(delay * 200), spawning).await });
        }
        runtime.block_on(until_gone(&sleeper));
        assert_eq!(alive(&sleeper), 0);
    }
}

#[test]
fn outside_a_runtime_spawning_is_a_fault() {
    let scene = scene("landlock");
    let spawning = std::pin::pin!(scene.command(&["true"]).spawn());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Err(error)) = spawning.poll(&mut context) else {
        panic!("it must fail at once")
    };
    assert!(error.fault().text.contains("runtime"));
}
