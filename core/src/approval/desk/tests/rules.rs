//! One rule each, with its legitimate twin.

use super::*;
use crate::approval::{Cover, PresetName, Rule};
use crate::denial::Target;
use crate::escalate::Grant;

type Change = fn(&mut Execution);

const LS: &[&str] = &["ls", "-l"];

#[test]
fn a_yes_is_good_for_one_start() {
    let mut one = Session::new(ASKS);
    assert!(matches!(one.ask("a", LS), Step::Prompt(_)));
    assert_eq!(one.consume("a", &execution(LS)), Err(Ignored::Undecided));
    assert_eq!(decided(&one.answer("a", Answer::AllowOnce)), [("a", &ApprovalOutcome::AllowedOnce)]);
    assert_eq!(one.consume("a", &execution(LS)).unwrap().id(), &id("a"));
    assert_eq!(one.consume("a", &execution(LS)), Err(Ignored::Used));
    assert_eq!(one.answer("a", Answer::AllowOnce), [Settled::Ignored(id("a"), Ignored::Used)]);
    assert_eq!(one.consume("forged", &execution(LS)), Err(Ignored::Unknown));
    assert_eq!(one.answer("forged", Answer::AllowOnce), [Settled::Ignored(id("forged"), Ignored::Unknown)]);
}

#[test]
fn whatever_changed_is_named_and_ends_the_answer() {
    let file = |content: &[u8]| Measured {
        path: AbsPath::new("/ws/s.sh").unwrap(),
        content: Some(Digest::of(content)),
    };
    let mut asked = execution(&["sh", "s.sh"]);
    asked.files = vec![file(b"one")];
    asked.commands = asked.files.clone();
    asked.stdin = Some(Digest::of(b"echo"));
    let path = asked.files[0].path.clone();
    let changes: [(Change, Vec<Part>); 11] = [
        (|it| it.argv.push("x".into()), vec![Part::Argv]),
        (|it| it.cwd = AbsPath::root(), vec![Part::Cwd]),
        (|it| drop(it.environment.insert("LANG".into(), "C".into())), vec![Part::Environment]),
        (
            |it| drop(it.environment.insert("LD_PRELOAD".into(), "x".into())),
            vec![Part::Environment, Part::Variables],
        ),
        (|it| it.program.as_mut().unwrap().content = None, vec![Part::Program]),
        (|it| it.files[0].content = Some(Digest::of(b"two")), vec![Part::File(path.clone())]),
        (|it| it.commands[0].content = Some(Digest::of(b"two")), vec![Part::Command(path.clone())]),
        (|it| it.stdin = Some(Digest::of(b"rm")), vec![Part::Stdin]),
        (|it| it.stdin = None, vec![Part::Stdin]),
        (|it| it.policy = PolicyId::of(b"other"), vec![Part::Policy]),
        (|it| it.grant = Some(Grant::one(Target::Write(AbsPath::root()))), vec![Part::Grant]),
    ];
    for (change, parts) in changes {
        let mut one = Session::new(ASKS);
        one.ask_for(ask("a", "t", &asked), &Memory::default());
        one.answer("a", Answer::AllowOnce);
        let mut now = asked.clone();
        change(&mut now);
        let drift = Ignored::Drift { parts };
        assert_eq!(one.consume("a", &now), Err(drift.clone()));
        assert_eq!(one.consume("a", &asked), Err(drift), "changed back");
        let mut twin = Session::new(ASKS);
        twin.ask_for(ask("a", "t", &asked), &Memory::default());
        twin.answer("a", Answer::AllowOnce);
        assert!(twin.consume("a", &asked.clone()).is_ok());
    }
    assert_eq!(
        Ignored::Drift { parts: vec![Part::File(path)] }.to_string(),
        "the file `/ws/s.sh` changed since it was asked"
    );
}

#[test]
fn an_answer_at_the_deadline_is_late() {
    for (after, is_late) in [(59, false), (60, true), (61, true)] {
        let mut one = Session::new(ASKS);
        one.ask("a", LS);
        assert_eq!(one.desk.next_deadline(), Some(second(61)));
        one.now += second(after);
        let settled = one.answer("a", Answer::AllowOnce);
        let outcome = if is_late { ApprovalOutcome::TimedOut } else { ApprovalOutcome::AllowedOnce };
        assert_eq!(decided(&settled), [("a", &outcome)]);
        assert_eq!(settled.contains(&Settled::Ignored(id("a"), Ignored::Late)), is_late);
        assert_eq!(one.consume("a", &execution(LS)).is_ok(), !is_late);
    }
}

#[test]
fn never_asks_nobody_and_takes_no_answer() {
    let mut one = Session::new((SessionMode::WorkspaceWrite, ApprovalPolicy::Never));
    let step = one.ask("a", LS);
    assert!(matches!(step, Step::Decided(ApprovalOutcome::Rejected { .. }, By::Service)), "{step:?}");
    one.answer("a", Answer::AllowOnce);
    assert_eq!(one.consume("a", &execution(LS)), Err(Ignored::NotAllowed));
    // What waits when it is switched on is refused, and a rule or an earlier yes does not get round it.
    let mut two = Session::new(ASKS);
    two.ask("a", LS);
    two.answer("a", Answer::AllowForSession);
    two.ask("b", &["rm", "d"]);
    let settled = two.desk.set_approval(ApprovalPolicy::Never, two.now, &mut two.log).unwrap();
    assert!(matches!(decided(&settled)[..], [("b", ApprovalOutcome::Rejected { .. })]));
    assert!(matches!(two.ask("c", LS), Step::Decided(ApprovalOutcome::Rejected { .. }, By::Service)));
    two.desk.set_approval(ApprovalPolicy::Ask, two.now, &mut two.log).unwrap();
    assert_eq!(two.ask("d", LS), Step::Decided(ApprovalOutcome::AllowedForSession, By::Service));
}

#[test]
fn a_no_is_remembered_exactly_and_three_in_a_row_end_the_questions_of_a_turn() {
    let mut one = Session::new(ASKS);
    one.ask("a", LS);
    one.answer("a", no());
    let again = ApprovalOutcome::Rejected { reason: "no".into() };
    assert_eq!(one.ask("b", LS), Step::Decided(again, By::Service));
    for (name, words) in [("c", ["ls", "/"]), ("d", ["ls", "/a"])] {
        assert!(matches!(one.ask(name, &words), Step::Prompt(_)));
        one.answer(name, no());
    }
    let Step::Decided(ApprovalOutcome::Rejected { reason }, By::Service) = one.ask("e", &["ls", "/b"]) else {
        panic!("asked again")
    };
    assert!(reason.contains("3 refusals"), "{reason}");
    one.desk.open_turn(turn("u"), one.now, &mut one.log).unwrap();
    assert!(matches!(
        one.ask_for(ask("f", "u", &execution(&["ls", "/b"])), &Memory::default()),
        Step::Prompt(_)
    ));
    // A yes between ends the row.
    let mut two = Session::new(ASKS);
    for (name, answer) in
        [("a", no()), ("b", no()), ("c", Answer::AllowOnce), ("d", no()), ("e", Answer::Cancel)]
    {
        assert!(matches!(two.ask(name, &["ls", name]), Step::Prompt(_)), "{name}");
        two.answer(name, answer);
    }
    assert!(matches!(two.ask("f", &["ls", "f"]), Step::Prompt(_)));
}

#[test]
fn nobody_there_is_no_refusal_in_a_row() {
    let mut one = Session::new(ASKS);
    for name in ["a", "b", "c", "d"] {
        assert!(matches!(one.ask(name, &["ls", name]), Step::Prompt(_)), "{name}");
        let nobody = Failure::Unavailable { reason: String::new() };
        let settled = one.desk.fail(&id(name), nobody, one.now, &mut one.log).unwrap();
        let outcome = ApprovalOutcome::Unavailable { reason: "approval needed, non-interactive".into() };
        assert_eq!(decided(&settled), [(name, &outcome)]);
    }
}

#[test]
fn the_same_question_is_put_once_and_a_yes_for_once_answers_the_first() {
    let mut one = Session::new(ASKS);
    assert!(matches!(one.ask("a", LS), Step::Prompt(_)));
    assert_eq!((one.ask("b", LS), one.ask("c", LS)), (Step::Wait, Step::Wait));
    assert_eq!(one.answer("b", Answer::AllowOnce), [Settled::Ignored(id("b"), Ignored::NotAsked)]);
    one.now += second(59);
    let settled = one.answer("a", Answer::AllowOnce);
    assert_eq!(decided(&settled), [("a", &ApprovalOutcome::AllowedOnce)]);
    assert!(matches!(&settled[1], Settled::Prompt(request) if request.id == id("b")));
    assert_eq!(
        one.desk.next_deadline(),
        Some(one.now + LIMIT),
        "a question that is put now has its own time"
    );
    assert_eq!(decided(&one.answer("b", no())).len(), 2, "a no answers all");
    assert_eq!(one.desk.state.turns[&turn("t")].refusals, 1, "and is one no");
    assert!(one.consume("a", &execution(LS)).is_ok());
    assert!(one.consume("b", &execution(LS)).is_err());
    // Another justification is another question.
    let mut two = Session::new(ASKS);
    two.ask("a", LS);
    let other = Ask { justification: Some("please".into()), ..ask("b", "t", &execution(LS)) };
    assert!(matches!(two.ask_for(other, &Memory::default()), Step::Prompt(_)));
}

#[test]
fn a_yes_for_the_session_covers_what_was_shown_and_no_more() {
    let mut one = Session::new(ASKS);
    let Step::Prompt(request) = one.ask("a", &["cargo", "test", "-q"]) else { panic!() };
    let covers = Cover::Prefix { argv: vec!["cargo".into(), "test".into()] };
    assert!(request.choices.contains(&crate::approval::Choice::AllowForSession { covers }));
    one.answer("a", Answer::AllowForSession);
    let allowed = Step::Decided(ApprovalOutcome::AllowedForSession, By::Service);
    assert_eq!(one.ask("b", &["cargo", "test", "--doc"]), allowed);
    assert!(one.consume("b", &execution(&["cargo", "test", "--doc"])).is_ok());
    for (name, words) in
        [("c", &["cargo", "run"][..]), ("d", &["cargo"]), ("e", &["env", "A=1", "cargo", "test"])]
    {
        assert!(matches!(one.ask(name, words), Step::Prompt(_)), "{words:?}");
    }
    let changes: [Change; 4] = [
        |it| drop(it.environment.insert("RUSTC_WRAPPER".into(), "x".into())),
        |it| it.cwd = AbsPath::root(),
        |it| it.policy = PolicyId::of(b"other"),
        |it| it.program.as_mut().unwrap().path = AbsPath::new("/ws/cargo").unwrap(),
    ];
    for (name, change) in ["f", "g", "h", "i"].iter().zip(changes) {
        let mut other = execution(&["cargo", "test", "-q"]);
        change(&mut other);
        assert!(matches!(one.ask_for(ask(name, "t", &other), &Memory::default()), Step::Prompt(_)), "{name}");
    }
}

#[test]
fn always_is_one_rule_that_a_new_session_knows() {
    let words = ["sh", "-c", "A=\"\" uv run pytest"];
    let mut one = Session::new(ASKS);
    let Step::Prompt(request) = one.ask("a", &words) else { panic!() };
    let rule = Rule::of(&request, RuleId::new("r").unwrap()).unwrap();
    let text = Memory::with("", &rule).unwrap();
    let by_rule = ApprovalOutcome::AllowedByRule { rule: rule.id.clone() };
    let settled =
        one.desk.answer(&id("a"), Answer::AllowAlways, Some(rule.id), one.now, &mut one.log).unwrap();
    assert_eq!(decided(&settled), [("a", &by_rule)]);
    let memory = Memory::parse(&text).unwrap();
    let mut new = Session::new(ASKS);
    assert_eq!(new.ask_for(ask("a", "t", &execution(&words)), &memory), Step::Decided(by_rule, By::Rule));
    assert!(matches!(
        new.ask_for(ask("b", "t", &execution(&["sh", "-c", "uv run pytest"])), &memory),
        Step::Prompt(_)
    ));
    // Where none could be written it is good for once.
    let mut two = Session::new(ASKS);
    two.ask("a", &words);
    assert_eq!(decided(&two.answer("a", Answer::AllowAlways)), [("a", &ApprovalOutcome::AllowedOnce)]);
    assert!(matches!(two.ask("b", &words), Step::Prompt(_)));
}

#[test]
fn a_rule_is_for_one_executable_one_place_and_its_variables() {
    let words = ["uv", "run", "pytest"];
    let mut one = Session::new(ASKS);
    let Step::Prompt(request) = one.ask("a", &words) else { panic!() };
    let rule = Rule::of(&request, RuleId::new("r").unwrap()).unwrap();
    let memory = Memory::parse(&Memory::with("", &rule).unwrap()).unwrap();
    let changes: [(bool, Change); 6] = [
        (true, |it| drop(it.environment.insert("LANG".into(), "C".into()))),
        (true, |it| it.policy = PolicyId::of(b"other")),
        (false, |it| drop(it.environment.insert("LD_PRELOAD".into(), "x".into()))),
        (false, |it| it.cwd = AbsPath::root()),
        (false, |it| it.program.as_mut().unwrap().content = Some(Digest::of(b"other"))),
        (false, |it| it.program.as_mut().unwrap().path = AbsPath::new("/ws/uv").unwrap()),
    ];
    for (name, (is_allowed, change)) in ["b", "c", "d", "e", "f", "g"].iter().zip(changes) {
        let mut other = execution(&words);
        change(&mut other);
        let step = one.ask_for(ask(name, "t", &other), &memory);
        assert_eq!(
            matches!(step, Step::Decided(ApprovalOutcome::AllowedByRule { .. }, By::Rule)),
            is_allowed,
            "{name}"
        );
    }
    // One that somebody wrote for what is never offered allows nothing.
    let Step::Prompt(request) = one.ask("h", &["python3", "-"]) else { panic!() };
    assert!(Rule::of(&request, rule.id.clone()).is_none());
    let argv = vec!["python3".into(), "-".into()];
    let text = Memory::with("", &Rule { argv, rest: request.binding.rest(), ..rule }).unwrap();
    let memory = Memory::parse(&text).unwrap();
    let again = Ask { justification: Some("again".into()), ..ask("i", "t", &execution(&["python3", "-"])) };
    assert!(matches!(one.ask_for(again, &memory), Step::Prompt(_)));
}

#[test]
fn an_answer_that_was_not_offered_is_none() {
    let mut one = Session::new(ASKS);
    let mut more = execution(LS);
    more.grant = Some(Grant::one(Target::Write(AbsPath::new("/data").unwrap())));
    for (name, answer) in [("a", Answer::AllowForSession), ("b", Answer::AllowAlways)] {
        assert!(matches!(one.ask_for(ask(name, "t", &more), &Memory::default()), Step::Prompt(_)));
        let settled = one.answer(name, answer);
        assert!(matches!(decided(&settled)[..], [(_, ApprovalOutcome::Unavailable { .. })]), "{settled:?}");
        assert!(one.consume(name, &more).is_err());
    }
}

#[test]
fn a_revoked_session_allows_nothing() {
    let mut one = Session::new(ASKS);
    one.ask("a", LS);
    one.answer("a", Answer::AllowForSession);
    one.ask("b", &["rm", "d"]);
    let settled = one.desk.revoke(one.now, &mut one.log).unwrap();
    assert!(matches!(decided(&settled)[..], [("b", ApprovalOutcome::Rejected { .. })]));
    assert_eq!(one.consume("a", &execution(LS)), Err(Ignored::Revoked));
    assert!(matches!(one.ask("c", LS), Step::Decided(ApprovalOutcome::Rejected { .. }, By::Service)));
    assert!(one.replayed().is_revoked() && one.desk.state.allowed.is_empty());
}

#[test]
fn a_crash_right_after_it_was_taken_back_leaves_no_yes() {
    for event in [Event::SessionRevoked {}, Event::ApprovalSet { approval: ApprovalPolicy::Never }] {
        let mut one = Session::new(ASKS);
        one.ask("a", LS);
        one.log.events.push((event, one.now));
        one.desk = one.replayed();
        let settled = one.answer("a", Answer::AllowOnce);
        assert!(matches!(decided(&settled)[..], [("a", ApprovalOutcome::Rejected { .. })]), "{settled:?}");
        assert!(one.consume("a", &execution(LS)).is_err());
    }
}

#[test]
fn what_is_shown_is_what_is_bound_and_asked_in_an_open_turn_once() {
    let mut one = Session::new(ASKS);
    let shown = ask("a", "t", &execution(LS));
    let other = Ask { binding: Binding::execution(&execution(&["rm", "d"])), ..shown.clone() };
    let mut more = execution(LS);
    more.grant = Some(Grant::one(Target::Write(AbsPath::root())));
    let wider = Ask { binding: Binding::execution(&more), ..shown.clone() };
    let tool = |name: &str| Subject::Tool { name: name.into(), input: 1.into(), read_only: true };
    let bound = Binding::tool("rm", &Digest::of(b""), &1.into());
    let other_tool = Ask { subject: tool("ls"), binding: bound.clone(), ..shown.clone() };
    let same_tool = Ask { subject: tool("rm"), binding: bound, id: id("tool"), ..shown.clone() };
    let long = Ask { justification: Some("é".repeat(1_001)), ..shown.clone() };
    let elsewhere = Ask { turn: turn("u"), ..shown.clone() };
    let mut refused = |ask| one.desk.ask(ask, &Memory::default(), one.now, &mut one.log).unwrap_err();
    assert!(matches!(refused(other), AskError::OtherBinding));
    assert!(matches!(refused(wider), AskError::OtherBinding));
    assert!(matches!(refused(other_tool), AskError::OtherBinding));
    assert!(matches!(refused(long), AskError::TooLong));
    assert!(matches!(refused(elsewhere), AskError::NoTurn(_)));
    assert!(matches!(one.ask_for(same_tool, &Memory::default()), Step::Prompt(_)));
    let fits = Ask { justification: Some("é".repeat(1_000)), ..shown };
    assert!(matches!(one.ask_for(fits.clone(), &Memory::default()), Step::Prompt(_)));
    assert!(matches!(one.desk.ask(fits, &Memory::default(), one.now, &mut one.log), Err(AskError::Twice(_))));
}

#[test]
fn a_closed_turn_takes_back_what_was_not_used() {
    let mut one = Session::new(ASKS);
    one.ask("a", LS);
    one.answer("a", Answer::AllowOnce);
    one.ask("b", &["rm", "d"]);
    let settled = one.desk.close_turn(&turn("t"), one.now, &mut one.log).unwrap();
    assert_eq!(decided(&settled), [("b", &ApprovalOutcome::Cancelled)]);
    assert_eq!(one.consume("a", &execution(LS)), Err(Ignored::Unknown));
}

#[test]
fn presets_fold_and_the_last_event_is_enough() {
    let mut one = Session::new(ASKS);
    for preset in Preset::built_in() {
        one.desk.choose(&preset, one.now, &mut one.log).unwrap();
        assert_eq!(one.desk.effective(), (preset.mode, preset.approval), "{}", preset.name);
        // Even when the process ended after the first of the three events.
        let chosen = one
            .log
            .events
            .iter()
            .rev()
            .find(|(event, _)| matches!(event, Event::PresetChosen { .. }))
            .unwrap();
        let last = replay(std::slice::from_ref(chosen), ASKS);
        assert_eq!(last.effective(), one.desk.effective());
        assert_eq!(last.permissions().preset, Some(preset.name));
    }
    one.desk.set_mode(SessionMode::ReadOnly, one.now, &mut one.log).unwrap();
    assert_eq!(one.desk.effective(), (SessionMode::ReadOnly, ApprovalPolicy::Never));
    assert_eq!(one.desk.permissions().preset, PresetName::new("danger-full-access").ok());
}
