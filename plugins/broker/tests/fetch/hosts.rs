//! Which hosts are meant, through all of a request.

use confine_broker::audit::Decision;
use confine_core::egress::host::HostPattern;
use confine_core::egress::tool::Code;

use crate::scene::{Setting, at, code, patterns};
use crate::server::{Server, field};

const LOOK_ALIKES: &[&str] = &["evilgithub.com", "github.com.evil.com", "xexample.com", "example.com"];

#[tokio::test]
async fn case_i01_labels_are_whole_and_hosts_are_normalised_once() {
    let server = Server::saying("reached");
    let port = server.port();
    let hosts = at(port, &["github.com", "*.example.com"]);
    let everything = ["github.com", "a.b.example.com", "evil.com"];
    let scene = Setting::reaching(&hosts).named(LOOK_ALIKES).named(&everything).scene();
    for host in LOOK_ALIKES {
        assert_eq!(code(scene.get(&format!("http://{host}:{port}/")).await), Code::Denied, "{host}");
    }
    let user = scene.get(&format!("http://github.com@evil.com:{port}/")).await;
    assert_eq!(code(user), Code::BadInput);
    let user = scene.get(&format!("http://user@github.com:{port}/")).await;
    assert_eq!(code(user), Code::BadInput);
    let encoded = scene.get(&format!("http://github.com%2eevil.com:{port}/")).await;
    assert_eq!(code(encoded), Code::Denied);
    assert_eq!(server.heads(), [""; 0], "none of them was reached");
    for host in ["github.com", "GITHUB.COM", "github.com.", "a.b.example.com", "A.B.Example.com."] {
        assert_eq!(scene.get(&format!("http://{host}:{port}/")).await.unwrap().body, "reached", "{host}");
    }
    let said: Vec<_> = server.heads().iter().map(|head| field(head, "host").unwrap()).collect();
    let github = format!("github.com:{port}");
    let example = format!("a.b.example.com:{port}");
    assert_eq!(said, [&github, &github, &github, &example, &example].map(String::clone));
}

#[tokio::test]
async fn case_i01_what_is_declared_and_not_allowed_is_not_reached_either() {
    let server = Server::saying("reached");
    let port = server.port();
    let declared = at(port, &["github.com", "evilgithub.com", "*.evil.com"]);
    let names = ["github.com", "evilgithub.com", "github.com.evil.com"];
    let setting = || Setting::reaching(&declared).named(&names);
    let scene = setting().allowing(&at(port, &["github.com"])).scene();
    for host in ["evilgithub.com", "github.com.evil.com"] {
        assert_eq!(code(scene.get(&format!("http://{host}:{port}/")).await), Code::Denied, "{host}");
    }
    assert!(scene.kept.decisions().iter().all(|decision| matches!(decision, Decision::Refused(_))));
    assert_eq!(server.heads(), [""; 0]);
    assert_eq!(scene.get(&format!("http://github.com:{port}/")).await.unwrap().status, 200);
    let twin = setting().scene();
    for host in ["evilgithub.com", "github.com.evil.com"] {
        assert_eq!(twin.get(&format!("http://{host}:{port}/")).await.unwrap().status, 200, "{host}");
    }
}

#[tokio::test]
async fn case_i02_an_exact_host_covers_nothing_below_it() {
    let server = Server::saying("reached");
    let port = server.port();
    let names = ["api.github.com", "evil.api.github.com"];
    let scene = Setting::reaching(&at(port, &["api.github.com"])).named(&names).scene();
    let below = scene.get(&format!("http://evil.api.github.com:{port}/")).await;
    assert_eq!(code(below), Code::Denied);
    assert_eq!(server.heads(), [""; 0]);
    assert_eq!(scene.get(&format!("http://api.github.com:{port}/")).await.unwrap().status, 200);
    let twin = Setting::reaching(&at(port, &["*.api.github.com"])).named(&names).scene();
    assert_eq!(twin.get(&format!("http://evil.api.github.com:{port}/")).await.unwrap().status, 200);
    for everything in ["com", "*", "", "*.com"] {
        assert!(HostPattern::parse(everything).is_err(), "`{everything}`");
    }
}

#[tokio::test]
async fn another_port_and_another_method_are_not_declared() {
    let (server, other) = (Server::saying("reached"), Server::saying("reached"));
    let scene = Setting::reaching(&at(server.port(), &["github.com"])).named(&["github.com"]).scene();
    let elsewhere = scene.get(&format!("http://github.com:{}/", other.port())).await;
    assert_eq!(code(elsewhere), Code::Denied);
    let url = format!("http://github.com:{}/", server.port());
    let post = serde_json::json!({"request": {"method": "POST", "url": url}, "body": "x"});
    assert_eq!(code(scene.ask(post.clone()).await), Code::Denied);
    let trace = serde_json::json!({"request": {"method": "TRACE", "url": url}});
    assert_eq!(code(scene.ask(trace).await), Code::BadInput);
    assert_eq!((server.heads().len(), other.heads().len()), (0, 0));
    let both = Setting::reaching(&at(server.port(), &["github.com"])).named(&["github.com"]);
    assert_eq!(both.methods(&["GET", "POST"]).scene().ask(post).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_rule_that_denies_beats_those_that_allow() {
    let server = Server::saying("reached");
    let hosts = at(server.port(), &["*.example.com"]);
    let setting = || Setting::reaching(&hosts).named(&["a.example.com", "b.example.com"]);
    let mut denying = setting();
    denying.rules.deny = patterns(&at(server.port(), &["a.example.com"]));
    let scene = denying.scene();
    let (denied, allowed) = ("a.example.com", "b.example.com");
    let url = |host: &str| format!("http://{host}:{}/", server.port());
    assert_eq!(code(scene.get(&url(denied)).await), Code::Denied);
    assert_eq!(scene.get(&url(allowed)).await.unwrap().status, 200);
    assert_eq!(setting().scene().get(&url(denied)).await.unwrap().status, 200);
    assert_eq!(scene.kept.calls(), 2);
}
