//! What the sandbox refused, as far as evidence goes. Classification fills it; records alone are proof.
//!
//! [`dialect`] reads what programs print about a refusal; it is evidence for classification, never a verdict.

pub mod dialect;

use serde::{Deserialize, Serialize};

use crate::{AbsPath, Effect, Layer, Text};

pub use dialect::{Attempt, Dialect, DialectError, DialectId, Object, Sighting, Stream};

/// How sure a denial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Anything less than the next.
    Possible,
    /// A known text about a target that the policy blocks and ordinary permissions would have allowed.
    Likely,
    /// A record; never text.
    Proven,
}

/// What was tried, or would be granted: a one-key object in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// A read.
    Read(AbsPath),
    /// A write.
    Write(AbsPath),
    /// A file to be created.
    Precreate(AbsPath),
    /// A connection: `HOST:PORT`, or `HOST` where the port is unknown.
    Connect(String),
    /// A pathname socket.
    Socket(AbsPath),
    /// A device.
    Device(AbsPath),
    /// An operation of git, by the value of `--git` that would let it pass.
    Git(String),
    /// A process, by its number as the program saw it.
    Process(i32),
    /// A system call, by name.
    Syscall(String),
}

/// Where a denial shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The program's standard error.
    Stderr,
    /// Its standard output.
    Stdout,
    /// A record of the stage, the kernel or the broker.
    Record,
}

/// What a denial was concluded from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Where it shows.
    pub source: Source,
    /// The line that tells, at most [`dialect::LINE_BOUND`] bytes of it; `None` for a record.
    pub line: Option<Text>,
    /// The name of the error number (`EROFS`), where it is known.
    pub errno: Option<String>,
}

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// Which effect.
    pub effect: Effect,
    /// Of what.
    pub target: Option<Target>,
    /// By which layer.
    pub layer: Option<Layer>,
    /// How sure.
    pub certainty: Certainty,
    /// From what.
    pub evidence: Evidence,
    /// The smallest grant that would let it pass; `None` where none would.
    pub grant: Option<Target>,
}
