//! The desk, by itself and against what must hold of its log whatever happens in which order.

mod model;
mod rules;
mod together;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::*;
use crate::approval::{Digest, Execution, Measured, Part, Preset, RerunRisk, Subject};
use crate::{AbsPath, PolicyId, Text};

/// A log in memory, that may fail.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    pub(super) events: Vec<(Event, Duration)>,
    pub(super) is_full: bool,
}

impl Log for Lines {
    fn append(&mut self, events: &[Event], at: Duration) -> io::Result<()> {
        if self.is_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.events.extend(events.iter().map(|event| (event.clone(), at)));
        Ok(())
    }
}

pub(super) fn id(text: &str) -> ApprovalRequestId {
    ApprovalRequestId::new(text).unwrap()
}

pub(super) fn turn(text: &str) -> TurnId {
    TurnId::new(text).unwrap()
}

pub(super) fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

pub(super) const ASKS: (SessionMode, ApprovalPolicy) = (SessionMode::WorkspaceWrite, ApprovalPolicy::Ask);
pub(super) const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn second(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// `words` in `/ws`, with a program and a policy.
pub(super) fn execution(words: &[&str]) -> Execution {
    let program = AbsPath::new("/usr/bin/program").unwrap();
    Execution {
        argv: words.iter().map(|word| Text::from(*word)).collect(),
        cwd: AbsPath::new("/ws").unwrap(),
        environment: BTreeMap::from([(Text::from("PATH"), Text::from("/usr/bin"))]),
        program: Some(Measured { path: program, content: Some(Digest::of(b"program")) }),
        files: Vec::new(),
        commands: Vec::new(),
        stdin: None,
        policy: PolicyId::of(b"policy"),
        grant: None,
    }
}

pub(super) fn ask(name: &str, in_turn: &str, execution: &Execution) -> Ask {
    let (argv, cwd) = (execution.argv.clone(), execution.cwd.clone());
    let subject = match &execution.grant {
        None => Subject::Command { argv, cwd },
        Some(grant) => Subject::Escalation {
            argv,
            cwd,
            grant: grant.clone(),
            directories: Vec::new(),
            denials: Vec::new(),
        },
    };
    let binding = Binding::execution(execution);
    Ask {
        id: id(name),
        turn: turn(in_turn),
        subject,
        binding,
        justification: None,
        rerun: RerunRisk::NotStarted,
        limit: LIMIT,
    }
}

/// A desk with an open turn `t`.
pub(super) struct Session {
    pub(super) desk: Desk,
    pub(super) log: Lines,
    pub(super) now: Duration,
}

impl Session {
    pub(super) fn new(default: (SessionMode, ApprovalPolicy)) -> Self {
        let (mut desk, mut log, now) = (Desk::new(session(), default), Lines::default(), second(1));
        desk.open("boot", now, &mut log).unwrap();
        desk.open_turn(turn("t"), now, &mut log).unwrap();
        Self { desk, log, now }
    }

    pub(super) fn ask(&mut self, name: &str, words: &[&str]) -> Step {
        self.ask_for(ask(name, "t", &execution(words)), &Memory::default())
    }

    pub(super) fn ask_for(&mut self, ask: Ask, memory: &Memory) -> Step {
        self.desk.ask(ask, memory, self.now, &mut self.log).unwrap()
    }

    pub(super) fn answer(&mut self, name: &str, answer: Answer) -> Vec<Settled> {
        self.desk.answer(&id(name), answer, None, self.now, &mut self.log).unwrap()
    }

    pub(super) fn consume(&mut self, name: &str, execution: &Execution) -> Result<Permit, Ignored> {
        match self.desk.consume(&id(name), &Binding::execution(execution), self.now, &mut self.log) {
            Ok(permit) => Ok(permit),
            Err(Refused::Ignored(why)) => Err(why),
            Err(Refused::Log(error)) => panic!("{error}"),
        }
    }

    /// What another process makes of the log.
    pub(super) fn replayed(&self) -> Desk {
        replay(&self.log.events, self.desk.default)
    }
}

pub(super) fn replay(events: &[(Event, Duration)], default: (SessionMode, ApprovalPolicy)) -> Desk {
    let mut desk = Desk::new(session(), default);
    events.iter().for_each(|(event, at)| desk.apply(event, *at));
    desk
}

pub(super) fn no() -> Answer {
    Answer::Reject { reason: "no".into() }
}

pub(super) fn decided(settled: &[Settled]) -> Vec<(&str, &ApprovalOutcome)> {
    let one = settled.iter().filter_map(|settled| match settled {
        Settled::Decided(id, outcome, _) => Some((id.as_str(), outcome)),
        _ => None,
    });
    one.collect()
}
