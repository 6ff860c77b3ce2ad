//! Runs INSIDE the sandbox, before exec: the codecs of its plan and its records, and the operations of the binary.
//!
//! Trust domain: the sandbox's own process 1 (or, without namespaces, a supervisor outside the program's Landlock
//! domain), with the caller's rights until it gives them up. Synchronous and small. Unsafe only in `sys`, and
//! in the few lines of `main` by which the C library enters.
//!
//! The order of one launch, each step a module: [`plan`] is read; `descriptors` closes what nobody listed; `session`; where the
//! plan says so, the runner's word is awaited (`report`); `view` checks directory and masks; `terminal`; then `program` forks.
//! The child, in `program`: parent-death signal, session, descriptors, the bounding set of `capabilities`, `domain`
//! collected, `rlimits`, all other `capabilities`, no_new_privs, `domain` entered, `lookup`, `filter`, execve(2). The parent
//! makes `scratch` meanwhile, and tells the child where; then, in `reaper`, it gives up its own rights, tells what happens
//! (`report`, [`status`]), obeys, reaps, and ends the tree (`descent`).

pub mod exit;
pub mod plan;
pub mod status;

mod capabilities;
mod descent;
mod descriptors;
mod domain;
mod failure;
mod filter;
mod invocation;
mod launch;
mod lookup;
mod mounts;
mod processes;
mod program;
mod reaper;
mod report;
mod rlimits;
mod scratch;
mod session;
mod sys;
mod terminal;
mod view;

pub use launch::run;
pub use plan::{Bound, Plan, PlanError, Resource, Role, Rule, Ruleset, TerminalSize};
pub use report::MESSAGE_PREFIX;
pub use status::{Command, Record, RecordError, Step};
pub use sys::words;
