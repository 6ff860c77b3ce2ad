//! From a denial to the smallest grant that would lift it, and from a yes to the policy of one more run.
//!
//! A state machine, stepped by whoever runs and asks. Text alone never grants: what is proposed comes from a judgement, and
//! is resolved like every other layer of a policy, so that what is hidden, or confine's own, stays so.

mod ahead;
mod current;
mod grant;
mod machine;
mod streak;

pub use ahead::{Ahead, AheadError};
pub use current::current;
pub use grant::{BadGrant, Grant};
pub use machine::{Done, Escalation, Proposal, Step, Why};
pub use streak::{Repeated, Streak};
