//! Many processes write the same files, and are killed at any moment.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use confine_core::approval::{Answer, ApprovalPolicy, Memory};
use confine_core::audit::Event;
use confine_runner::approvals::{Approvals, Asked};

use crate::approver::Scripted;
use crate::scene::{environment, places, policy, scene, session};

const HOME: &str = "TEST_STORM_HOME";
const WORKSPACE: &str = "TEST_STORM_WORKSPACE";
const NAME: &str = "TEST_STORM_NAME";
const ROUNDS: &str = "TEST_STORM_ROUNDS";

/// What each process does: asks, is allowed for good, uses it.
#[test]
fn a_writer() {
    let Some(home) = env::var_os(HOME) else { return };
    let workspace = env::var_os(WORKSPACE).unwrap();
    let (name, rounds) = (env::var(NAME).unwrap(), env::var(ROUNDS).unwrap().parse::<u32>().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let approvals = Approvals::open(&places(Path::new(&home)), &session(), ApprovalPolicy::Ask).unwrap();
        approvals.approver(Scripted::always(Answer::AllowAlways));
        let policy = policy(Path::new(&workspace), "");
        let turn = approvals.turn().await.unwrap();
        for round in 0..rounds {
            let cwd = confine_core::AbsPath::new(&workspace).unwrap();
            let asked = Asked::command(["true", &format!("{name}-{round}")], cwd, policy.clone());
            let asked = asked.environment(environment(&[]));
            let decided = approvals.request(&turn, &asked).await.unwrap();
            decided.pass.expect("allowed").consume(&asked).await.unwrap();
        }
        turn.close().await.unwrap();
    });
}

fn writer(home: &Path, workspace: &Path, name: &str, rounds: u32) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "storm::a_writer", "--nocapture"]).stdout(Stdio::null()).stderr(Stdio::piped());
    command.env(HOME, home).env(WORKSPACE, workspace).env(NAME, name).env(ROUNDS, rounds.to_string());
    command.spawn().unwrap()
}

#[test]
fn twenty_processes_that_add_rules_at_once_lose_none() {
    let scene = scene();
    let start = |name: u32| writer(scene.home.path(), scene.workspace.path(), &name.to_string(), 2);
    let writers: Vec<Child> = (0..20).map(start).collect();
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let rules = Memory::parse(&fs::read_to_string(scene.state("approvals.toml")).unwrap()).unwrap();
    assert_eq!(rules.rules().len(), 40);
    let events = scene.events();
    let count = |kind: fn(&Event) -> bool| events.iter().filter(|event| kind(event)).count();
    assert_eq!(count(|event| matches!(event, Event::Asked { .. })), 40);
    assert_eq!(count(|event| matches!(event, Event::Decided { .. })), 40);
    assert_eq!(count(|event| matches!(event, Event::Used { .. })), 40);
}

#[test]
fn whatever_moment_a_writer_is_killed_at_the_files_are_whole() {
    let scene = scene();
    for round in 0..12_u32 {
        let mut pair = [0, 1]
            .map(|one| writer(scene.home.path(), scene.workspace.path(), &format!("{round}-{one}"), 1_000));
        std::thread::sleep(Duration::from_millis(40 + u64::from(round) * 13));
        for writer in &mut pair {
            writer.kill().unwrap();
            writer.wait().unwrap();
        }
        if let Ok(text) = fs::read_to_string(scene.state("approvals.toml")) {
            Memory::parse(&text).unwrap();
        }
        drop(scene.open());
        let events = scene.events();
        for event in &events {
            if let Event::Decided { id, .. } | Event::Used { id, .. } = event {
                let asks = |one: &&Event| matches!(one, Event::Asked { request, .. } if request.id == *id);
                assert!(events.iter().any(|one| asks(&one)), "no decision without its question");
            }
        }
    }
    assert!(scene.events().iter().any(|event| matches!(event, Event::Used { .. })), "some came through");
}
