//! What goes into a step of the desk, and what comes out.

use std::io;
use std::time::Duration;

use super::Ignored;
use crate::approval::{
    ApprovalOutcome, ApprovalRequest, ApprovalRequestId, Binding, By, RerunRisk, Subject, TurnId,
};
use crate::audit::Event;

/// Where events are written down.
pub trait Log {
    /// Writes all of `events` or none, so that they are still there after a crash. `at` is the time of the step.
    ///
    /// # Errors
    /// When they are not written.
    fn append(&mut self, events: &[Event], at: Duration) -> io::Result<()>;
}

/// What is to be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Fresh, and not to be guessed.
    pub id: ApprovalRequestId,
    /// An open turn.
    pub turn: TurnId,
    /// About what.
    pub subject: Subject,
    /// As measured now.
    pub binding: Binding,
    /// At most [`JUSTIFICATION`](crate::approval::JUSTIFICATION) characters.
    pub justification: Option<String>,
    /// What a yes means where it already ran.
    pub rerun: RerunRisk,
    /// How long an answer may take.
    pub limit: Duration,
}

/// What to do about a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing: it is decided. Nobody is to be asked.
    Decided(ApprovalOutcome, By),
    /// Put it to the approvers, then say what came of it: [`answer`](super::Desk::answer), [`fail`](super::Desk::fail), or [`expire`](super::Desk::expire).
    Prompt(Box<ApprovalRequest>),
    /// Wait: the same is being asked already, and a [`Settled`] will say what comes of it.
    Wait,
}

/// What a step has come to, in the order of asking.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// This question is decided; tell whoever waits for it.
    Decided(ApprovalRequestId, ApprovalOutcome, By),
    /// This one waited for another, and is to be put to the approvers itself now.
    Prompt(Box<ApprovalRequest>),
    /// What came was for nothing.
    Ignored(ApprovalRequestId, Ignored),
}

/// That an allowed command may start, once: the use is written down. It cannot be copied.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    id: ApprovalRequestId,
}

impl Permit {
    pub(super) fn new(id: ApprovalRequestId) -> Self {
        Self { id }
    }

    /// Of which question.
    pub fn id(&self) -> &ApprovalRequestId {
        &self.id
    }
}
