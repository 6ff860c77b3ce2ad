//! One question.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ApprovalRequestId, Binding, Choice, RerunRisk, Subject, TurnId};

/// How long an answer may take where nobody says otherwise.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// The longest justification, in characters.
pub const JUSTIFICATION: usize = 1_000;
/// The reason of a refusal where there is nobody to ask.
pub const NOBODY: &str = "approval needed, non-interactive";

/// A question, as an approver gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Fresh for each.
    pub id: ApprovalRequestId,
    /// In which turn.
    pub turn: TurnId,
    /// About what. Show it by [`visible`](crate::visible) only.
    pub subject: Subject,
    /// What an answer is good for.
    pub binding: Binding,
    /// Why it is wanted, in the words of whoever wants it: a claim, at most [`JUSTIFICATION`] characters.
    pub justification: Option<String>,
    /// What a yes means where it already ran.
    pub rerun: RerunRisk,
    /// The answers that are taken.
    pub choices: Vec<Choice>,
}

impl ApprovalRequest {
    /// Whether `one` and `other` ask the same of a person.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.binding == other.binding
            && self.subject == other.subject
            && self.justification == other.justification
            && self.rerun == other.rerun
    }
}
