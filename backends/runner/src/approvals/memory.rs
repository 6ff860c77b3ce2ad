//! The rules that a person's `always` has written: `approvals.toml` in the state directory, which no sandboxed command can
//! write.

use confine_core::approval::{ApprovalRequest, Memory, MemoryError, Rule, RuleId};

use super::error::ApprovalsError;
use super::kept;
use crate::places::Place;

/// Its name.
pub(super) const FILE: &str = "approvals.toml";

/// What it says; nothing where it is not there.
///
/// # Errors
/// A file that is not the user's alone, or no file of rules.
pub(super) fn read(state: &Place) -> Result<Memory, ApprovalsError> {
    let text = kept::read(state, FILE)?;
    text.map_or_else(
        || Ok(Memory::default()),
        |text| Memory::parse(&text).map_err(|error| garbled(state, error)),
    )
}

/// A rule that was written, and how to take it back.
#[derive(Debug)]
pub(super) struct Written {
    /// Which rule allows the request from now on.
    pub(super) rule: RuleId,
    before: Option<String>,
    after: String,
}

/// Adds the rule that allows `request` from now on, by the name `id`, unless one does already. `None` where `always` is not
/// offered for it.
///
/// # Errors
/// As [`read`], and where it cannot be written.
pub(super) fn remember(
    state: &Place,
    request: &ApprovalRequest,
    id: RuleId,
) -> Result<Option<Written>, ApprovalsError> {
    let Some(rule) = Rule::of(request, id) else { return Ok(None) };
    kept::change(state, FILE, |there| {
        let known = there.map_or_else(|| Ok(Memory::default()), Memory::parse);
        let known = known.map_err(|error| garbled(state, error))?;
        let before = there.map(str::to_owned);
        if let Some(known) = known.allowing(request) {
            let after = before.clone().unwrap_or_default();
            return Ok((None, Some(Written { rule: known.id.clone(), before, after })));
        }
        let after = Memory::with(there.unwrap_or_default(), &rule).map_err(|error| garbled(state, error))?;
        Ok((Some(after.clone()), Some(Written { rule: rule.id.clone(), before, after })))
    })
}

/// Takes back what was written, because nothing came of the answer. Where others have added to it since, it stays: a person
/// did say it.
pub(super) fn forget(state: &Place, written: &Written) {
    let taken: Result<(), ApprovalsError> = kept::change(state, FILE, |there| {
        let is_last =
            there == Some(written.after.as_str()) && written.before.as_ref() != Some(&written.after);
        // A file that was not there before is left with nothing in it but its version.
        let empty = || "version = 1\n".to_owned();
        Ok((is_last.then(|| written.before.clone().unwrap_or_else(empty)), ()))
    });
    if let Err(error) = taken {
        tracing::warn!(%error, "a saved approval stays, although its answer came to nothing");
    }
}

fn garbled(state: &Place, source: MemoryError) -> ApprovalsError {
    ApprovalsError::Rules { path: kept::path(state, FILE), source }
}
