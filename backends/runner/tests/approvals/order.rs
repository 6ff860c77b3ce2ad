//! Many questions at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use confine_core::approval::{Answer, ApprovalOutcome, ApprovalPolicy, Subject};
use confine_runner::approvals::Approvals;

use crate::approver::{Hanging, Scripted};
use crate::scene::scene;

#[tokio::test]
async fn questions_are_put_in_the_order_in_which_they_came() {
    let scene = scene();
    let approvals = Approvals::ephemeral(ApprovalPolicy::Ask);
    let yes = Scripted::always(Answer::AllowOnce);
    approvals.approver(yes.clone());
    let turn = Arc::new(approvals.turn().await.unwrap());
    let mut tasks = Vec::new();
    for number in 0..50 {
        let (approvals, turn) = (approvals.clone(), turn.clone());
        let asked = scene.command(&["true", &number.to_string()]);
        tasks.push(tokio::spawn(async move { approvals.request(&turn, &asked).await.unwrap().outcome }));
    }
    for task in tasks {
        assert_eq!(task.await.unwrap(), ApprovalOutcome::AllowedOnce);
    }
    let seen = yes.seen.lock().unwrap();
    let numbers = seen.iter().map(|request| match &request.subject {
        Subject::Command { argv, .. } => argv[1].as_os_str().to_str().unwrap().parse::<u32>().unwrap(),
        other => panic!("{other:?}"),
    });
    assert!(numbers.eq(0..50));
}

#[tokio::test]
async fn the_same_question_is_shown_once_and_a_yes_for_once_answers_the_first_of_them() {
    let scene = scene();
    let approvals = scene.open();
    let hanging = Arc::new(Hanging::default());
    approvals.approver(hanging.clone());
    let turn = approvals.turn().await.unwrap();
    let asked = scene.command(&["true"]);
    let answers = async {
        let first = hanging.question(0).await;
        while scene.story() != "asked asked" {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        assert_eq!(hanging.held.load(Ordering::SeqCst), 1, "one prompt for both");
        approvals.answer(&first.id, Answer::AllowOnce).await.unwrap();
        let second = hanging.question(1).await;
        assert_ne!(second.id, first.id);
        approvals.answer(&second.id, Answer::Reject { reason: "enough".into() }).await.unwrap();
    };
    let one = approvals.request(&turn, &asked);
    let (one, two, ()) = tokio::join!(one, approvals.request(&turn, &asked), answers);
    assert_eq!(one.unwrap().outcome, ApprovalOutcome::AllowedOnce);
    assert_eq!(two.unwrap().outcome, ApprovalOutcome::Rejected { reason: "enough".into() });
}
