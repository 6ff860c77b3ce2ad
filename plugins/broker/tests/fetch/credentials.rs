//! Secrets go to their own hosts, and nowhere else.

use confine_broker::credential::Vault;
use confine_core::egress::tool::Code;
use confine_core::secret::Secret;
use serde_json::json;

use crate::scene::{Scene, Setting, at, code};
use crate::server::{Server, field, ok, redirect};

const TOKEN: &str = "t0ken-of-the-test";

fn scene(port: u16, placement: &str) -> Scene {
    let mut setting = Setting::reaching(&at(port, &["own.test", "other.test"]));
    setting.credentials = json!([{"name": "TOKEN", "as": placement, "hosts": at(port, &["own.test"])}]);
    let vault = Vault::default().with("TOKEN", Secret::new(TOKEN).unwrap());
    setting.named(&["own.test", "other.test"]).scene_with(|builder| builder.vault(vault))
}

#[tokio::test]
async fn a_credential_reaches_only_its_host_and_nothing_that_is_said() {
    let server = Server::answering(|head| {
        let echoed = field(head, "authorization").unwrap_or_default();
        format!("HTTP/1.1 200 OK\r\nx-echo: {echoed}\r\ncontent-length: {}\r\n\r\n{echoed}", echoed.len())
    });
    let port = server.port();
    let scene = scene(port, "bearer");
    let own = scene.get(&format!("http://own.test:{port}/")).await.unwrap();
    let other = scene.get(&format!("http://other.test:{port}/")).await.unwrap();
    let sent: Vec<_> = server.heads().iter().map(|head| field(head, "authorization")).collect();
    assert_eq!(sent, [Some(format!("Bearer {TOKEN}")), None]);
    assert_eq!(own.body, "Bearer [redacted TOKEN]");
    assert!(own.headers.contains(&("x-echo".into(), "Bearer [redacted TOKEN]".into())), "{own:?}");
    assert_eq!(other.body, "");
    assert!(!scene.kept.text().contains(TOKEN));
}

#[tokio::test]
async fn a_credential_takes_the_place_of_what_the_tool_puts_there() {
    let server = Server::saying("ok");
    let port = server.port();
    let scene = scene(port, "header:x-key");
    let headers = json!([["X-Key", "mine"], ["X-KEY", "mine too"]]);
    let url = format!("http://own.test:{port}/");
    scene.ask(json!({"request": {"method": "GET", "url": url, "headers": headers}})).await.unwrap();
    let head = &server.heads()[0];
    assert_eq!((head.matches("x-key").count(), field(head, "x-key").unwrap()), (1, TOKEN.into()));
}

#[tokio::test]
async fn a_redirect_to_another_host_takes_no_credential_along() {
    let server = Server::answering(|head| {
        let port = field(head, "host").unwrap().rsplit_once(':').unwrap().1.to_owned();
        match head {
            head if head.contains(" /away ") => redirect(302, &format!("http://other.test:{port}/")),
            head if head.contains(" /stay ") => redirect(302, "/"),
            _ => ok("arrived"),
        }
    });
    let port = server.port();
    let scene = scene(port, "header:x-key");
    let ask = async |path: &str| {
        let headers = json!([["Authorization", "Basic mine"], ["Cookie", "a=b"], ["X-Other", "1"]]);
        let url = format!("http://own.test:{port}{path}");
        scene.ask(json!({"request": {"method": "GET", "url": url, "headers": headers}})).await.unwrap();
        server.heads().last().unwrap().clone()
    };
    let away = ask("/away").await;
    for name in ["x-key", "authorization", "cookie"] {
        assert_eq!(field(&away, name), None, "{away}");
    }
    assert_eq!(field(&away, "x-other").unwrap(), "1");
    let stay = ask("/stay").await;
    for name in ["x-key", "authorization", "cookie"] {
        assert!(field(&stay, name).is_some(), "{stay}");
    }
}

#[tokio::test]
async fn an_error_that_holds_a_secret_is_looked_through() {
    let server = Server::saying("never");
    let scene = scene(server.port(), "bearer");
    let error = scene.get(&format!("http://{TOKEN}.test:{}/", server.port())).await.unwrap_err();
    assert_eq!(error.code, Code::Denied);
    assert!(!error.text.contains(TOKEN), "{}", error.text);
    let not_a_tool = scene.ask(json!({"other": TOKEN})).await;
    assert!(!not_a_tool.unwrap_err().text.contains(TOKEN));
    assert_eq!(code(scene.get(&format!("http://x.test:{}/{TOKEN}", server.port())).await), Code::Denied);
    assert!(!scene.kept.text().contains(TOKEN));
}

/// A server may put what it got into the place that it redirects to, and the next one may say it again.
#[tokio::test]
async fn a_credential_that_a_redirect_carries_on_is_looked_for_there_too() {
    let server = Server::answering(|head| {
        let port = field(head, "host").unwrap().rsplit_once(':').unwrap().1.to_owned();
        match field(head, "x-key") {
            Some(key) => redirect(302, &format!("http://other.test:{port}/{key}")),
            None => ok(head.lines().next().unwrap_or_default()),
        }
    });
    let port = server.port();
    let scene = scene(port, "header:x-key");
    let answer = scene.get(&format!("http://own.test:{port}/")).await.unwrap();
    assert_eq!(answer.body, "GET /[redacted TOKEN] HTTP/1.1");
    assert!(
        !answer.backwards.contains(&TOKEN.chars().rev().collect::<String>()),
        "the tool did not see it either"
    );
    assert!(!scene.kept.text().contains(TOKEN));
}
