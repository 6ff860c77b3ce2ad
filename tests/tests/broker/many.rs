//! Many calls at once, and helpers that die.

use std::sync::Arc;
use std::time::Duration;

use confine_broker::Bounds;
use confine_broker::audit::Note;
use confine_tests::needs;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::scene::{BRIDGE, MISBEHAVE, Scene, approved, call, helpers, soon};
use crate::streams::server;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_calls_at_once_from_ten_plugins_all_finish() {
    needs!(bwrap, cc);
    let port = server(1024);
    let scene = Scene::new().named("bridge.test").bounds(Bounds { helpers: 2, ..Bounds::default() });
    let names: Vec<String> = (0..10).map(|number| format!("bridge{number}")).collect();
    let broker = scene.broker(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (number, name) in names.iter().enumerate() {
        let at_once = format!("-DAT_ONCE={}", number % 3 + 1);
        let flags = [format!("-DPORT={port}"), format!("-DNAME={name}"), at_once];
        let file = scene.compiled(BRIDGE, &flags.each_ref().map(String::as_str));
        broker.load(&approved(&file)).unwrap();
    }
    let calls: Vec<_> = (0..100)
        .map(|number: usize| {
            let (broker, name) = (broker.clone(), names[number % 10].clone());
            tokio::spawn(async move { call(&broker, &name, json!({"port": port})).await })
        })
        .collect();
    for one in calls {
        assert_eq!(one.await.unwrap().unwrap(), r#"{"came":1024}"#);
    }
    assert!(helpers().len() <= 20, "{:?}", helpers());
    assert_eq!(scene.kept.count(|note| matches!(note, Note::Call(call) if call.code == 0)), 100);
    assert_eq!(scene.kept.count(|note| matches!(note, Note::Connection(_))), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_helper_that_is_killed_in_a_call_loses_that_call_only() {
    needs!(bwrap, cc);
    let scene = Scene::new();
    let broker = scene.broker(&["misbehave"]);
    broker.load(&approved(&scene.compiled(MISBEHAVE, &[]))).unwrap();
    let hanging = {
        let broker = broker.clone();
        tokio::spawn(async move { call(&broker, "misbehave", json!({"do": "hang"})).await })
    };
    assert!(soon(|| helpers().len() == 1).await);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let victim = helpers()[0];
    let other = call(&broker, "misbehave", json!({"do": "nothing"})).await;
    assert!(other.is_ok(), "it has a helper of its own");
    kill(Pid::from_raw(victim), Signal::SIGKILL).unwrap();
    let lost = hanging.await.unwrap().unwrap_err();
    assert!(lost.text.contains("signal 9 ended it"), "{lost}");
    assert!(call(&broker, "misbehave", json!({"do": "nothing"})).await.is_ok());
    // One that dies while it waits is found out: no call is lost.
    for pid in helpers() {
        kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    }
    assert!(call(&broker, "misbehave", json!({"do": "nothing"})).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_helper_that_nobody_uses_is_ended() {
    needs!(bwrap, cc);
    let bounds = Bounds { helpers: 1, idle: Duration::from_millis(200) };
    let scene = Scene::new().bounds(bounds);
    let broker = Arc::new(scene.broker(&["misbehave"]));
    broker.load(&approved(&scene.compiled(MISBEHAVE, &[]))).unwrap();
    for _ in 0..2 {
        assert!(call(&broker, "misbehave", json!({"do": "nothing"})).await.is_ok());
        assert_eq!(helpers().len(), 1);
        assert!(soon(|| helpers().is_empty()).await);
    }
}
