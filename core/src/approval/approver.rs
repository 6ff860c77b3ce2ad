//! Whoever answers.

use serde::{Deserialize, Serialize};

use super::{Answer, ApprovalRequest};

pub use async_trait::async_trait;

/// Somebody who may answer. Approvers stand in a chain; the first that answers wins. One that panics has not answered, where
/// the profile that the program is built with unwinds; with `panic = "abort"` it ends the program, and nothing is allowed.
///
/// ```
/// use confine_core::approval::{Answer, ApprovalRequest, Approver, async_trait};
///
/// struct Nobody;
///
/// #[async_trait]
/// impl Approver for Nobody {
///     async fn answer(&self, _: &ApprovalRequest) -> Option<Answer> {
///         Some(Answer::Reject { reason: "not on my watch".into() })
///     }
/// }
/// ```
#[async_trait]
pub trait Approver: Send + Sync {
    /// The answer; `None`: not mine, ask the next. Dropped at the request's deadline, or when somebody else answered.
    async fn answer(&self, request: &ApprovalRequest) -> Option<Answer>;
}

/// Whether anybody is asked at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// Approvers are asked.
    Ask,
    /// Nobody is, whoever has registered: what needs an approval is refused.
    #[default]
    Never,
}
