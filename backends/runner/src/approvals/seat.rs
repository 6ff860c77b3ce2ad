//! The desk of one session with what waits at it: questions that wait for their turn to be put, and callers that wait for an
//! answer. One at a time sits here; what takes long is a write to the log.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::Duration;

use confine_core::approval::{
    Answer, ApprovalOutcome, ApprovalRequest, ApprovalRequestId, Ask, AskError, Binding, By, Desk, Failure,
    Ignored, Log, Memory, Permit, Refused, RuleId, Settled, Step,
};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

use super::book::Book;
use super::clock;
use super::error::ApprovalsError;
use super::memory;
use crate::places::Place;

/// What a caller that waits is told.
#[derive(Debug)]
pub(super) enum Told {
    /// How it ended.
    Decided(ApprovalOutcome, By),
    /// Its time begins anew: the same question that it waited for was answered for once.
    Prompted,
}

/// The seat.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) desk: Desk,
    pub(super) book: Book,
    /// Where rules are kept; `None` where nothing is.
    pub(super) state: Option<Place>,
    callers: BTreeMap<ApprovalRequestId, UnboundedSender<Told>>,
    queue: VecDeque<Box<ApprovalRequest>>,
    asking: BTreeMap<ApprovalRequestId, Asking>,
}

/// A question that the approvers have.
#[derive(Debug)]
struct Asking {
    request: Box<ApprovalRequest>,
    task: Option<AbortHandle>,
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl Seat {
    pub(super) fn new(desk: Desk, book: Book, state: Option<Place>) -> Self {
        let (callers, queue, asking) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        Self { desk, book, state, callers, queue, asking }
    }

    /// Asks. What is decided at once is answered; for the rest `caller` is told.
    ///
    /// # Errors
    /// Where the call is wrong, or what is kept cannot be trusted.
    pub(super) fn ask(
        &mut self,
        ask: Ask,
        caller: UnboundedSender<Told>,
    ) -> Result<Option<(ApprovalOutcome, By)>, ApprovalsError> {
        let id = ask.id.clone();
        let memory = self.memory()?;
        let asked = self.step(|desk, log| desk.ask(ask, &memory, clock::now(), log))?;
        match asked {
            Ok(Step::Decided(outcome, by)) => return Ok(Some((outcome, by))),
            Ok(Step::Prompt(request)) => self.queue.push_back(request),
            Ok(Step::Wait) => {}
            Err(AskError::Log(error)) => return Ok(Some((unwritten(&error), By::Service))),
            Err(error) => return Err(error.into()),
        }
        self.callers.insert(id, caller);
        Ok(None)
    }

    /// An approver has answered. Answers why that came to nothing, where it did.
    ///
    /// # Errors
    /// Where what is kept cannot be trusted.
    pub(super) fn answer(
        &mut self,
        id: &ApprovalRequestId,
        answer: Answer,
        rule: RuleId,
    ) -> Result<Option<Ignored>, ApprovalsError> {
        let request = self.asking.get(id).map(|asking| asking.request.clone());
        let state = self.state.as_ref();
        let answered = self.book.step(&mut self.desk, |desk, log| {
            // Only what would be taken is written down, under the lock that decides it.
            let taken = answer == Answer::AllowAlways && desk.takes(id, &answer, clock::now());
            let written = request.filter(|_| taken).zip(state).and_then(|(request, state)| {
                let written = memory::remember(state, &request, rule);
                written.unwrap_or_else(|error| {
                    tracing::warn!(%error, "an answer for always is good for once: it cannot be saved");
                    None
                })
            });
            let rule = written.as_ref().map(|written| written.rule.clone());
            let settled = desk.answer(id, answer, rule, clock::now(), log);
            if let (Err(_), Some(written), Some(state)) = (&settled, &written, state) {
                memory::forget(state, written);
            }
            settled
        });
        let (settled, others) = self.trusted(answered)?;
        self.deliver(others);
        self.settle(id, settled)
    }

    /// No answer came from the chain.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub(super) fn fail(
        &mut self,
        id: &ApprovalRequestId,
        failure: Failure,
    ) -> Result<Option<Ignored>, ApprovalsError> {
        let settled = self.step(|desk, log| desk.fail(id, failure, clock::now(), log))?;
        self.settle(id, settled)
    }

    /// Ends what has waited long enough; `id` is one that may have.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub(super) fn expire(&mut self, id: &ApprovalRequestId) -> Result<(), ApprovalsError> {
        let settled = self.step(|desk, log| desk.expire(clock::now(), log))?;
        self.settle(id, settled).map(drop)
    }

    /// Uses an approval.
    ///
    /// # Errors
    /// What the desk refuses, and where what is kept cannot be trusted.
    pub(super) fn consume(&mut self, id: &ApprovalRequestId, now: &Binding) -> Result<Permit, Refused> {
        let used = self.step(|desk, log| desk.consume(id, now, clock::now(), log));
        used.unwrap_or_else(|error| Err(Refused::Log(io::Error::other(error))))
    }

    /// A step that may settle questions, but no single one.
    ///
    /// # Errors
    /// The log's, and where what is kept cannot be trusted.
    pub(super) fn change(
        &mut self,
        act: impl FnOnce(&mut Desk, Duration, &mut dyn Log) -> io::Result<Vec<Settled>>,
    ) -> Result<(), ApprovalsError> {
        let settled = self.step(|desk, log| act(desk, clock::now(), log))?;
        self.deliver(settled.map_err(ApprovalsError::Unwritten)?);
        Ok(())
    }

    /// The next question to be put to the approvers, while fewer than `most` are.
    pub(super) fn next(&mut self, most: usize) -> Option<ApprovalRequest> {
        if self.asking.len() >= most {
            return None;
        }
        let request = self.queue.pop_front()?;
        let asked = (*request).clone();
        self.asking.insert(asked.id.clone(), Asking { request, task: None });
        Some(asked)
    }

    /// Who asks: ended once the question is settled.
    pub(super) fn asked_by(&mut self, id: &ApprovalRequestId, task: AbortHandle) {
        match self.asking.get_mut(id) {
            Some(asking) => asking.task = Some(task),
            None => task.abort(),
        }
    }

    fn memory(&mut self) -> Result<Memory, ApprovalsError> {
        let memory = self.state.as_ref().map_or_else(|| Ok(Memory::default()), memory::read);
        self.trusted(memory)
    }

    fn step<T>(&mut self, act: impl FnOnce(&mut Desk, &mut dyn Log) -> T) -> Result<T, ApprovalsError> {
        let stepped = self.book.step(&mut self.desk, act);
        let (answer, others) = self.trusted(stepped)?;
        self.deliver(others);
        Ok(answer)
    }

    /// Where what is kept cannot be trusted, nothing that waits will be decided.
    fn trusted<T>(&mut self, result: Result<T, ApprovalsError>) -> Result<T, ApprovalsError> {
        if let Err(error) = &result {
            let outcome = ApprovalOutcome::Unavailable { reason: error.to_string() };
            for (_, caller) in std::mem::take(&mut self.callers) {
                tell(&caller, Told::Decided(outcome.clone(), By::Service));
            }
            self.queue.clear();
            self.asking.clear();
        }
        result
    }

    /// What a step about `id` has come to. Where it could not be written down, the question is dropped.
    fn settle(
        &mut self,
        id: &ApprovalRequestId,
        settled: io::Result<Vec<Settled>>,
    ) -> Result<Option<Ignored>, ApprovalsError> {
        let settled = settled.unwrap_or_else(|error| {
            self.end(id, unwritten(&error), By::Service);
            self.desk.abandon(id, clock::now())
        });
        let ignored = settled.iter().find_map(|one| match one {
            Settled::Ignored(about, why) if about == id => Some(why.clone()),
            _ => None,
        });
        self.deliver(settled);
        Ok(ignored)
    }

    fn deliver(&mut self, settled: Vec<Settled>) {
        for one in settled {
            match one {
                Settled::Decided(id, outcome, by) => self.end(&id, outcome, by),
                Settled::Prompt(request) => {
                    if let Some(caller) = self.callers.get(&request.id) {
                        tell(caller, Told::Prompted);
                    }
                    self.queue.push_back(request);
                }
                Settled::Ignored(id, why) => tracing::info!(%id, %why, "an answer came to nothing"),
            }
        }
    }

    fn end(&mut self, id: &ApprovalRequestId, outcome: ApprovalOutcome, by: By) {
        self.queue.retain(|request| request.id != *id);
        self.asking.remove(id);
        if let Some(caller) = self.callers.remove(id) {
            tell(&caller, Told::Decided(outcome, by));
        }
    }
}

/// Whoever asked may be gone.
fn tell(caller: &UnboundedSender<Told>, told: Told) {
    let _ = caller.send(told);
}

fn unwritten(error: &io::Error) -> ApprovalOutcome {
    ApprovalOutcome::Unavailable { reason: format!("it cannot be written down: {error}") }
}
