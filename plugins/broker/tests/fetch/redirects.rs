//! Redirects: each step is decided about as if it had been asked for.

use std::sync::Arc;

use confine_core::egress::tool::Code;
use serde_json::json;

use crate::scene::{Names, Setting, at, code};
use crate::server::{Server, field, ok, redirect};

/// Redirects `/from` to wherever `to` says, and says `arrived` elsewhere.
fn leading(status: u16, to: impl Fn(&str) -> String + Send + Sync + 'static) -> Server {
    Server::answering(move |head| {
        let host = field(head, "host").unwrap();
        let port = host.rsplit_once(':').unwrap().1;
        if head.contains(" /from ") { redirect(status, &to(port)) } else { ok("arrived") }
    })
}

#[tokio::test]
async fn a_redirect_to_an_undeclared_host_is_denied() {
    let server = leading(302, |port| format!("http://undeclared.test:{port}/to"));
    let port = server.port();
    let names = ["good.test", "undeclared.test"];
    let url = format!("http://good.test:{port}/from");
    let scene = Setting::reaching(&at(port, &["good.test"])).named(&names).scene();
    assert_eq!(code(scene.get(&url).await), Code::Denied);
    assert_eq!(server.heads().len(), 1, "only the first host was asked");
    let twin = Setting::reaching(&at(port, &names)).named(&names).scene();
    assert_eq!(twin.get(&url).await.unwrap().body, "arrived");
    assert_eq!(twin.kept.connections().len(), 2, "one line for each connection");
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_denied() {
    for to in ["127.0.0.1", "2130706433", "[::ffff:7f00:1]", "0"] {
        let server = leading(302, move |port| format!("http://{to}:{port}/to"));
        let port = server.port();
        let url = format!("http://good.test:{port}/from");
        let scene = Setting::reaching(&at(port, &["good.test"])).named(&["good.test"]).scene();
        assert_eq!(code(scene.get(&url).await), Code::Denied, "{to}");
        assert_eq!(server.heads().len(), 1);
        if to != "0" {
            let twin =
                Setting::reaching(&at(port, &["good.test", "127.0.0.1"])).named(&["good.test"]).scene();
            assert_eq!(twin.get(&url).await.unwrap().body, "arrived", "{to}");
        }
    }
}

#[tokio::test]
async fn a_redirect_to_a_name_that_leads_to_a_private_address_is_denied() {
    let server = leading(302, |port| format!("http://inside.test:{port}/to"));
    let port = server.port();
    let names =
        || Names { answers: vec![("inside.test", vec![vec![[127, 0, 0, 1].into()]])], ..Names::default() };
    let url = format!("http://good.test:{port}/from");
    let setting = |hosts: &[&str]| Setting::reaching(&at(port, hosts)).named(&["good.test"]);
    let scene =
        setting(&["good.test", "inside.test"]).scene_with(|builder| builder.resolver(Arc::new(names())));
    assert_eq!(code(scene.get(&url).await), Code::Denied);
    assert_eq!(server.heads().len(), 1);
    let granting = setting(&["good.test", "inside.test", "127.0.0.1"]);
    let twin = granting.scene_with(|builder| builder.resolver(Arc::new(names())));
    assert_eq!(twin.get(&url).await.unwrap().body, "arrived");
}

#[tokio::test]
async fn methods_change_as_the_fetch_standard_says() {
    let all = &["GET", "HEAD", "POST", "PUT"];
    for (status, method, then) in [
        (301, "GET", Some("GET")),
        (301, "POST", Some("GET")),
        (302, "POST", Some("GET")),
        (303, "POST", Some("GET")),
        (303, "PUT", Some("GET")),
        (303, "HEAD", Some("HEAD")),
        (307, "GET", Some("GET")),
        (308, "HEAD", Some("HEAD")),
        // The body is gone.
        (301, "PUT", None),
        (307, "POST", None),
        (308, "PUT", None),
    ] {
        let server = leading(status, |_| "/to".into());
        let port = server.port();
        let scene = Setting::reaching(&at(port, &["good.test"])).named(&["good.test"]).methods(all).scene();
        let headers = json!([["Content-Type", "text/plain"], ["Content-Length", "1"]]);
        let url = format!("http://good.test:{port}/from");
        let has_body = matches!(method, "POST" | "PUT");
        let input = match has_body {
            true => json!({"request": {"method": method, "url": url, "headers": headers}, "body": "x"}),
            false => json!({"request": {"method": method, "url": url}}),
        };
        let answer = scene.ask(input).await;
        let second = server.heads().get(1).map(|head| head.split(' ').next().unwrap().to_owned());
        assert_eq!(second.as_deref(), then, "{status} {method}");
        assert_eq!(answer.is_ok(), then.is_some(), "{status} {method}: {answer:?}");
        if has_body && then.is_some() {
            let head = &server.heads()[1];
            assert_eq!((field(head, "content-type"), field(head, "content-length")), (None, None));
        }
    }
}

#[tokio::test]
async fn a_method_that_a_redirect_comes_to_must_be_declared_too() {
    let server = leading(303, |_| "/to".into());
    let port = server.port();
    let input =
        json!({"request": {"method": "POST", "url": format!("http://good.test:{port}/from")}, "body": ""});
    let setting = || Setting::reaching(&at(port, &["good.test"])).named(&["good.test"]);
    assert_eq!(code(setting().methods(&["POST"]).scene().ask(input.clone()).await), Code::Denied);
    assert!(setting().methods(&["GET", "POST"]).scene().ask(input).await.is_ok());
}

#[tokio::test]
async fn ten_redirects_are_followed_and_no_more() {
    for (times, arrives) in [(10, true), (11, false)] {
        let server = Server::answering(move |head| {
            let step: usize = head.split(['/', ' ']).nth(2).unwrap().parse().unwrap();
            if step < times { redirect(302, &format!("/{}", step + 1)) } else { ok("arrived") }
        });
        let port = server.port();
        let scene = Setting::reaching(&at(port, &["good.test"])).named(&["good.test"]).scene();
        assert_eq!(scene.get(&format!("http://good.test:{port}/0")).await.is_ok(), arrives, "{times}");
        assert_eq!(server.heads().len(), 11);
    }
}

#[tokio::test]
async fn a_redirect_to_another_scheme_or_a_user_is_not_followed() {
    for to in ["file:///etc/passwd", "http://user@good.test/", "http://", "javascript:1"] {
        let server = leading(302, move |_| to.into());
        let port = server.port();
        let scene = Setting::reaching(&at(port, &["good.test"])).named(&["good.test"]).scene();
        assert_eq!(code(scene.get(&format!("http://good.test:{port}/from")).await), Code::Failed, "{to}");
    }
}
