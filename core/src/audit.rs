//! What happened in a session: one line each, each sealed to the one before.
//!
//! The chain shows what was edited, left out or put in by whoever does not make the chain anew; it is no signature. The
//! head, kept beside the log, shows what is missing at its end.

mod chain;
mod event;

pub use chain::{Entry, Fault, Head, Trail};
pub use event::Event;
