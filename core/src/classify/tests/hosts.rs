//! What is about other hosts.

use super::*;

#[test]
fn loopback_alone_says_little_and_another_host_says_enough() {
    let verdict = |line: &str| Question::of("bwrap").ask(line.as_bytes()).verdict;
    let denied = Question::of("bwrap").ask(b"curl: (6) Could not resolve host: example.org");
    assert_eq!(denied.verdict, Verdict::Denied);
    let named = Some(Target::Connect("example.org".to_owned()));
    assert_eq!((&denied.denials[0].target, &denied.denials[0].grant), (&named, &None), "it takes a proxy");
    let loopback = "curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server";
    assert_eq!(verdict(loopback), Verdict::Failed);
    let mut open = Question::of("bwrap");
    open.policy.net = NetPlan::Open;
    assert_eq!(open.ask(b"curl: (6) Could not resolve host: example.org").verdict, Verdict::Failed);
}
