use proptest::prelude::*;

use super::*;
use crate::approval::{
    Answer, ApprovalOutcome, ApprovalRequest, ApprovalRequestId, Binding, By, Choice, Ignored, Part,
    RerunRisk, RuleId, Subject, TurnId,
};
use crate::denial::Target;
use crate::escalate::Grant;
use crate::{AbsPath, PolicyId, Text};

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn id() -> ApprovalRequestId {
    ApprovalRequestId::new("a").unwrap()
}

fn request(words: Vec<Vec<u8>>, text: String) -> Event {
    let argv: Vec<Text> = words.into_iter().map(Text::from).collect();
    let grant = Grant::one(Target::Write(AbsPath::new("/data").unwrap()));
    let cwd = AbsPath::root();
    let request = ApprovalRequest {
        id: id(),
        turn: TurnId::new("t").unwrap(),
        subject: Subject::Escalation { argv, cwd, grant, directories: Vec::new(), denials: Vec::new() },
        binding: Binding::connect(&text, 1, &PolicyId::of(b"")),
        justification: Some(text),
        rerun: RerunRisk::RanBefore { attempts: 1, could_write: vec![AbsPath::root()] },
        choices: vec![Choice::AllowOnce, Choice::Reject],
    };
    Event::Asked { request: Box::new(request), limit_ms: 60_000, joins: Some(id()) }
}

fn event() -> impl Strategy<Value = Event> {
    let words = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5), 0..3);
    let parts = vec![Part::File(AbsPath::new("/ws/s").unwrap()), Part::Argv];
    let reason = "\\PC{0,9}|\",\"hash\":\"|\n";
    prop_oneof![
        (words, reason).prop_map(|(words, text)| request(words, text)),
        reason.prop_map(|reason| Event::Decided {
            id: id(),
            outcome: ApprovalOutcome::Rejected { reason },
            by: By::Approver
        }),
        reason.prop_map(|boot| Event::SessionOpened { session: session(), boot }),
        Just(Event::SessionRevoked {}),
        Just(Event::Ignored { id: id(), why: Ignored::Drift { parts } }),
        Just(Event::Decided {
            id: id(),
            outcome: ApprovalOutcome::AllowedByRule { rule: RuleId::new("r").unwrap() },
            by: By::Rule
        }),
        Just(Event::Used { id: id(), binding: Digest::of(b"") }),
    ]
}

/// Each line, and the head after each.
fn lines(events: &[Event]) -> (Vec<String>, Vec<Head>) {
    let mut heads = vec![Head::start(&session())];
    let mut lines = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let nanos = u64::try_from(at).unwrap();
        let (line, head) = heads[at].next(event, "2026-01-01T00:00:00.000Z", Duration::from_nanos(nanos));
        lines.push(line);
        heads.push(head);
    }
    (lines, heads)
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(events in events()) {
        let (lines, heads) = lines(&events);
        prop_assert!(lines.iter().all(|line| line.matches('\n').count() == 1));
        let log = lines.concat();
        let trail = heads.last().unwrap().verify(&session(), log.as_bytes());
        prop_assert_eq!(&trail.faults, &vec![]);
        prop_assert_eq!(trail.length, log.len());
        prop_assert_eq!(trail.entries.into_iter().map(|entry| entry.event).collect::<Vec<_>>(), events);
    }

    #[test]
    fn a_changed_byte_shows(events in events(), at: prop::sample::Index, to: u8) {
        let (lines, heads) = lines(&events);
        let mut log = lines.concat().into_bytes();
        let at = at.index(log.len());
        prop_assume!(log[at] != to);
        log[at] = to;
        prop_assert!(!heads.last().unwrap().verify(&session(), &log).faults.is_empty());
    }

    #[test]
    fn what_is_missing_shows(events in events(), from: prop::sample::Index, to: prop::sample::Index) {
        let (lines, heads) = lines(&events);
        let log = lines.concat();
        let (from, to) = (from.index(log.len() + 1), to.index(log.len() + 1));
        prop_assume!(from < to);
        let cut = [&log.as_bytes()[..from], &log.as_bytes()[to..]].concat();
        prop_assert!(!heads.last().unwrap().verify(&session(), &cut).faults.is_empty());
    }

    #[test]
    fn lines_that_are_moved_or_doubled_show(events in events(), from: prop::sample::Index, to: prop::sample::Index) {
        let (mut lines, heads) = lines(&events);
        let line = lines[from.index(lines.len())].clone();
        lines.insert(to.index(lines.len() + 1), line);
        prop_assert!(!heads.last().unwrap().verify(&session(), lines.concat().as_bytes()).faults.is_empty());
    }

    #[test]
    fn no_log_panics(bytes: Vec<u8>, tail in "\\PC*") {
        let (lines, heads) = lines(&[Event::SessionRevoked {}]);
        for log in [bytes, [lines[0].as_bytes(), tail.as_bytes()].concat()] {
            let _ = heads[1].verify(&session(), &log);
        }
    }
}

#[test]
fn each_fault_is_named() {
    let (lines, heads) =
        lines(&[Event::SessionRevoked {}, Event::SessionRevoked {}, Event::SessionRevoked {}]);
    let faults = |log: String, head: &Head| head.verify(&session(), log.as_bytes()).faults;
    let [one, two, three] = &lines[..] else { panic!() };
    let (end, all) = (&heads[3], lines.concat());
    assert_eq!(faults(format!("{one}{two}"), end), [Fault::Truncated { expected: 3, found: 2 }]);
    assert_eq!(faults(String::new(), end), [Fault::Truncated { expected: 3, found: 0 }]);
    let broken = Fault::Broken { line: 2, expected: 2, found: 3 };
    assert_eq!(faults(format!("{one}{three}"), &heads[1]), [broken]);
    let edited = format!("{one}{}{three}", two.replace("revoked", "opened!"));
    assert_eq!(faults(edited, &heads[1])[0], Fault::Edited { line: 2 });
    assert_eq!(faults(all.trim_end().to_owned(), &heads[2]), [Fault::Torn { line: 3 }]);
    let skipped =
        Head { sequence: 4, ..heads[0].clone() }.next(&Event::SessionRevoked {}, "", Duration::ZERO).0;
    assert_eq!(faults(skipped, &heads[0]), [Fault::Broken { line: 1, expected: 1, found: 5 }]);
    // Whoever makes the chain anew has another head.
    let other = self::lines(&[Event::ModeSet { mode: crate::approval::SessionMode::ReadOnly }]).0.concat();
    assert_eq!(faults(other, &heads[1]), [Fault::OtherHead { sequence: 1 }]);
    // A head that was not written yet is no fault; the log of another session is one.
    assert_eq!(faults(all.clone(), &heads[2]), []);
    let foreign = SessionId::new("other").unwrap();
    assert!(!Head::start(&foreign).verify(&foreign, all.as_bytes()).faults.is_empty());
}

#[test]
fn an_event_or_a_version_that_is_not_known_is_an_error() {
    let head = Head::start(&session());
    let (line, _) = head.next(&Event::SessionRevoked {}, "", Duration::ZERO);
    let sealed = |body: &str| format!("{body}{SEAL}{}{END}\n", Digest::of(body.as_bytes()));
    let body = line.rsplit_once(SEAL).unwrap().0;
    assert_eq!(sealed(body), line);
    let later =
        [body.replace("session/revoked", "session/limited"), body.replace("\"version\":1", "\"version\":2")];
    for body in later {
        let trail = Trail::read(&session(), sealed(&body).as_bytes());
        assert!(matches!(trail.faults[..], [Fault::Malformed { line: 1, .. }]), "{:?}", trail.faults);
    }
    // What is added to a line later does not matter.
    let more = format!("{body},\"later\":1");
    assert_eq!(Trail::read(&session(), sealed(&more).as_bytes()).faults, []);
}

#[test]
fn answers_have_the_documented_form() {
    let form = |answer: Answer| serde_json::to_string(&answer).unwrap();
    assert_eq!(form(Answer::AllowOnce), r#"{"answer":"allow-once"}"#);
    assert_eq!(form(Answer::Reject { reason: "no".into() }), r#"{"answer":"reject","reason":"no"}"#);
    let bare: Answer = serde_json::from_str(r#"{"answer":"reject"}"#).unwrap();
    assert_eq!(bare, Answer::Reject { reason: String::new() });
}
