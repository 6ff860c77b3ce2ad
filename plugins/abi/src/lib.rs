//! What an egress plugin and its host agree on, in Rust.
//!
//! Trust domain: compiled into plugins, which run in a helper's sandbox, and into the helper. No dependencies. Unsafe
//! only in `plugin`, which turns the table of C functions into a trait, and where the table is said to be `Sync`.
//!
//! [`table`] is `include/confine_egress.h` in `repr(C)`, and that header is the reference: what each function means, who
//! owns which memory, on which thread it runs. [`Tool`] and [`egress_plugin!`] are for plugins written in Rust.

#![deny(unsafe_code)]

pub mod code;
pub mod plugin;
pub mod table;

pub use code::Code;
pub use plugin::{Answer, Fault, Host, Level, Reply, Tool};
