//! A yes is good for what was asked about, once.

use confine_core::AbsPath;
use confine_core::approval::{Answer, ApprovalOutcome, ApprovalRequestId, Refused};
use confine_runner::approvals::{Approvals, Asked, Decided, Turn};

use crate::approver::{Hanging, Scripted};
use crate::scene::{Scene, environment, policy, scene};

async fn allowed(scene: &Scene, asked: &Asked) -> (Approvals, Turn, Decided) {
    let approvals = scene.open();
    approvals.approver(Scripted::always(Answer::AllowOnce));
    let turn = approvals.turn().await.unwrap();
    let decided = approvals.request(&turn, asked).await.unwrap();
    assert_eq!(decided.outcome, ApprovalOutcome::AllowedOnce);
    (approvals, turn, decided)
}

fn refusal(refused: Result<impl std::fmt::Debug, Refused>) -> String {
    refused.unwrap_err().to_string()
}

#[tokio::test]
async fn what_did_not_change_starts_once_and_no_second_time() {
    let scene = scene();
    scene.file("s.sh", "echo");
    let asked = scene.command(&["sh", "s.sh"]);
    let (approvals, _turn, decided) = allowed(&scene, &asked).await;
    decided.pass.unwrap().consume(&asked).await.unwrap();
    assert_eq!(refusal(approvals.consume(&decided.id, &asked).await), "cannot use the approval: it was used");
    assert_eq!(scene.story(), "asked decided used ignored");
}

#[tokio::test]
async fn case_h03_a_script_that_changed_while_it_was_asked_about_does_not_start() {
    let scene = scene();
    let script = scene.file("s.sh", "echo");
    let asked = scene.command(&["sh", "s.sh"]);
    let approvals = scene.open();
    let rewrites = script.clone();
    approvals.approver(Scripted::new(move |_| {
        std::fs::write(&rewrites, "rm -rf .").unwrap();
        Some(Answer::AllowOnce)
    }));
    let turn = approvals.turn().await.unwrap();
    let decided = approvals.request(&turn, &asked).await.unwrap();
    let named =
        format!("cannot use the approval: the file `{}` changed since it was asked", script.display());
    assert_eq!(refusal(decided.pass.unwrap().consume(&asked).await), named);
    std::fs::write(&script, "echo").unwrap();
    assert!(
        refusal(approvals.consume(&decided.id, &asked).await).contains("changed"),
        "and it stays refused"
    );
}

#[tokio::test]
async fn each_thing_that_changed_is_named() {
    let scene = scene();
    let words = ["tool", "x"];
    let tool = scene.file("tool", "#!/bin/sh\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&tool, executable).unwrap();
    let path = [("PATH", scene.workspace.path().to_str().unwrap())];
    let asked = || scene.command(&words).environment(environment(&path));
    let elsewhere = AbsPath::new("/usr").unwrap();
    let another = policy(scene.workspace.path(), "[filesystem]\nwrite = [\"/var/tmp\"]\n");
    let cwd = AbsPath::new(scene.workspace.path()).unwrap();
    let variables = |more| environment(&[path[0], more]);
    let changed = [
        (scene.command(&["tool", "y"]).environment(environment(&path)), "the command"),
        (Asked::command(words, elsewhere, scene.policy.clone()).environment(environment(&path)), "directory"),
        (asked().environment(variables(("LC_ALL", "C"))), "the environment"),
        (Asked::command(words, cwd, another).environment(environment(&path)), "the policy"),
    ];
    for (now, named) in changed {
        let (_approvals, _turn, decided) = allowed(&scene, &asked()).await;
        let refused = refusal(decided.pass.unwrap().consume(&now).await);
        assert!(refused.contains(named) && refused.contains("changed"), "{named}: {refused}");
    }
    let (_approvals, _turn, decided) = allowed(&scene, &asked()).await;
    std::fs::write(&tool, "#!/bin/sh\nrm\n").unwrap();
    assert!(refusal(decided.pass.unwrap().consume(&asked()).await).contains("the executable"));
    let (_approvals, _turn, decided) = allowed(&scene, &asked()).await;
    decided.pass.unwrap().consume(&asked()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_h04_two_that_race_for_one_yes_start_once() {
    let scene = scene();
    let asked = scene.command(&["true"]);
    let (approvals, _turn, decided) = allowed(&scene, &asked).await;
    let race = |approvals: Approvals, id: ApprovalRequestId, asked: Asked| {
        tokio::spawn(async move { approvals.consume(&id, &asked).await.is_ok() })
    };
    let racers: Vec<_> = (0..8).map(|_| race(approvals.clone(), decided.id.clone(), asked.clone())).collect();
    let mut started = 0;
    for racer in racers {
        started += u32::from(racer.await.unwrap());
    }
    assert_eq!(started, 1);
}

#[tokio::test]
async fn case_h04_a_yes_is_used_once_also_across_processes_and_restarts() {
    let scene = scene();
    let asked = scene.command(&["true"]);
    let (_approvals, _turn, decided) = allowed(&scene, &asked).await;
    // Another process: it knows only what the log says.
    let other = scene.open();
    other.consume(&decided.id, &asked).await.unwrap();
    assert_eq!(refusal(decided.pass.unwrap().consume(&asked).await), "cannot use the approval: it was used");
    let later = scene.open();
    assert_eq!(refusal(later.consume(&decided.id, &asked).await), "cannot use the approval: it was used");
    assert_eq!(scene.story().matches("used").count(), 1);
}

#[tokio::test]
async fn case_h04_a_yes_of_a_revoked_session_or_a_closed_turn_is_refused() {
    let scene = scene();
    let asked = scene.command(&["true"]);
    let (_approvals, turn, decided) = allowed(&scene, &asked).await;
    turn.close().await.unwrap();
    assert!(refusal(decided.pass.unwrap().consume(&asked).await).contains("open turn"));
    let (_approvals, _turn, decided) = allowed(&scene, &asked).await;
    // By another process.
    scene.open().revoke().await.unwrap();
    assert!(refusal(decided.pass.unwrap().consume(&asked).await).contains("revoked"));
}

#[tokio::test]
async fn an_answer_with_a_forged_id_comes_to_nothing_and_the_true_one_counts() {
    let scene = scene();
    let approvals = scene.open();
    let hanging = std::sync::Arc::new(Hanging::default());
    approvals.approver(hanging.clone());
    let turn = approvals.turn().await.unwrap();
    let asked = scene.command(&["true"]);
    let forge = async {
        let question = hanging.question(0).await;
        let forged = ApprovalRequestId::new("01HFORGED").unwrap();
        assert!(approvals.answer(&forged, Answer::AllowOnce).await.unwrap().is_some());
        assert_eq!(approvals.answer(&question.id, Answer::AllowOnce).await.unwrap(), None);
        assert!(approvals.answer(&question.id, Answer::Cancel).await.unwrap().is_some(), "a second one");
    };
    let (decided, ()) = tokio::join!(approvals.request(&turn, &asked), forge);
    assert_eq!(decided.unwrap().outcome, ApprovalOutcome::AllowedOnce);
    assert_eq!(scene.story(), "asked ignored decided ignored");
}
