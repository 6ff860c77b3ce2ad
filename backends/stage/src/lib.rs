//! Runs INSIDE the sandbox, before exec: the codecs of its plan and its records, and the operations of the binary.
//!
//! Trust domain: the sandbox's own process 1 (or, without namespaces, a supervisor outside the program's Landlock
//! domain), with the caller's rights until it gives them up. Synchronous and small. Unsafe only in [`sys`].

pub mod plan;
pub mod status;

pub use plan::{Plan, PlanError, Resource, Role, Rule, Ruleset, TerminalSize};
pub use status::{Command, Record, RecordError, Step};

/// What every line begins with that the stage writes to its standard error for a foreign spawner.
pub const MESSAGE_PREFIX: &str = "confine-stage: ";
