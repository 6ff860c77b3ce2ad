//! Runs in the harness: looks at the host, spawns, feeds descriptors, reads the records, ends the tree, collects.
//!
//! Trust domain: the caller's own process and rights. tokio, on any flavour of runtime; unsafe only in [`spawn`].

mod beneath;
pub mod confine;
mod digest;
pub mod facts;
pub mod find;
pub mod guard;
pub mod places;
pub mod policies;
pub mod run;
mod sys;
pub mod view;

pub use confine::{Builder, Command, Confine, DetectError, SpawnError};
pub use run::{Cancel, Event, Events, Run, Stdio};
