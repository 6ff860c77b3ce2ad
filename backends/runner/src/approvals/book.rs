//! A session's events on disk, as the desk needs them: what others wrote is taken in, and what is decided is written down,
//! all under one lock.

use std::io;
use std::time::{Duration, SystemTime};

use confine_core::approval::{Desk, Log, SessionId, Settled};
use confine_core::audit::{Event, Fault, Head, Trail};

use super::error::ApprovalsError;
use super::ledger::{Held, Ledger, LedgerError, News, Opening};
use crate::places::Place;

/// What to do where the log cannot be written: a full disk, a read-only directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeping {
    /// Refuse: nothing is allowed that is not written down.
    #[default]
    Required,
    /// Go on without a log for the rest of this session, and warn. A log that was tampered with is refused all the same.
    WherePossible,
}

/// Where the events of a session go.
#[derive(Debug)]
pub(super) struct Book {
    kept: Option<Kept>,
    keeping: Keeping,
}

#[derive(Debug)]
struct Kept {
    ledger: Ledger,
    head: Head,
}

impl Book {
    /// Events that are not kept.
    pub(super) fn blank() -> Self {
        Self { kept: None, keeping: Keeping::Required }
    }

    /// The log of a session in the directory of sessions, made if need be.
    ///
    /// # Errors
    /// Where it cannot be used.
    pub(super) fn open(place: &Place, session: &SessionId, keeping: Keeping) -> Result<Self, ApprovalsError> {
        let kept = match Ledger::open(place, session, Opening::Write) {
            Ok(ledger) => ledger.map(|ledger| Kept { ledger, head: Head::start(session) }),
            Err(LedgerError::File(error)) if keeping == Keeping::WherePossible => {
                without(&error);
                None
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self { kept, keeping })
    }

    /// One step of the desk: `act` gets the state that the log says, and a log to write to. Answers too what other processes
    /// have decided meanwhile.
    ///
    /// # Errors
    /// A log that cannot be locked or read, or was tampered with.
    pub(super) fn step<T>(
        &mut self,
        desk: &mut Desk,
        act: impl FnOnce(&mut Desk, &mut dyn Log) -> T,
    ) -> Result<(T, Vec<Settled>), ApprovalsError> {
        let Some(mut kept) = self.kept.take() else { return Ok((act(desk, &mut Nowhere), Vec::new())) };
        if self.keeping == Keeping::WherePossible
            && let Err(LedgerError::File(error)) = kept.ledger.hold()
        {
            without(&error);
            return Ok((act(desk, &mut Nowhere), Vec::new()));
        }
        let stepped = kept.step(self.keeping, desk, act);
        if !matches!(stepped, Ok((.., Loss::Lost))) {
            self.kept = Some(kept);
        }
        stepped.map(|(answer, others, _)| (answer, others))
    }
}

/// Whether the log goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    Kept,
    /// It could not be written, and that was accepted.
    Lost,
}

impl Kept {
    fn step<T>(
        &mut self,
        keeping: Keeping,
        desk: &mut Desk,
        act: impl FnOnce(&mut Desk, &mut dyn Log) -> T,
    ) -> Result<(T, Vec<Settled>, Loss), ApprovalsError> {
        let Self { ledger, head } = self;
        let path = ledger.path().clone();
        let mut held = ledger.hold()?;
        let others =
            news(&mut held, head, desk, &|fault| ApprovalsError::Corrupt { path: path.clone(), fault })?;
        let mut writer = Writer { held, head, keeping, loss: Loss::Kept };
        let answer = act(desk, &mut writer);
        Ok((answer, others, writer.loss))
    }
}

/// Takes in what others wrote.
fn news(
    held: &mut Held<'_>,
    head: &mut Head,
    desk: &mut Desk,
    corrupt: &dyn Fn(Fault) -> ApprovalsError,
) -> Result<Vec<Settled>, ApprovalsError> {
    let News { lines, mark, torn: _ } = held.news()?;
    let mut trail = match head.sequence {
        0 => mark.head.verify(desk.session(), &lines),
        _ => Trail::after(head.clone(), &lines),
    };
    if mark.head.sequence == trail.head.sequence && mark.head != trail.head {
        trail.faults.push(Fault::OtherHead { sequence: mark.head.sequence });
    }
    if let Some(fault) = trail.faults.into_iter().next() {
        return Err(corrupt(fault));
    }
    let mut others = Vec::new();
    for entry in trail.entries {
        desk.apply(&entry.event, entry.at());
        if let Event::Decided { id, outcome, by } = entry.event {
            others.push(Settled::Decided(id, outcome, by));
        }
    }
    *head = trail.head;
    Ok(others)
}

/// A log that is not kept.
struct Nowhere;

impl Log for Nowhere {
    fn append(&mut self, _: &[Event], _: Duration) -> io::Result<()> {
        Ok(())
    }
}

/// The log, locked.
struct Writer<'a> {
    held: Held<'a>,
    head: &'a mut Head,
    keeping: Keeping,
    loss: Loss,
}

impl Log for Writer<'_> {
    fn append(&mut self, events: &[Event], at: Duration) -> io::Result<()> {
        if self.loss == Loss::Lost {
            return Ok(());
        }
        let utc = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        let (mut lines, mut head) = (String::new(), self.head.clone());
        for event in events {
            let (line, next) = head.next(event, &utc, at);
            lines.push_str(&line);
            head = next;
        }
        match self.held.append(lines.as_bytes(), head.clone()) {
            Ok(()) => *self.head = head,
            Err(error) if self.keeping == Keeping::WherePossible => {
                without(&error);
                self.loss = Loss::Lost;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(())
    }
}

fn without(error: &dyn std::error::Error) {
    tracing::warn!(%error, "approvals go on without their log");
}
