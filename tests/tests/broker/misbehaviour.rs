//! A plugin that does what it should not loses its own call, and the next one works.

use std::time::Duration;

use confine_core::egress::tool::Code;
use confine_tests::needs;
use serde_json::json;

use crate::scene::{MISBEHAVE, Scene, approved, call, helpers, soon};

/// What becomes of a call in which a plugin does this.
const TABLE: &[(&str, Result<(), Code>)] = &[
    ("nothing", Ok(())),
    ("code", Err(Code::Failed)),
    ("denied", Err(Code::Denied)),
    ("crash", Err(Code::Failed)),
    ("abort", Err(Code::Failed)),
    ("exit", Err(Code::Failed)),
    ("close", Err(Code::Failed)),
    ("flood", Err(Code::Failed)),
    ("memory", Err(Code::Failed)),
    ("threads", Ok(())),
    ("storm", Ok(())),
    ("leak", Ok(())),
    ("signals", Ok(())),
    ("alarm", Ok(())),
    ("hang", Err(Code::Failed)),
    ("wait", Err(Code::Failed)),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_loses_its_own_call_only_and_no_process_is_left() {
    needs!(bwrap, cc);
    let scene = Scene::new();
    let broker = scene.broker(&["misbehave"]);
    broker.load(&approved(&scene.compiled(MISBEHAVE, &[]))).unwrap();
    for (what, then) in TABLE {
        let ended = call(&broker, "misbehave", json!({"do": what})).await;
        assert_eq!(ended.as_ref().map(|_| ()).map_err(|error| error.code), *then, "{what}: {ended:?}");
        let next = call(&broker, "misbehave", json!({"do": "nothing"})).await;
        assert_eq!(next.unwrap(), r#"{"did":"nothing"}"#, "after {what}");
    }
    assert_eq!(helpers().len(), 1);
    drop(broker);
    assert!(soon(|| helpers().is_empty()).await, "{:?}", helpers());
}

#[tokio::test(flavor = "multi_thread")]
async fn how_a_helper_ended_is_told_as_it_was() {
    needs!(bwrap, cc);
    let scene = Scene::new();
    let broker = scene.broker(&["misbehave"]);
    broker.load(&approved(&scene.compiled(MISBEHAVE, &[]))).unwrap();
    for (what, told) in [
        ("crash", "signal 11 ended it"),
        ("abort", "signal 6 ended it"),
        ("exit", "it exited with code 0"),
        ("flood", "replies with more than 1048576 bytes"),
        ("hang", "took longer than 3000 ms"),
        ("denied", "says: denied"),
    ] {
        let error = call(&broker, "misbehave", json!({"do": what})).await.unwrap_err();
        assert!(error.text.contains(told), "{what}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_nobody_wants_any_more_is_ended() {
    needs!(bwrap, cc);
    let scene = Scene::new();
    let broker = scene.broker(&["misbehave"]);
    broker.load(&approved(&scene.compiled(MISBEHAVE, &[]))).unwrap();
    for what in ["wait", "hang"] {
        let wanted = call(&broker, "misbehave", json!({"do": what}));
        assert!(tokio::time::timeout(Duration::from_millis(300), wanted).await.is_err());
        assert!(soon(|| helpers().is_empty()).await, "{what}");
        assert!(call(&broker, "misbehave", json!({"do": "nothing"})).await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_the_manifest_does_not_take_reaches_no_plugin() {
    needs!(bwrap, cc);
    let scene = Scene::new();
    let broker = scene.broker(&["misbehave"]);
    broker.load(&approved(&scene.compiled(MISBEHAVE, &[]))).unwrap();
    for input in [json!({}), json!({"do": 1}), json!("x"), json!({"do": "exit", "other": 1})] {
        let refused = call(&broker, "misbehave", input.clone()).await.unwrap_err();
        assert_eq!(refused.code, Code::BadInput, "{input}");
    }
    assert!(helpers().is_empty(), "none was started for that");
}
