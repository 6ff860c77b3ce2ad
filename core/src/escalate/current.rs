//! What was allowed, as the host is by the time of the answer.

use super::Grant;
use crate::Policy;

/// The policy of a run for which `allowed` was shown and said yes to, where the same is resolved to `fresh` now: what listens since the
/// question is hidden too, and nothing is wider than what was shown. `None` where a place among `granted` is something else by
/// now: a link stands there, a directory where a file was, or what was to be made is there.
pub fn current(granted: &[Grant], allowed: &Policy, fresh: Policy) -> Option<Policy> {
    if !granted.iter().all(|grant| grant.opens_the_same(&allowed.fs, &fresh.fs)) {
        return None;
    }
    // What is wider elsewhere is not taken over, as where a hidden socket is gone.
    let is_narrower = fresh.id == allowed.id && allowed.covers(&fresh);
    Some(if is_narrower { fresh } else { allowed.clone() })
}
