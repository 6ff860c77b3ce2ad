use super::*;
use confine_core::approval::{ApprovalRequestId, Binding, Digest, TurnId};
use confine_core::denial::{Evidence, Source, Target};
use confine_core::escalate::Grant;
use confine_core::visible::is_plain;
use confine_core::{AbsPath, Effect, Layer};
use proptest::prelude::*;

fn path(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn denial(target: &str, line: &str) -> Denial {
    Denial {
        effect: Effect::FsWrite,
        target: Some(Target::Write(path(target))),
        layer: Some(Layer::Mount),
        certainty: Certainty::Likely,
        evidence: Evidence { source: Source::Stderr, line: Some(line.into()), errno: Some("EROFS".into()) },
        grant: Some(Target::Precreate(path(target))),
    }
}

fn request(subject: Subject) -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalRequestId::new("1").unwrap(),
        turn: TurnId::new("1").unwrap(),
        subject,
        binding: Binding::tool("", &Digest::of(b""), &serde_json::Value::Null),
        justification: None,
        rerun: RerunRisk::NotStarted,
        choices: vec![Choice::AllowOnce, Choice::Reject, Choice::Cancel],
    }
}

fn escalation(words: &[&str]) -> ApprovalRequest {
    let argv = words.iter().map(|word| Text::from(*word)).collect();
    let line = "sh: 1: cannot create /var/tmp/y: Read-only file system";
    let grant = Grant::one(Target::Precreate(path("/var/tmp/y")));
    let denials = vec![denial("/var/tmp/y", line)];
    let rerun = RerunRisk::RanBefore { attempts: 1, could_write: vec![path("/home/u/ws")] };
    ApprovalRequest {
        rerun,
        ..request(Subject::Escalation {
            argv,
            cwd: path("/home/u/ws"),
            grant,
            directories: Vec::new(),
            denials,
        })
    }
}

#[test]
fn an_escalation_shows_what_runs_why_and_what_it_would_get() {
    let expected = "\
confine: a command was denied something. May it run again with more?
  command   sh -c 'echo in > /var/tmp/y'
  in        /home/u/ws
  denied    write to /var/tmp/y, by the mount layer (likely, by its own words only)
            it said: sh: 1: cannot create /var/tmp/y: Read-only file system
  grant     create and write /var/tmp/y
  policy    + filesystem.precreate = [\"/var/tmp/y\"]
  so far    it ran once, and would begin again; what it did stays done
            it could write: /home/u/ws
  [yes]     yes, this once
  [no]      no; also Enter alone, and the end of the time
  [cancel]  stop; also Ctrl-C
";
    assert_eq!(question(&escalation(&["sh", "-c", "echo in > /var/tmp/y"])), expected);
}

#[test]
fn a_directory_is_granted_with_all_below_and_a_record_is_no_mere_word() {
    let mut request = escalation(&["true"]);
    let Subject::Escalation { grant, directories, denials, .. } = &mut request.subject else { panic!() };
    *grant = Grant::Grants(["/a", "/b"].map(|at| Target::Write(path(at))).to_vec());
    *directories = vec![path("/b")];
    denials[0].evidence = Evidence { source: Source::Record, line: None, errno: None };
    let text = question(&request);
    assert!(text.contains("  grant     write /a\n  grant     write /b and all below\n"), "{text}");
    assert!(text.contains("by the mount layer (likely)\n"), "{text}");
}

#[test]
fn a_command_shows_what_each_answer_covers() {
    let argv = ["cargo", "test", "a b"].map(Text::from).to_vec();
    let prefix = Cover::Prefix { argv: ["cargo", "test"].map(Text::from).to_vec() };
    let choices = vec![
        Choice::AllowOnce,
        Choice::AllowForSession { covers: prefix },
        Choice::AllowAlways { covers: Cover::Exact },
        Choice::Reject,
    ];
    let justification = Some("the user\nsaid so".to_owned());
    let request = ApprovalRequest {
        choices,
        justification,
        ..request(Subject::Command { argv, cwd: path("/home/u/ws") })
    };
    let expected = "\
confine: may this command run?
  command   cargo test 'a b'
  in        /home/u/ws
  it says   the user\\nsaid so
  [yes]     yes, this once
  [session] yes, and whatever begins with cargo test for this session
  [always]  yes, and the very same from now on under every policy, by a rule
  [no]      no; also Enter alone, and the end of the time
";
    assert_eq!(question(&request), expected);
}

#[test]
fn a_connection_and_a_tool_are_named() {
    let connect = question(&request(Subject::Connect { host: "exam\u{200b}ple.org".into(), port: 443 }));
    assert!(connect.contains("  connect   exam\\u{200b}ple.org port 443\n"), "{connect}");
    let input = serde_json::json!({ "path": "/a" });
    let tool = question(&request(Subject::Tool { name: "fetch".into(), input, read_only: true }));
    assert!(tool.contains("  tool      fetch\n  input     {\"path\":\"/a\"}\n"), "{tool}");
}

#[test]
fn every_grant_has_words_and_a_difference() {
    let at = || path("/a");
    let grants = [
        (Grant::one(Target::Read(at())), "filesystem.read = [\"/a\"]"),
        (Grant::one(Target::Write(at())), "filesystem.write = [\"/a\"]"),
        (Grant::one(Target::Socket(at())), "filesystem.sockets = [\"/a\"]"),
        (Grant::one(Target::Device(at())), "filesystem.devices = [\"/a\"]"),
        (Grant::one(Target::Git("open".into())), "filesystem.git = \"open\""),
        (Grant::Mode(confine_core::policy::Mode::WorkspaceWrite), "mode = \"workspace-write\""),
    ];
    for (grant, line) in grants {
        assert_eq!(grant::difference(&grant), [line]);
        assert_eq!(grant.words(&[]).len(), 1);
    }
}

#[test]
fn a_long_command_is_cut_in_its_middle_and_shown_whole_when_asked() {
    let long = "x".repeat(5_000);
    let request = escalation(&["sh", "-c", &format!("begin {long} end")]);
    let text = question(&request);
    assert!(is_cut(&request) && text.contains("sh -c 'begin x") && text.contains("x end'"), "{text}");
    assert!(text.contains("characters not shown ...]") && text.contains("[whole]"), "{text}");
    assert!(text.contains("filesystem.precreate") && text.chars().count() < 3_000);
    assert!(whole(&request).contains(&long));
    assert!(!is_cut(&escalation(&["true"])) && !question(&escalation(&["true"])).contains("[whole]"));
}

#[test]
fn the_last_line_counts_down_and_shows_what_is_typed() {
    let choices = [Choice::AllowOnce, Choice::Reject, Choice::Cancel];
    let line = |ms| status(&choices, Duration::from_millis(ms), "ye", 80);
    assert_eq!(line(60_000), "yes/no/cancel? (no in 60 s) ye");
    assert_eq!(line(59_001), "yes/no/cancel? (no in 60 s) ye");
    assert_eq!(line(1), "yes/no/cancel? (no in 1 s) ye");
    assert_eq!(line(0), "yes/no/cancel? (no in 0 s) ye");
}

#[test]
fn the_last_line_stays_in_one_row() {
    let choices = [Choice::AllowOnce, Choice::Reject, Choice::Cancel];
    let line = |columns| status(&choices, Duration::from_secs(60), "cancel", columns);
    assert_eq!(line(35), "yes/no/cancel? (no in 60 s) cancel");
    assert_eq!(line(34), "(no in 60 s) cancel");
    assert_eq!(line(20), "(no in 60 s) cancel");
    assert_eq!(line(19), "(no in 60 s)");
    for columns in 0..40 {
        assert!(line(columns).len() < columns.max(1), "{columns}");
    }
}

proptest! {
    #[test]
    fn nothing_that_others_chose_reaches_the_terminal_or_makes_a_line(
        words in prop::collection::vec(any::<String>(), 1..4), name in "[^/\0]{1,9}", line: String, claim: String,
    ) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let place = AbsPath::new(format!("/{name}")).unwrap_or_else(|_| AbsPath::root());
        let mut request = escalation(&words);
        request.justification = Some(claim);
        if let Subject::Escalation { cwd, grant, denials, .. } = &mut request.subject {
            *cwd = place.clone();
            *grant = Grant::one(Target::Write(place.clone()));
            *denials = vec![denial(&format!("/x{}", place.as_path().display()), &line)];
        }
        let text = question(&request);
        prop_assert!(text.chars().all(|c| c == '\n' || is_plain(c)), "{text:?}");
        prop_assert_eq!(text.lines().count(), if place == AbsPath::root() { 12 } else { 13 });
        prop_assert!(text.lines().skip(1).all(|line| line.starts_with("  ")));
    }
}
