//! The language of `confine serve`, version 1: one JSON object a line, each with its `kind`.
//!
//! Trust domain: both ends belong to the same user, and each reads what the other wrote as if it did not. Pure: bytes in,
//! messages out. `docs/serve.md` says what follows what.

mod client;
mod error;
mod lines;
#[cfg(feature = "schema")]
mod schema;
mod server;
#[cfg(test)]
mod tests;

pub use client::{
    Approvals, Asked, Cancelled, FromClient, Greeting, Input, Launch, Name, NameError, Question, Ruling,
    Signalled, Stdin, TurnNamed, Withdrawn, Word,
};
pub use error::{Fault, Malformed, Names};
pub use lines::{Lines, TooLong};
#[cfg(feature = "schema")]
pub use schema::schema;
pub use server::{
    Asking, Basis, Checked, Chunk, Complaint, Decided, Described, Ended, Found, Planned, Shown, Started,
    Stream, Taken, ToClient, TurnChanged, Welcome,
};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// The longest line that a server reads, in bytes, without its newline.
pub const LONGEST_LINE: usize = 1024 * 1024;

/// The longest name of a run, a turn or a request, in bytes.
pub const LONGEST_NAME: usize = 128;
