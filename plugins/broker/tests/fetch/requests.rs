//! Requests that could be read in two ways.

use confine_core::egress::tool::Code;
use serde_json::json;

use crate::scene::{Scene, Setting, at, code};
use crate::server::{Server, field};

fn scene(server: &Server) -> Scene {
    let setting = Setting::reaching(&at(server.port(), &["good.test", "evil.test"]));
    setting.named(&["good.test", "evil.test"]).methods(&["GET", "POST"]).scene()
}

#[tokio::test]
async fn case_i12_the_host_field_says_what_the_url_says_or_nothing_is_sent() {
    let server = Server::saying("reached");
    let (scene, port) = (scene(&server), server.port());
    let url = format!("http://good.test:{port}/");
    let with =
        |headers: serde_json::Value| json!({"request": {"method": "GET", "url": url, "headers": headers}});
    let own = format!("good.test:{port}");
    for (name, headers) in [
        ("another", json!([["Host", format!("evil.test:{port}")]])),
        ("another port", json!([["Host", "good.test"]])),
        ("twice, the same", json!([["Host", own], ["host", own]])),
        ("twice", json!([["Host", own], ["Host", format!("evil.test:{port}")]])),
        ("none", json!([["Host", ""]])),
        ("a user", json!([["Host", format!("x@{own}")]])),
        ("a list", json!([["Host", format!("{own}, evil.test")]])),
        ("a line", json!([["X", format!("a\r\nHost: evil.test:{port}")]])),
        ("a name with a line", json!([[format!("X: a\r\nHost"), own]])),
    ] {
        assert_eq!(code(scene.ask(with(headers)).await), Code::BadInput, "{name}");
    }
    assert_eq!(server.heads(), [""; 0]);
    for headers in [json!([["Host", own]]), json!([["host", format!("GOOD.test.:{port}")]]), json!([])] {
        assert_eq!(scene.ask(with(headers)).await.unwrap().body, "reached");
    }
    for head in server.heads() {
        assert_eq!(head.matches("ost:").count(), 1, "{head}");
        assert_eq!(field(&head, "host").unwrap(), own);
    }
    let hosts: Vec<_> = scene.kept.connections().into_iter().map(|one| one.host).collect();
    assert_eq!(hosts, ["good.test"; 3], "policy, target and line have one host");
}

#[tokio::test]
async fn case_i12_a_body_has_one_length() {
    let server = Server::saying("reached");
    let scene = scene(&server);
    let url = format!("http://good.test:{}/", server.port());
    let with = |headers: serde_json::Value| json!({"request": {"method": "POST", "url": url, "headers": headers}, "body": "12345"});
    for headers in [
        json!([["Content-Length", "5"], ["Transfer-Encoding", "chunked"]]),
        json!([["Content-Length", "5"], ["Content-Length", "5"]]),
        json!([["Content-Length", "5, 5"]]),
        json!([["Content-Length", "+5"]]),
        json!([["Content-Length", "x"]]),
    ] {
        assert_eq!(code(scene.ask(with(headers.clone())).await), Code::BadInput, "{headers}");
    }
    let bodiless = json!({"request": {"method": "GET", "url": url, "headers": [["Content-Length", "5"]]}});
    assert_eq!(code(scene.ask(bodiless).await), Code::BadInput);
    assert_eq!(server.heads(), [""; 0]);
    let one = scene.ask(with(json!([["Content-Length", "5"]]))).await.unwrap();
    assert_eq!(one.body, "reached");
    assert_eq!(field(&server.heads()[0], "content-length").unwrap(), "5");
}

#[tokio::test]
async fn what_is_about_one_connection_is_not_passed_on() {
    let server = Server::answering(|_| {
        "HTTP/1.1 200 OK\r\nconnection: x-mine\r\nx-mine: 1\r\nkeep-alive: 1\r\nx-kept: 1\r\ncontent-length: 0\r\n\r\n"
            .into()
    });
    let scene = scene(&server);
    let headers = json!([
        ["Connection", "close, X-Drop"],
        ["X-Drop", "1"],
        ["TE", "trailers"],
        ["Upgrade", "h2c"],
        ["Proxy-Authorization", "x"],
        ["Keep-Alive", "1"],
        ["X-Keep", "1"]
    ]);
    let url = format!("http://good.test:{}/", server.port());
    let answer =
        scene.ask(json!({"request": {"method": "GET", "url": url, "headers": headers}})).await.unwrap();
    let head = &server.heads()[0];
    for name in ["connection", "x-drop", "te", "upgrade", "proxy-authorization", "keep-alive"] {
        assert_eq!(field(head, name), None, "{head}");
    }
    assert_eq!(field(head, "x-keep").unwrap(), "1");
    let names: Vec<&str> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x-kept", "content-length"]);
}

#[tokio::test]
async fn other_schemes_and_urls_that_are_none_are_refused() {
    let server = Server::saying("reached");
    let scene = scene(&server);
    for url in
        ["file:///etc/passwd", "ftp://good.test/", "good.test", "http://", "data:,x", "http://good.test:0/"]
    {
        assert_eq!(code(scene.get(url).await), Code::BadInput, "{url}");
    }
}

#[tokio::test]
async fn an_answer_with_an_endless_head_is_broken_off() {
    let server = Server::answering(|_| format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1_000_000)));
    let scene = scene(&server);
    assert_eq!(code(scene.get(&format!("http://good.test:{}/", server.port())).await), Code::Failed);
}

#[tokio::test]
async fn half_an_answer_is_no_answer() {
    let server = Server::answering(|_| "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".into());
    let scene = scene(&server);
    assert_eq!(code(scene.get(&format!("http://good.test:{}/", server.port())).await), Code::Failed);
}
