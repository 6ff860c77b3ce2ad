//! The outcomes that the desk itself gives, and the words for them.

use crate::approval::{Answer, ApprovalOutcome, NOBODY, RuleId};

pub(super) fn outcome(answer: Answer, rule: Option<RuleId>) -> ApprovalOutcome {
    match answer {
        Answer::AllowOnce => ApprovalOutcome::AllowedOnce,
        Answer::AllowForSession => ApprovalOutcome::AllowedForSession,
        Answer::AllowAlways => match rule {
            Some(rule) => ApprovalOutcome::AllowedByRule { rule },
            None => ApprovalOutcome::AllowedOnce,
        },
        Answer::Reject { reason } => ApprovalOutcome::Rejected { reason },
        Answer::Cancel => ApprovalOutcome::Cancelled,
    }
}

pub(super) fn rejected(reason: &str) -> ApprovalOutcome {
    ApprovalOutcome::Rejected { reason: reason.to_owned() }
}

pub(super) fn revoked() -> ApprovalOutcome {
    rejected("the session was revoked")
}

pub(super) fn never() -> ApprovalOutcome {
    rejected("approvals are off (`never`)")
}

pub(super) fn unavailable(reason: &str) -> ApprovalOutcome {
    let reason = if reason.is_empty() { NOBODY } else { reason };
    ApprovalOutcome::Unavailable { reason: reason.to_owned() }
}
