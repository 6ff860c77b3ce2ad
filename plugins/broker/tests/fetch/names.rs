//! Where names lead.

use std::net::IpAddr;
use std::sync::Arc;

use confine_core::egress::tool::Code;

use crate::scene::{Names, Setting, at, code, patterns};
use crate::server::{Server, ok};

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[tokio::test]
async fn case_i04_a_name_with_one_address_that_is_not_public_is_not_reached() {
    let server = Server::saying("reached");
    let port = server.port();
    let bad = [
        "127.0.0.1",
        "169.254.169.254",
        "10.1.2.3",
        "192.168.0.1",
        "100.64.0.1",
        "0.0.0.0",
        "::1",
        "::ffff:127.0.0.1",
        "fd00::1",
        "fe80::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ];
    for private in bad {
        for addresses in [vec![private], vec!["93.184.216.34", private], vec![private, "93.184.216.34"]] {
            let addresses: Vec<IpAddr> = addresses.into_iter().map(address).collect();
            let names = Arc::new(Names { answers: vec![("ok.test", vec![addresses])], ..Names::default() });
            let setting = Setting::reaching(&at(port, &["ok.test"]));
            let scene = setting.scene_with(|builder| builder.resolver(names.clone()));
            let answer = scene.get(&format!("http://ok.test:{port}/")).await;
            assert_eq!(code(answer), Code::Denied, "{private}");
            assert_eq!(names.asked.lock().unwrap().len(), 1);
        }
    }
    assert_eq!(server.heads(), [""; 0]);
    let names = Names { answers: vec![("ok.test", vec![vec![address("127.0.0.1")]])], ..Names::default() };
    let granting = Setting::reaching(&at(port, &["ok.test", "127.0.0.1"]));
    let twin = granting.scene_with(|builder| builder.resolver(Arc::new(names)));
    assert_eq!(twin.get(&format!("http://ok.test:{port}/")).await.unwrap().body, "reached");
}

#[tokio::test]
async fn case_i04_a_name_is_resolved_once_and_the_address_that_was_vetted_is_dialled() {
    let vetted = Server::on(address("127.0.0.2"), |_| ok("vetted"));
    let port = vetted.port();
    let answers = vec![vec![address("127.0.0.2")], vec![address("127.0.0.1")]];
    let names = Arc::new(Names { answers: vec![("ok.test", answers)], ..Names::default() });
    let setting = Setting::reaching(&at(port, &["ok.test", "127.0.0.2"]));
    let scene = setting.scene_with(|builder| builder.resolver(names.clone()));
    let url = format!("http://ok.test:{port}/");
    assert_eq!(scene.get(&url).await.unwrap().body, "vetted");
    assert_eq!(names.asked.lock().unwrap().len(), 1);
    assert_eq!(scene.kept.connections()[0].address, Some(address("127.0.0.2")));
    assert_eq!(code(scene.get(&url).await), Code::Denied, "the second answer is vetted anew");
}

#[tokio::test]
async fn a_static_name_grants_its_address_to_itself_alone() {
    let server = Server::saying("reached");
    let port = server.port();
    let names = Names { answers: vec![("evil.test", vec![vec![address("127.0.0.1")]])], ..Names::default() };
    let setting = Setting::reaching(&at(port, &["dev.test", "evil.test"])).named(&["dev.test"]);
    let scene = setting.scene_with(|builder| builder.resolver(Arc::new(names)));
    assert_eq!(scene.get(&format!("http://dev.test:{port}/")).await.unwrap().body, "reached");
    assert_eq!(code(scene.get(&format!("http://evil.test:{port}/")).await), Code::Denied);
}

#[tokio::test]
async fn an_address_is_reached_only_where_it_is_written_as_one() {
    let server = Server::saying("reached");
    let port = server.port();
    let scene = Setting::reaching(&at(port, &["127.0.0.1"])).scene();
    for host in ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]"] {
        assert_eq!(scene.get(&format!("http://{host}:{port}/")).await.unwrap().status, 200, "{host}");
    }
    let without = Setting::reaching(&at(port, &["github.com"])).scene();
    for host in ["127.0.0.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]"] {
        assert_eq!(code(without.get(&format!("http://{host}:{port}/")).await), Code::Denied, "{host}");
    }
}

#[tokio::test]
async fn an_address_that_is_denied_is_reached_by_no_name() {
    let server = Server::saying("reached");
    let port = server.port();
    let mut denying = Setting::reaching(&at(port, &["dev.test"])).named(&["dev.test"]);
    denying.rules.deny = patterns(&["127.0.0.0/8".to_owned() + &format!(":{port}")]);
    let url = format!("http://dev.test:{port}/");
    assert_eq!(code(denying.scene().get(&url).await), Code::Denied);
    let twin = Setting::reaching(&at(port, &["dev.test"])).named(&["dev.test"]).scene();
    assert_eq!(twin.get(&url).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_server_on_ipv6_is_reached_by_a_static_name() {
    let server = Server::on(address("::1"), |_| ok("six"));
    let mut setting = Setting::reaching(&at(server.port(), &["six.test"]));
    setting.names.push(("six.test".into(), address("::1")));
    let answer = setting.scene().get(&format!("http://six.test:{}/", server.port())).await;
    assert_eq!(answer.unwrap().body, "six");
}
