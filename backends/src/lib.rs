//! From a policy to a confined argv, for every backend. Pure, no cfg.
//!
//! Trust domain: the harness; no system calls, no host access.

#![forbid(unsafe_code)]

mod access;
mod balance;
pub mod bwrap;
pub mod foreign;
mod governance;
pub mod landlock;
mod launch;
pub mod lower;
pub mod registry;
pub mod seatbelt;
pub mod seccomp;
mod windows;

pub use access::{Row, Showing, Verdict, row};
pub use bwrap::Bwrap;
pub use landlock::Landlock;
pub use lower::{Lowered, Mount, lower};
pub use registry::{Refusals, Registry};
pub use seatbelt::Seatbelt;
pub use windows::Windows;
