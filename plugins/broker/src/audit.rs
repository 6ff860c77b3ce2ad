//! What is written down: one line for each call and one for each connection, also for those that were refused.

use std::net::IpAddr;

use confine_core::approval::Digest;
use confine_core::egress::manifest::{Method, ToolName};
use serde::Serialize;

/// Takes the lines. Whoever keeps them puts the time to them; what may hold a secret was looked through.
pub trait Audit: Send + Sync {
    /// Takes one. It is called in the middle of calls, so it does not wait.
    fn note(&self, note: &Note);
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event")]
pub enum Note {
    /// A call is over.
    #[serde(rename = "egress/call")]
    Call(Call),
    /// A connection is over, was given away, or was refused.
    #[serde(rename = "egress/connection")]
    Connection(Connection),
}

/// Whose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tool {
    /// Its name.
    pub tool: ToolName,
    /// Its version.
    pub version: String,
    /// Of its manifest.
    pub manifest: Digest,
    /// Which call of the broker's, from 1.
    pub call: u64,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// Of which tool.
    #[serde(flatten)]
    pub tool: Tool,
    /// The code of the ABI that it ended with: 0 is success.
    pub code: i32,
    /// Why, where it is not.
    pub error: Option<String>,
    /// How long the reply was, in bytes.
    pub reply_bytes: u64,
    /// How long the call took, in microseconds.
    pub duration_us: u64,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Connection {
    /// For which tool.
    #[serde(flatten)]
    pub tool: Tool,
    /// `http` or `tcp`.
    pub kind: &'static str,
    /// By which method, for `http`.
    pub method: Option<Method>,
    /// The host in its one form.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The address that was dialled.
    pub address: Option<IpAddr>,
    /// Whether it was allowed, and by what.
    pub decision: Decision,
    /// What the server said, for `http`.
    pub status: Option<u16>,
    /// Bytes of the request's body. 0 for `tcp`: nobody sees them.
    pub sent: u64,
    /// Bytes of the answer's body. Likewise.
    pub received: u64,
    /// How long it took, in microseconds; for `tcp` until it was given away.
    pub duration_us: u64,
    /// Why it failed, where it did.
    pub error: Option<String>,
}

/// Whether a connection was allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", content = "rule", rename_all = "kebab-case")]
pub enum Decision {
    /// It ended before that.
    Undecided,
    /// By this rule of the lock's or the policy's.
    Allowed(String),
    /// Somebody was asked and said yes.
    Approved,
    /// The manifest does not declare it.
    Undeclared,
    /// This rule of the policy's denies it.
    Denied(String),
    /// Somebody was asked, or nobody was there to be asked.
    Refused(String),
}

/// Lines for whoever listens to `tracing`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traced;

impl Audit for Traced {
    fn note(&self, note: &Note) {
        let line = serde_json::to_string(note).unwrap_or_default();
        tracing::info!(target: "confine::egress", "{line}");
    }
}
