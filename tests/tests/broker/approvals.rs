//! Hosts that are declared and that the lock does not name.

use std::sync::Arc;

use confine_broker::approve::Session;
use confine_core::approval::{Answer, ApprovalPolicy, ApprovalRequest, Approver, Subject, async_trait};
use confine_core::egress::tool::Code;
use confine_runner::approvals::Approvals;
use confine_tests::{library, needs};
use serde_json::json;

use crate::scene::{BRIDGE, Scene, approved, call};
use crate::streams::server;

struct Says(Answer);

#[async_trait]
impl Approver for Says {
    async fn answer(&self, request: &ApprovalRequest) -> Option<Answer> {
        assert!(matches!(&request.subject, Subject::Connect { host, .. } if host == "bridge.test"));
        Some(self.0.clone())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_was_not_approved_waits_for_an_answer() {
    needs!(bwrap, cc);
    let port = server(1);
    let scene = Scene::new().named("bridge.test");
    let mut unapproved = approved(&scene.compiled(BRIDGE, &[&format!("-DPORT={port}")]));
    unapproved.hosts.clear();
    let policy = Arc::new(library::workspace_write(scene.place.path(), ""));
    for (answer, policy_of, code) in [
        (Answer::AllowOnce, ApprovalPolicy::Ask, None),
        (Answer::Reject { reason: "no".into() }, ApprovalPolicy::Ask, Some(Code::Denied)),
        (Answer::AllowOnce, ApprovalPolicy::Never, Some(Code::Denied)),
    ] {
        let approvals = Approvals::ephemeral(policy_of);
        approvals.approver(Arc::new(Says(answer)));
        let turn = Arc::new(approvals.turn().await.unwrap());
        let session = Session { approvals, turn, policy: policy.clone() };
        let broker = scene.broker_with(&["bridge"], |builder| builder.approve(Arc::new(session)));
        broker.load(&unapproved).unwrap();
        let ended = call(&broker, "bridge", json!({"port": port})).await;
        assert_eq!(ended.err().map(|error| error.code), code);
    }
    let nobody = scene.broker(&["bridge"]);
    nobody.load(&unapproved).unwrap();
    assert_eq!(call(&nobody, "bridge", json!({"port": port})).await.unwrap_err().code, Code::Denied);
}
