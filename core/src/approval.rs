//! Asking a person, or whoever stands for one: what is asked, of whom, what the answer is good for.
//!
//! [`Desk`] decides and remembers; it is stepped by whoever has a clock, a disk and front ends. What it does not do: run
//! anything, or make a boundary. The kernel is the boundary.

mod answer;
mod approver;
mod binding;
mod choice;
mod desk;
mod digest;
mod id;
mod memory;
mod permission;
mod request;
mod risk;
mod subject;

pub use answer::{Answer, ApprovalOutcome, By, Decision, Failure, RefusalKind};
pub use approver::{ApprovalPolicy, Approver, async_trait};
pub use binding::{Binding, Bound, Execution, Measured, Part};
pub use choice::{Choice, Cover};
pub use desk::{Ask, AskError, Desk, Ignored, Log, Permit, Refused, Settled, Step};
pub use digest::Digest;
pub use id::{ApprovalRequestId, BadId, PresetName, RuleId, SessionId, TurnId};
pub use memory::{Memory, MemoryError, Rule};
pub use permission::{Permissions, Preset, SessionMode};
pub use request::{ApprovalRequest, DEADLINE, JUSTIFICATION, NOBODY};
pub use risk::RerunRisk;
pub use subject::Subject;
