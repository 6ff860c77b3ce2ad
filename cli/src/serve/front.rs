//! The client as an approver: it is asked by a line, and its answers come by lines.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use confine_core::approval::{
    Answer, ApprovalRequest, ApprovalRequestId, Approver, Subject, TurnId, async_trait,
};
use confine_core::protocol::{Asking, Basis, Name, ToClient};

use super::channel::Voice;
use crate::prompt;

/// So many questions are remembered, to tell an answer that is late from one that is forged.
const REMEMBERED: usize = 1024;

/// One client.
pub(super) struct Front {
    voice: Voice,
    deadline_ms: u64,
    waiting: Mutex<Vec<Waiting>>,
    known: Mutex<VecDeque<ApprovalRequestId>>,
}

/// A run that waits for an answer.
struct Waiting {
    run: Name,
    turn: TurnId,
    subject: Subject,
    /// The question that the client has, where it is this run's own.
    asked: Option<ApprovalRequestId>,
}

/// That a run waits. Dropping it ends that.
pub(super) struct Expected<'a> {
    front: &'a Front,
    run: Name,
}

impl Front {
    /// That client.
    pub(super) fn new(voice: Voice, deadline_ms: u64) -> Arc<Self> {
        Arc::new(Self { voice, deadline_ms, waiting: Mutex::default(), known: Mutex::default() })
    }

    /// Says that `run` is about to ask, so that the question can name it.
    pub(super) fn expect(&self, run: &Name, turn: &TurnId, subject: &Subject) -> Expected<'_> {
        let (turn, subject) = (turn.clone(), subject.clone());
        self.waiting().push(Waiting { run: run.clone(), turn, subject, asked: None });
        Expected { front: self, run: run.clone() }
    }

    /// Every question that the client has and that is not decided, as far as this is known here.
    pub(super) fn open(&self) -> Vec<ApprovalRequestId> {
        self.waiting().iter().filter_map(|one| one.asked.clone()).collect()
    }

    /// Whether the client ever had that question; of the oldest that may be forgotten.
    pub(super) fn knew(&self, id: &ApprovalRequestId) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    fn asks(&self, run: &Name, id: &ApprovalRequestId) {
        if let Some(one) = self.waiting().iter_mut().find(|one| one.run == *run) {
            one.asked = Some(id.clone());
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.pop_front();
        }
        known.push_back(id.clone());
    }

    /// The run that a question is of: the first that asks the same and has not been put to the client.
    fn run_of(&self, request: &ApprovalRequest) -> Option<Name> {
        let is_same = |one: &&Waiting| {
            one.asked.is_none() && one.turn == request.turn && one.subject == request.subject
        };
        self.waiting().iter().find(is_same).map(|one| one.run.clone())
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Approver for Front {
    /// Waits until it is dropped: the connection hands the client's answers on by themselves.
    async fn answer(&self, request: &ApprovalRequest) -> Option<Answer> {
        let run = self.run_of(request)?;
        let asking = Asking {
            approval: request.id.to_string(),
            run: run.clone(),
            turn: request.turn.to_string(),
            subject: serde_json::to_value(&request.subject).ok()?,
            evidence: Basis::of(&request.subject),
            text: prompt::lines(request),
            justification: request.justification.clone(),
            rerun: serde_json::to_value(&request.rerun).ok()?,
            choices: serde_json::to_value(&request.choices).ok()?,
            deadline_ms: self.deadline_ms,
        };
        let room = self.voice.room().await.ok()?;
        // Known before the client can have answered it.
        self.asks(&run, &request.id);
        room.say(&ToClient::ApprovalRequest(Box::new(asking))).ok()?;
        std::future::pending().await
    }
}

impl Expected<'_> {
    /// The question that the client has, where it was put to it.
    pub(super) fn asked(&self) -> Option<ApprovalRequestId> {
        self.front.waiting().iter().find(|one| one.run == self.run).and_then(|one| one.asked.clone())
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.front.waiting().retain(|one| one.run != self.run);
    }
}
