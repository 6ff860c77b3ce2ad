//! Runs in the harness: looks at the host, spawns, feeds descriptors, reads the records, ends the tree, collects.
//!
//! Trust domain: the caller's own process and rights. tokio, on any flavour of runtime; unsafe only in [`spawn`].

pub mod confine;
pub mod guard;
pub mod run;

pub use confine::{Builder, Command, Confine, DetectError, SpawnError};
pub use run::{Cancel, Event, Events, Run, Stdio};
