//! A request made before the first run.

use super::Grant;
use crate::approval::JUSTIFICATION;

/// What a caller wants beyond the policy in force for one call, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    pub(super) grant: Grant,
    pub(super) justification: String,
}

/// Why a request ahead is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AheadError {
    /// One without the other.
    #[error("`sandbox_permissions` and `justification` go together: one is missing")]
    Half,
    /// Nothing is said.
    #[error("`justification` is empty")]
    Empty,
    /// More than a person reads.
    #[error("`justification` is longer than {JUSTIFICATION} characters")]
    TooLong,
}

impl Ahead {
    /// From the two fields of a call; `None` where neither is there.
    ///
    /// # Errors
    /// When only one is there; a justification that is empty or longer than [`JUSTIFICATION`] characters.
    pub fn new(
        sandbox_permissions: Option<Grant>,
        justification: Option<String>,
    ) -> Result<Option<Self>, AheadError> {
        match (sandbox_permissions, justification) {
            (None, None) => Ok(None),
            (Some(_), Some(text)) if text.trim().is_empty() => Err(AheadError::Empty),
            (Some(_), Some(text)) if text.chars().count() > JUSTIFICATION => Err(AheadError::TooLong),
            (Some(grant), Some(justification)) => Ok(Some(Self { grant, justification })),
            _ => Err(AheadError::Half),
        }
    }
}
