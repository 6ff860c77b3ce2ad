//! Runs in the harness: looks at the host, spawns, feeds descriptors, reads the records, ends the tree, collects.
//!
//! Trust domain: the caller's own process and rights. tokio, on any flavour of runtime; unsafe only in `spawn::system`,
//! `probe::system` and `sys`.

#![deny(unsafe_code)]

pub mod approvals;
mod beneath;
mod capture;
mod command;
pub mod confine;
mod control;
mod course;
mod digest;
mod events;
pub mod facts;
mod fault;
mod feed;
pub mod find;
pub mod foreign;
pub mod guard;
mod journal;
pub mod judge;
mod launch;
pub mod lock;
mod order;
mod permissions;
mod placeholder;
pub mod places;
mod planned;
pub mod policies;
pub mod probe;
pub mod quarantine;
mod ready;
mod refusal;
mod relay;
pub mod run;
pub mod sealed;
mod sink;
mod spawn;
mod stamp;
mod standing;
mod story;
mod stream;
mod summary;
mod sys;
mod tree;
pub mod view;
mod watch;

pub use command::Command;
pub use confine::{Builder, Confine, DetectError};
pub use judge::{End, Ended};
pub use refusal::SpawnError;
pub use run::{Cancel, Event, Events, Run, Stdio};
pub use spawn::adopt;
pub use summary::unstarted;
