//! Whatever happens in whichever order, these hold of the log, and the log alone gives the state.

use proptest::prelude::*;

use super::*;
use crate::audit::Head;

/// What may happen: a harness, its front end, its person and an attacker take turns in any order.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Ask { name: usize, turn: usize, words: usize },
    Answer { name: usize, answer: Answer },
    Fail { name: usize, failure: Failure },
    Use { name: usize, words: usize },
    Wait(u64),
    Expire,
    OpenTurn(usize),
    CloseTurn(usize),
    Choose(usize),
    Revoke,
    Reboot(usize),
    Full(bool),
}

pub(super) const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
const TURNS: [&str; 2] = ["t", "u"];
const WORDS: [&[&str]; 3] = [&["cargo", "test"], &["cargo", "test", "-q"], &["rm", "d"]];
const BOOTS: [&str; 2] = ["boot", "again"];

pub(super) fn act() -> impl Strategy<Value = Act> {
    let answers = prop_oneof![
        4 => Just(Answer::AllowOnce),
        1 => Just(Answer::AllowForSession),
        1 => Just(Answer::AllowAlways),
        1 => Just(no()),
        1 => Just(Answer::Cancel)
    ];
    let failures =
        prop_oneof![Just(Failure::Cancelled), Just(Failure::Unavailable { reason: "it crashed".into() })];
    prop_oneof![
        8 => (0..8usize, 0..2usize, 0..3usize).prop_map(|(name, turn, words)| Act::Ask { name, turn, words }),
        8 => (0..8usize, answers).prop_map(|(name, answer)| Act::Answer { name, answer }),
        2 => (0..8usize, failures).prop_map(|(name, failure)| Act::Fail { name, failure }),
        8 => (0..8usize, 0..3usize).prop_map(|(name, words)| Act::Use { name, words }),
        3 => (0..70u64).prop_map(Act::Wait),
        2 => Just(Act::Expire),
        2 => (0..2usize).prop_map(Act::OpenTurn),
        1 => (0..2usize).prop_map(Act::CloseTurn),
        1 => (0..2usize).prop_map(Act::Choose),
        1 => prop::bool::weighted(0.1).prop_map(|it| if it { Act::Revoke } else { Act::Expire }),
        1 => (0..2usize).prop_map(Act::Reboot),
        1 => any::<bool>().prop_map(Act::Full),
    ]
}

/// One step. Answers who was told what.
pub(super) fn step(desk: &mut Desk, log: &mut Lines, now: &mut Duration, act: &Act) -> Vec<Settled> {
    let at = *now;
    let settled = match act {
        Act::Ask { name, turn, words } => {
            let ask = ask(NAMES[*name], TURNS[*turn], &execution(WORDS[*words]));
            let (name, turn) = (ask.id.clone(), ask.turn.clone());
            return match desk.ask(ask, &Memory::default(), at, log) {
                Ok(Step::Decided(outcome, by)) => vec![Settled::Decided(name, outcome, by)],
                Ok(Step::Prompt(request)) => {
                    assert_eq!(request.turn, turn);
                    vec![Settled::Prompt(request)]
                }
                Ok(Step::Wait) | Err(_) => vec![],
            };
        }
        Act::Answer { name, answer } => desk.answer(&id(NAMES[*name]), answer.clone(), None, at, log),
        Act::Fail { name, failure } => desk.fail(&id(NAMES[*name]), failure.clone(), at, log),
        Act::Use { name, words } => {
            let measured = Binding::execution(&execution(WORDS[*words]));
            let _ = desk.consume(&id(NAMES[*name]), &measured, at, log);
            return vec![];
        }
        Act::Wait(seconds) => {
            *now += second(*seconds);
            return vec![];
        }
        Act::Expire => desk.expire(at, log),
        Act::OpenTurn(which) => desk.open_turn(turn(TURNS[*which]), at, log).map(|()| vec![]),
        Act::CloseTurn(which) => desk.close_turn(&turn(TURNS[*which]), at, log),
        Act::Choose(which) => {
            let preset = Preset::built_in()[*which * 2].clone();
            desk.choose(&preset, at, log)
        }
        Act::Revoke => desk.revoke(at, log),
        Act::Reboot(which) => desk.open(BOOTS[*which], at, log).map(|()| vec![]),
        Act::Full(is_full) => {
            log.is_full = *is_full;
            return vec![];
        }
    };
    settled.unwrap_or_default()
}

/// What the log itself says of one id.
#[derive(Default)]
struct Story {
    asked: Option<(Binding, TurnId, Duration)>,
    decided: Option<ApprovalOutcome>,
    used: bool,
}

/// Reads a log as an auditor would, without the desk's own state.
pub(super) fn check(events: &[(Event, Duration)], default: ApprovalPolicy) {
    let mut stories: BTreeMap<ApprovalRequestId, Story> = BTreeMap::new();
    let mut open: BTreeSet<TurnId> = BTreeSet::new();
    let (mut approval, mut revoked, mut boot) = (default, false, None);
    for (event, at) in events {
        match event {
            Event::SessionOpened { boot: now, .. } => {
                if boot.replace(now).is_some_and(|before| before != now) {
                    open.clear();
                    stories.clear();
                }
            }
            Event::SessionRevoked {} => revoked = true,
            Event::TurnOpened { turn } => drop(open.insert(turn.clone())),
            Event::TurnClosed { turn } => {
                open.remove(turn);
                stories.retain(|_, story| story.asked.as_ref().is_some_and(|(_, of, _)| of != turn));
            }
            Event::PresetChosen { approval: now, .. } | Event::ApprovalSet { approval: now } => {
                approval = *now
            }
            Event::Asked { request, limit_ms, .. } => {
                assert!(open.contains(&request.turn), "asked outside an open turn");
                let asked =
                    (request.binding.clone(), request.turn.clone(), *at + Duration::from_millis(*limit_ms));
                let before =
                    stories.insert(request.id.clone(), Story { asked: Some(asked), ..Story::default() });
                assert!(before.is_none(), "one id for two questions");
            }
            Event::Decided { id, outcome, by } => {
                let story = stories.get_mut(id).expect("decided without being asked");
                assert!(story.decided.replace(outcome.clone()).is_none(), "decided twice");
                assert!(!(outcome.is_allowed() && approval == ApprovalPolicy::Never), "allowed under never");
                assert!(!(outcome.is_allowed() && revoked), "allowed after all was revoked");
                assert!(
                    !outcome.is_allowed()
                        || *by != By::Service
                        || *outcome == ApprovalOutcome::AllowedForSession
                );
            }
            Event::Used { id, binding } => {
                let story = stories.get_mut(id).expect("used without being asked");
                let (asked, turn, _) = story.asked.as_ref().unwrap();
                assert!(
                    story.decided.as_ref().is_some_and(ApprovalOutcome::is_allowed),
                    "used without a yes"
                );
                assert!(!std::mem::replace(&mut story.used, true), "used twice");
                assert_eq!(&asked.digest(), binding, "used for something else");
                assert!(open.contains(turn) && !revoked);
            }
            Event::ModeSet { .. } | Event::Ignored { .. } => {}
        }
    }
}

/// Through the lines of a file.
fn read_back(events: &[(Event, Duration)]) -> Desk {
    let (mut head, mut log) = (Head::start(&session()), String::new());
    for (event, at) in events {
        let (line, next) = head.next(event, "2026-01-01T00:00:00.000Z", *at);
        log.push_str(&line);
        head = next;
    }
    let trail = head.verify(&session(), log.as_bytes());
    assert_eq!(trail.faults, []);
    let mut desk = Desk::new(session(), ASKS);
    trail.entries.iter().for_each(|entry| desk.apply(&entry.event, entry.at()));
    desk
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_happens_the_log_holds_and_gives_the_state(acts in prop::collection::vec(act(), 1..60)) {
        let Session { mut desk, mut log, mut now } = Session::new(ASKS);
        let mut told: BTreeSet<ApprovalRequestId> = BTreeSet::new();
        for act in &acts {
            let before = (desk.state.clone(), log.events.len());
            let settled = step(&mut desk, &mut log, &mut now, act);
            if log.events.len() == before.1 {
                prop_assert_eq!(&desk.state, &before.0, "changed without a line: {:?}", act);
            }
            for (event, _) in &log.events[before.1..] {
                if let Event::Asked { request, .. } = event {
                    told.remove(&request.id);
                }
            }
            for one in settled {
                if let Settled::Decided(id, ..) = one {
                    prop_assert!(told.insert(id), "told twice");
                }
            }
            prop_assert_eq!(&replay(&log.events, ASKS).state, &desk.state, "{:?}", act);
        }
        check(&log.events, ASKS.1);
        prop_assert_eq!(&read_back(&log.events).state, &desk.state);
    }

    #[test]
    fn a_crash_at_any_line_leaves_nothing_to_use_that_was_not_allowed(
        acts in prop::collection::vec(act(), 1..40), cut: prop::sample::Index,
    ) {
        let Session { mut desk, mut log, mut now } = Session::new(ASKS);
        acts.iter().for_each(|act| drop(step(&mut desk, &mut log, &mut now, act)));
        let kept = cut.index(log.events.len() + 1);
        log.events.truncate(kept);
        log.is_full = false;
        let mut again = replay(&log.events, ASKS);
        for name in NAMES {
            for words in WORDS {
                let measured = Binding::execution(&execution(words));
                let _ = again.consume(&id(name), &measured, now, &mut log);
            }
        }
        check(&log.events, ASKS.1);
    }
}
