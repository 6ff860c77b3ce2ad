//! From a policy to a confined argv, for every backend. Pure, no cfg.
//!
//! Trust domain: the harness; no system calls, no host access.

#![forbid(unsafe_code)]

pub mod registry;

pub use registry::{Refusals, Registry};
