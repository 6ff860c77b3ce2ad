//! The machine of one session: what is asked, decided, remembered, and used up.
//!
//! Each step decides, has its events written down, and only then changes anything: what the [`Log`] did not take has not
//! happened. So a log that is read again gives the same state, and several processes may share one: each applies what the
//! others wrote before its own step, all under one lock.

mod ignored;
mod outcome;
mod permission;
mod state;
mod step;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use super::{
    Answer, ApprovalOutcome, ApprovalPolicy, ApprovalRequest, ApprovalRequestId, Binding, By, Failure,
    JUSTIFICATION, Memory, Permissions, RuleId, SessionId, SessionMode, TurnId, choice,
};
use crate::audit::Event;
use outcome::{never, outcome, rejected, revoked, unavailable};
use state::State;

pub use ignored::{AskError, Ignored, Refused};
pub use step::{Ask, Log, Permit, Settled, Step};

/// How many refusals in a row end the questions of a turn.
const IN_A_ROW: u32 = 3;

/// One session.
#[derive(Clone, Debug)]
pub struct Desk {
    session: SessionId,
    default: (SessionMode, ApprovalPolicy),
    state: State,
    /// Asked here, not by another process that shares the log.
    own: BTreeSet<ApprovalRequestId>,
}

impl Desk {
    /// A session of which nothing is known, with what holds while it sets nothing itself.
    pub fn new(session: SessionId, default: (SessionMode, ApprovalPolicy)) -> Self {
        Self { session, default, state: State::default(), own: BTreeSet::new() }
    }

    /// Which session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Takes in an event that is in the log: an earlier process's, or another one's.
    pub fn apply(&mut self, event: &Event, at: Duration) {
        self.take_in(event, at);
    }

    /// What the session has set for itself.
    pub fn permissions(&self) -> &Permissions {
        &self.state.permissions
    }

    /// The mode and the approval policy in force.
    pub fn effective(&self) -> (SessionMode, ApprovalPolicy) {
        self.state.permissions.effective(self.default)
    }

    /// Whether everything was taken back.
    pub fn is_revoked(&self) -> bool {
        self.state.revoked
    }

    /// When the next question has waited long enough.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.state.waiting.iter().filter(|one| one.joins.is_none()).map(|one| one.deadline).min()
    }

    /// Begins: a process that writes to the log says so, and which boot of the machine it is.
    ///
    /// # Errors
    /// The log's, as for every step: then nothing has changed.
    pub fn open(&mut self, boot: &str, now: Duration, log: &mut dyn Log) -> io::Result<()> {
        let opened = Event::SessionOpened { session: self.session.clone(), boot: boot.to_owned() };
        self.commit(vec![opened], now, log).map(drop)
    }

    /// Opens a turn.
    ///
    /// # Errors
    /// The log's.
    pub fn open_turn(&mut self, turn: TurnId, now: Duration, log: &mut dyn Log) -> io::Result<()> {
        self.commit(vec![Event::TurnOpened { turn }], now, log).map(drop)
    }

    /// Closes a turn: what waits in it is cancelled, what was allowed and not used is taken back.
    ///
    /// # Errors
    /// The log's.
    pub fn close_turn(
        &mut self,
        turn: &TurnId,
        now: Duration,
        log: &mut dyn Log,
    ) -> io::Result<Vec<Settled>> {
        let mut events = self.all(ApprovalOutcome::Cancelled, |request| request.turn == *turn);
        events.push(Event::TurnClosed { turn: turn.clone() });
        self.commit(events, now, log)
    }

    /// Takes everything back, for good: what waits is refused, what was allowed and not used, too.
    ///
    /// # Errors
    /// The log's.
    pub fn revoke(&mut self, now: Duration, log: &mut dyn Log) -> io::Result<Vec<Settled>> {
        let mut events = vec![Event::SessionRevoked {}];
        events.extend(self.all(revoked(), |_| true));
        self.commit(events, now, log)
    }

    /// Asks. `memory` is what the user's own rules say now.
    ///
    /// # Errors
    /// Outside an open turn; an id that was used; a justification that is too long; a binding of something else than the
    /// subject; the log's.
    pub fn ask(
        &mut self,
        ask: Ask,
        memory: &Memory,
        now: Duration,
        log: &mut dyn Log,
    ) -> Result<Step, AskError> {
        let limit = ask.limit;
        let request = Box::new(self.request(ask)?);
        let decided = self.at_once(&request, memory);
        let joins = if decided.is_some() { None } else { self.state.same(&request, &self.own) };
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let mut events = vec![Event::Asked { request: request.clone(), limit_ms, joins: joins.clone() }];
        events.extend(decided.clone().map(|(outcome, by)| Event::Decided {
            id: request.id.clone(),
            outcome,
            by,
        }));
        self.commit(events, now, log)?;
        if let Some((outcome, by)) = decided {
            return Ok(Step::Decided(outcome, by));
        }
        self.own.insert(request.id.clone());
        Ok(if joins.is_some() { Step::Wait } else { Step::Prompt(request) })
    }

    /// An approver has answered. `rule` is the one that was written for an [`Answer::AllowAlways`]; where none could be,
    /// that answer is good for once.
    ///
    /// # Errors
    /// The log's.
    pub fn answer(
        &mut self,
        id: &ApprovalRequestId,
        answer: Answer,
        rule: Option<RuleId>,
        now: Duration,
        log: &mut dyn Log,
    ) -> io::Result<Vec<Settled>> {
        let Some(waiting) = self.state.prompted(id) else {
            return self.ignore(id, self.state.ignored(id), now, log);
        };
        if waiting.deadline <= now {
            let mut settled = self.end(id, ApprovalOutcome::TimedOut, By::Service, now, log)?;
            settled.extend(self.ignore(id, Ignored::Late, now, log)?);
            return Ok(settled);
        }
        let is_offered = waiting.request.choices.iter().any(|choice| choice.takes(&answer));
        let (outcome, by) = match self.forbidden() {
            Some(outcome) => (outcome, By::Service),
            None if !is_offered => (unavailable("the answer was none of those offered"), By::Service),
            None => (outcome(answer, rule), By::Approver),
        };
        self.end(id, outcome, by, now, log)
    }

    /// Whether [`answer`](Self::answer) would take `answer` as it is.
    pub fn takes(&self, id: &ApprovalRequestId, answer: &Answer, now: Duration) -> bool {
        let offered = |request: &ApprovalRequest| request.choices.iter().any(|choice| choice.takes(answer));
        let prompted = self.state.prompted(id).filter(|waiting| now < waiting.deadline);
        self.forbidden().is_none() && prompted.is_some_and(|waiting| offered(&waiting.request))
    }

    /// No answer came from the chain.
    ///
    /// # Errors
    /// The log's.
    pub fn fail(
        &mut self,
        id: &ApprovalRequestId,
        failure: Failure,
        now: Duration,
        log: &mut dyn Log,
    ) -> io::Result<Vec<Settled>> {
        if !self.state.is_waiting(id) {
            return self.ignore(id, self.state.ignored(id), now, log);
        }
        match failure {
            Failure::Unavailable { reason } => self.end(id, unavailable(&reason), By::Service, now, log),
            // Whoever asked is one of those that wait.
            Failure::Cancelled => {
                let (id, outcome, by) = (id.clone(), ApprovalOutcome::Cancelled, By::Service);
                self.commit(vec![Event::Decided { id, outcome, by }], now, log)
            }
        }
    }

    /// Ends every question that has waited long enough.
    ///
    /// # Errors
    /// The log's.
    pub fn expire(&mut self, now: Duration, log: &mut dyn Log) -> io::Result<Vec<Settled>> {
        let late = self.state.waiting.iter().filter(|one| one.joins.is_none() && one.deadline <= now);
        let late: Vec<ApprovalRequestId> = late.map(|one| one.request.id.clone()).collect();
        let group = late.iter().flat_map(|id| self.state.group(id));
        let events = group
            .map(|id| Event::Decided { id, outcome: ApprovalOutcome::TimedOut, by: By::Service })
            .collect();
        self.commit(events, now, log)
    }

    /// Drops a question where the log cannot be written: nothing can come of it any more. Answers those that waited for
    /// its answer, and are to be put to the approvers now.
    pub fn abandon(&mut self, id: &ApprovalRequestId, now: Duration) -> Vec<Settled> {
        let promoted = self.state.drop_waiting(id, now);
        self.own.remove(id);
        promoted.into_iter().filter_map(|id| self.prompt(&id)).collect()
    }

    /// Uses an answer up, right before the start, with what is measured then. Of two that try, one gets it.
    ///
    /// # Errors
    /// An id that was never asked about, is not decided, was refused or used, whose turn is closed; a session that was
    /// revoked; anything that is not as it was when it was asked, which also ends the answer; the log's.
    pub fn consume(
        &mut self,
        id: &ApprovalRequestId,
        measured: &Binding,
        now: Duration,
        log: &mut dyn Log,
    ) -> Result<Permit, Refused> {
        let why = match self.state.allowed.get(id) {
            _ if self.state.revoked => Ignored::Revoked,
            None => self.state.ignored(id),
            Some(allowed) => match allowed.binding.drift(measured) {
                parts if parts.is_empty() => {
                    let used = Event::Used { id: id.clone(), binding: measured.digest() };
                    self.commit(vec![used], now, log).map_err(Refused::Log)?;
                    return Ok(Permit::new(id.clone()));
                }
                parts => Ignored::Drift { parts },
            },
        };
        // It is refused whether or not that can be written down.
        let _ = self.ignore(id, why.clone(), now, log);
        Err(Refused::Ignored(why))
    }

    fn request(&self, ask: Ask) -> Result<ApprovalRequest, AskError> {
        let Ask { id, turn, subject, binding, justification, rerun, .. } = ask;
        if !self.state.turns.contains_key(&turn) {
            return Err(AskError::NoTurn(turn));
        }
        if self.state.knows(&id) {
            return Err(AskError::Twice(id));
        }
        if justification.as_ref().is_some_and(|text| text.chars().count() > JUSTIFICATION) {
            return Err(AskError::TooLong);
        }
        if !binding.is_of(&subject) {
            return Err(AskError::OtherBinding);
        }
        let choices = choice::choices(&subject, &binding);
        Ok(ApprovalRequest { id, turn, subject, binding, justification, rerun, choices })
    }

    /// What is decided without asking anybody, the strictest first.
    fn at_once(&self, request: &ApprovalRequest, memory: &Memory) -> Option<(ApprovalOutcome, By)> {
        let refusals = self.state.turns.get(&request.turn).map_or(0, |turn| turn.refusals);
        if let Some(outcome) = self.forbidden() {
            return Some((outcome, By::Service));
        }
        if let Some(reason) = self.state.refused.get(&request.binding.key()) {
            return Some((rejected(reason), By::Service));
        }
        if refusals >= IN_A_ROW {
            let reason = format!("{IN_A_ROW} refusals in a row: nothing more is asked in this turn");
            return Some((rejected(&reason), By::Service));
        }
        if self.state.approves(request) {
            return Some((ApprovalOutcome::AllowedForSession, By::Service));
        }
        let rule = memory.allowing(request)?;
        Some((ApprovalOutcome::AllowedByRule { rule: rule.id.clone() }, By::Rule))
    }

    /// Why nothing is allowed at all, whoever says yes.
    fn forbidden(&self) -> Option<ApprovalOutcome> {
        if self.state.revoked {
            return Some(revoked());
        }
        match self.effective().1 {
            ApprovalPolicy::Ask => None,
            ApprovalPolicy::Never => Some(never()),
        }
    }

    fn all(&self, outcome: ApprovalOutcome, which: impl Fn(&ApprovalRequest) -> bool) -> Vec<Event> {
        let waiting = self.state.waiting.iter().map(|one| &one.request).filter(|request| which(request));
        let decided = |id| Event::Decided { id, outcome: outcome.clone(), by: By::Service };
        waiting.map(|request| decided(request.id.clone())).collect()
    }

    /// Decides a question, and the same ones that wait for its answer, unless that is good for once.
    fn end(
        &mut self,
        id: &ApprovalRequestId,
        outcome: ApprovalOutcome,
        by: By,
        now: Duration,
        log: &mut dyn Log,
    ) -> io::Result<Vec<Settled>> {
        let once = outcome == ApprovalOutcome::AllowedOnce;
        let group = if once { vec![id.clone()] } else { self.state.group(id) };
        let decided = |id| Event::Decided { id, outcome: outcome.clone(), by };
        self.commit(group.into_iter().map(decided).collect(), now, log)
    }

    fn ignore(
        &mut self,
        id: &ApprovalRequestId,
        why: Ignored,
        now: Duration,
        log: &mut dyn Log,
    ) -> io::Result<Vec<Settled>> {
        self.commit(vec![Event::Ignored { id: id.clone(), why }], now, log)
    }

    /// Writes events down and then takes them in.
    fn commit(&mut self, events: Vec<Event>, now: Duration, log: &mut dyn Log) -> io::Result<Vec<Settled>> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        log.append(&events, now)?;
        let mut settled = Vec::new();
        let mut promoted = Vec::new();
        for event in events {
            promoted.extend(self.take_in(&event, now));
            match event {
                Event::Decided { id, outcome, by } => settled.push(Settled::Decided(id, outcome, by)),
                Event::Ignored { id, why } => settled.push(Settled::Ignored(id, why)),
                _ => {}
            }
        }
        settled.extend(promoted.iter().filter_map(|id| self.prompt(id)));
        Ok(settled)
    }

    fn take_in(&mut self, event: &Event, at: Duration) -> Option<ApprovalRequestId> {
        let promoted = self.state.apply(event, at);
        match event {
            Event::Decided { id, .. } => drop(self.own.remove(id)),
            Event::TurnClosed { .. } | Event::SessionOpened { .. } => {
                self.own.retain(|id| self.state.is_waiting(id));
            }
            _ => {}
        }
        promoted
    }

    fn prompt(&self, id: &ApprovalRequestId) -> Option<Settled> {
        self.state.prompted(id).map(|one| Settled::Prompt(one.request.clone()))
    }
}
