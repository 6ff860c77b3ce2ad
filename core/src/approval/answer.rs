//! What an approver says, and what comes of it.

use serde::{Deserialize, Serialize};

use super::RuleId;

/// What rules say of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// It runs.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It does not run.
    Forbid,
}

/// What an approver says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and to what the choice covers for as long as the session lasts.
    AllowForSession,
    /// Yes, and to what the choice covers from now on.
    AllowAlways,
    /// No.
    Reject {
        /// Why, for whoever asked. May be empty.
        #[serde(default)]
        reason: String,
    },
    /// Neither: the person wants the whole thing to stop.
    Cancel,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ApprovalOutcome {
    /// Allowed, this time.
    AllowedOnce,
    /// Allowed, by an answer that covers the session.
    AllowedForSession,
    /// Allowed, by an answer or a rule that covers more than the session.
    AllowedByRule {
        /// Which.
        rule: RuleId,
    },
    /// Refused.
    Rejected {
        /// Why.
        reason: String,
    },
    /// Refused: the person, the caller or the end of the turn stopped it.
    Cancelled,
    /// Refused: nobody answered in time.
    TimedOut,
    /// Refused: nobody was there to answer, or what was there failed.
    Unavailable {
        /// What was the matter.
        reason: String,
    },
}

impl ApprovalOutcome {
    /// Whether it may run.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::AllowedOnce | Self::AllowedForSession | Self::AllowedByRule { .. })
    }

    /// Which kind of refusal it is; `None` where it is none.
    pub const fn refusal(&self) -> Option<RefusalKind> {
        match self {
            Self::AllowedOnce | Self::AllowedForSession | Self::AllowedByRule { .. } => None,
            Self::Rejected { .. } => Some(RefusalKind::Rejected),
            Self::Cancelled => Some(RefusalKind::Cancelled),
            Self::TimedOut => Some(RefusalKind::TimedOut),
            Self::Unavailable { .. } => Some(RefusalKind::Unavailable),
        }
    }

    /// Why it was refused, for people. Empty where it was not.
    pub fn reason(&self) -> &str {
        match self {
            Self::AllowedOnce | Self::AllowedForSession | Self::AllowedByRule { .. } => "",
            Self::Rejected { reason } if reason.is_empty() => "rejected",
            Self::Rejected { reason } | Self::Unavailable { reason } => reason,
            Self::Cancelled => "cancelled",
            Self::TimedOut => "nobody answered in time",
        }
    }
}

/// The kinds of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// Somebody, or a rule, said no.
    Rejected,
    /// It was stopped.
    Cancelled,
    /// Nobody answered in time.
    TimedOut,
    /// Nobody was there.
    Unavailable,
}

/// Who decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// A rule.
    Rule,
    /// An approver.
    Approver,
    /// The service: nobody was asked, or nobody answered.
    Service,
}

/// Why no answer came from the chain of approvers, where it was not the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nobody was there, or what was there crashed, closed its channel, or answered garbage.
    Unavailable {
        /// Which of these, for people.
        reason: String,
    },
    /// Whoever asked went away, or stopped it.
    Cancelled,
}
