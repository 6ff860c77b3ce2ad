//! What a request is about.

use serde::{Deserialize, Serialize};

use crate::denial::Denial;
use crate::escalate::Grant;
use crate::{AbsPath, Text};

/// What is to be allowed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Subject {
    /// A command that a rule says to ask about.
    Command {
        /// Its words.
        argv: Vec<Text>,
        /// Where it starts.
        cwd: AbsPath,
    },
    /// A command with more than the policy in force allows, for this call only.
    Escalation {
        /// Its words.
        argv: Vec<Text>,
        /// Where it starts.
        cwd: AbsPath,
        /// What it would get.
        grant: Grant,
        /// Those of its places that were directories when it was asked: what is granted there holds for all below. A log of an
        /// earlier version has none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        directories: Vec<AbsPath>,
        /// What it was denied; empty for a request made ahead.
        denials: Vec<Denial>,
    },
    /// A connection.
    Connect {
        /// Where to.
        host: String,
        /// Its port.
        port: u16,
    },
    /// A tool of the harness.
    Tool {
        /// Its name.
        name: String,
        /// What it is called with.
        input: serde_json::Value,
        /// Whether it says of itself that it changes nothing.
        read_only: bool,
    },
}
