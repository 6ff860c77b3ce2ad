//! Approvers that misbehave, and who is never asked.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use confine_core::Argv;
use confine_core::approval::{Answer, ApprovalOutcome, ApprovalPolicy, By, Preset};
use confine_core::denial::Target;
use confine_core::escalate::{Ahead, Escalation, Grant, Step};
use confine_core::policy::resolve::{Written, resolve};
use confine_runner::approvals::{Approvals, ApprovalsError, Asked};
use confine_runner::view::HostView;

use crate::approver::{Hanging, Scripted};
use crate::scene::{policy, request, scene, session};

fn unavailable(outcome: &ApprovalOutcome) -> &str {
    match outcome {
        ApprovalOutcome::Unavailable { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn case_h01_with_nobody_there_it_is_refused_at_once() {
    let scene = scene();
    let approvals = scene.open();
    let turn = approvals.turn().await.unwrap();
    let begun = Instant::now();
    let decided = approvals.request(&turn, &scene.command(&["rm", "d"])).await.unwrap();
    assert_eq!(unavailable(&decided.outcome), "approval needed, non-interactive");
    assert!(decided.pass.is_none() && begun.elapsed() < Duration::from_secs(1));
    approvals.approver(Scripted::always(Answer::AllowOnce));
    let decided = approvals.request(&turn, &scene.command(&["rm", "d"])).await.unwrap();
    assert!(decided.pass.is_some());
}

#[tokio::test]
async fn one_that_hangs_times_out_and_its_late_answer_comes_to_nothing() {
    let scene = scene();
    let approvals = scene.open();
    let hanging = Arc::new(Hanging::default());
    approvals.approver(hanging.clone());
    let turn = approvals.turn().await.unwrap();
    let asked = scene.command(&["true"]).limit(Duration::from_millis(80));
    let decided = approvals.request(&turn, &asked).await.unwrap();
    assert_eq!((&decided.outcome, decided.by), (&ApprovalOutcome::TimedOut, By::Service));
    let ignored = approvals.answer(&decided.id, Answer::AllowOnce).await.unwrap();
    assert!(ignored.is_some());
    assert!(approvals.consume(&decided.id, &asked).await.is_err());
    while hanging.held.load(Ordering::SeqCst) > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn one_that_crashes_is_unavailable_with_its_words() {
    let scene = scene();
    let approvals = scene.open();
    approvals.approver(Scripted::new(|_| panic!("no terminal")));
    let turn = approvals.turn().await.unwrap();
    let decided = approvals.request(&turn, &scene.command(&["true"])).await.unwrap();
    assert_eq!(unavailable(&decided.outcome), "the approver crashed: no terminal");
}

#[tokio::test]
async fn one_that_closes_or_answers_what_is_not_offered_is_unavailable() {
    let scene = scene();
    let approvals = scene.open();
    let hanging = Arc::new(Hanging::default());
    approvals.approver(hanging.clone());
    let turn = approvals.turn().await.unwrap();
    let asked = scene.command(&["python3", "-"]);
    let closes = async {
        let question = hanging.question(0).await;
        assert_eq!(approvals.fail(&question.id, "the channel was closed").await.unwrap(), None);
    };
    let (decided, ()) = tokio::join!(approvals.request(&turn, &asked), closes);
    assert_eq!(unavailable(&decided.unwrap().outcome), "the channel was closed");
    let always = async {
        let question = hanging.question(1).await;
        approvals.answer(&question.id, Answer::AllowAlways).await.unwrap();
    };
    let (decided, ()) = tokio::join!(approvals.request(&turn, &asked), always);
    assert_eq!(unavailable(&decided.unwrap().outcome), "the answer was none of those offered");
    assert!(!scene.state("approvals.toml").exists(), "and nothing is saved");
}

#[tokio::test]
async fn never_is_never_whoever_registers_and_no_front_end_is_started() {
    let scene = scene();
    let approvals = Approvals::open(&scene.places(), &session(), ApprovalPolicy::Never).unwrap();
    let eager = Scripted::always(Answer::AllowOnce);
    approvals.approver(eager.clone());
    let turn = approvals.turn().await.unwrap();
    let asked = scene.command(&["true"]);
    let decided = approvals.request(&turn, &asked).await.unwrap();
    assert_eq!(decided.by, By::Service);
    assert!(decided.pass.is_none() && eager.count() == 0);
    let plan = Preset::built_in().into_iter().find(|one| one.approval == ApprovalPolicy::Ask).unwrap();
    approvals.choose(plan).await.unwrap();
    assert!(approvals.request(&turn, &asked).await.unwrap().pass.is_some(), "a session that asks does");
    assert_eq!(eager.count(), 1);
}

#[tokio::test]
async fn a_caller_that_goes_away_cancels_and_that_is_written_down() {
    let scene = scene();
    let approvals = scene.open();
    let hanging = Arc::new(Hanging::default());
    approvals.approver(hanging.clone());
    let turn = approvals.turn().await.unwrap();
    let asked = scene.command(&["true"]);
    tokio::select! {
        decided = approvals.request(&turn, &asked) => panic!("{decided:?}"),
        _ = hanging.question(0) => {}
    }
    while hanging.held.load(Ordering::SeqCst) > 0 || scene.story() != "asked decided" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn outside_an_open_turn_nothing_is_asked() {
    let scene = scene();
    let (approvals, other) = (scene.open(), Approvals::ephemeral(ApprovalPolicy::Ask));
    let foreign = other.turn().await.unwrap();
    let refused = approvals.request(&foreign, &scene.command(&["true"])).await.unwrap_err();
    assert!(matches!(refused, ApprovalsError::Ask(_)), "{refused}");
    assert!(refused.to_string().contains("is not open"), "{refused}");
}

#[tokio::test]
async fn case_h10_what_the_command_could_write_keeps_no_approval() {
    let scene = scene();
    let approvals = scene.open();
    let eager = Scripted::always(Answer::AllowAlways);
    approvals.approver(eager.clone());
    let turn = approvals.turn().await.unwrap();
    let wide = format!("[filesystem]\nwrite = [\"{}\"]\n", scene.home.path().display());
    let wide = policy(scene.workspace.path(), &wide);
    let cwd = confine_core::AbsPath::new(scene.workspace.path()).unwrap();
    let exposed = approvals.request(&turn, &Asked::command(["true"], cwd, wide)).await.unwrap_err();
    assert!(matches!(exposed, ApprovalsError::Exposed(_)), "{exposed}");
    assert_eq!(eager.count(), 0);
    let decided = approvals.request(&turn, &scene.command(&["true"])).await.unwrap();
    assert!(matches!(decided.outcome, ApprovalOutcome::AllowedByRule { .. }), "{:?}", decided.outcome);
    assert!(scene.state("approvals.toml").is_file(), "in the user's own place");
    assert_eq!(std::fs::read_dir(scene.workspace.path()).unwrap().count(), 0, "and nothing in the workspace");
}

#[tokio::test]
async fn a_grant_around_what_is_kept_is_not_asked_about_and_one_beside_it_is() {
    let scene = scene();
    let approvals = scene.open();
    let eager = Scripted::always(Answer::AllowOnce);
    approvals.approver(eager.clone());
    let turn = approvals.turn().await.unwrap();
    let beside = tempfile::tempdir_in("/var/tmp").unwrap();
    for (place, is_asked) in [(scene.home.path(), false), (beside.path(), true)] {
        let grant = Grant::one(Target::Write(confine_core::AbsPath::new(place).unwrap()));
        let request = request(scene.workspace.path(), "");
        let argv = Argv::new(["/bin/true"], request.cwd.clone()).unwrap();
        let widen = move |more: &Written| resolve(&request.with(more), &HostView::here());
        let policy = scene.policy.clone();
        let mut escalation = Escalation::new(argv, (*policy).clone(), widen);
        let ahead = Ahead::new(Some(grant), Some("caches".into())).unwrap().unwrap();
        let Step::Ask(proposal) = escalation.ahead(ahead) else { panic!("it is wider") };
        match approvals.request(&turn, &Asked::proposal(&proposal, policy)).await {
            Ok(decided) => assert!(is_asked && decided.pass.is_some()),
            Err(error) => assert!(!is_asked && matches!(error, ApprovalsError::Exposed(_)), "{error}"),
        }
    }
    assert_eq!(eager.count(), 1);
}
