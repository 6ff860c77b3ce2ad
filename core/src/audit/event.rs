//! The events.

use serde::{Deserialize, Serialize};

use crate::approval::{
    ApprovalOutcome, ApprovalPolicy, ApprovalRequest, ApprovalRequestId, By, Digest, Ignored, PresetName,
    SessionId, SessionMode, TurnId,
};

/// What is written down. A kind that is not known is an error: it may have taken back what an earlier one gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum Event {
    /// A process begins to write. Another boot of the machine ends every turn of the one before.
    #[serde(rename = "session/opened")]
    SessionOpened {
        /// Which session.
        session: SessionId,
        /// Which boot of the machine, as the kernel names it.
        boot: String,
    },
    /// Nothing is allowed any more.
    #[serde(rename = "session/revoked")]
    SessionRevoked {},
    /// Requests may be made in it.
    #[serde(rename = "turn/opened")]
    TurnOpened {
        /// Which.
        turn: TurnId,
    },
    /// No longer.
    #[serde(rename = "turn/closed")]
    TurnClosed {
        /// Which.
        turn: TurnId,
    },
    /// A preset was chosen: it sets both knobs by itself, and the two events that follow say each.
    #[serde(rename = "permission/preset")]
    PresetChosen {
        /// Which.
        preset: PresetName,
        /// Its mode.
        mode: SessionMode,
        /// Whether anybody is asked under it.
        approval: ApprovalPolicy,
    },
    /// The mode was set.
    #[serde(rename = "permission/mode")]
    ModeSet {
        /// To what.
        mode: SessionMode,
    },
    /// The approval policy was set.
    #[serde(rename = "permission/approval")]
    ApprovalSet {
        /// To what.
        approval: ApprovalPolicy,
    },
    /// A question was asked.
    #[serde(rename = "approval/asked")]
    Asked {
        /// The question.
        request: Box<ApprovalRequest>,
        /// How long the answer may take.
        limit_ms: u64,
        /// The same question, asked before, whose answer it waits for.
        joins: Option<ApprovalRequestId>,
    },
    /// It was decided.
    #[serde(rename = "approval/decided")]
    Decided {
        /// Which question.
        id: ApprovalRequestId,
        /// How.
        outcome: ApprovalOutcome,
        /// By whom.
        by: By,
    },
    /// The answer was used, once and for all.
    #[serde(rename = "approval/used")]
    Used {
        /// Which question.
        id: ApprovalRequestId,
        /// What ran.
        binding: Digest,
    },
    /// Something that came too late, twice, or about nothing.
    #[serde(rename = "approval/ignored")]
    Ignored {
        /// Which question it named.
        id: ApprovalRequestId,
        /// Why.
        why: Ignored,
    },
}
