//! What a plugin says of itself, version 1: `abi` 1.
//!
//! The manifest is the plugin's claim; the lock is the user's approval; the process that runs the plugin is confined by
//! what is derived from it ([`PolicyFile`](crate::PolicyFile) is `From<&Manifest>`). So it is read strictly: an unknown
//! field is refused unless its name begins with `x-`, a key given twice is refused, sizes are bounded, and every list of
//! words is closed.

#[cfg(test)]
mod cases;
mod channel;
mod credential;
mod difference;
mod error;
mod limits;
mod name;
mod policy;
mod schema;
mod strict;
#[cfg(test)]
mod tests;
mod written;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::approval::Digest;
use crate::egress::host::{Endpoint, HostPattern};

pub use channel::{Channel, Kind, Method};
pub use credential::{Credential, Placement, PlacementError};
pub use difference::Change;
pub use error::{ManifestError, ManifestFault};
pub use limits::{Limits, REPLY_BYTES, TIMEOUT};
pub use name::{NameError, ToolName};
pub use schema::{InputError, Schema, SchemaError};

/// The major version of the ABI that a manifest may name.
pub const ABI: u32 = 1;
/// The longest manifest, in bytes.
pub const LONGEST: usize = 64 * 1024;
/// How many calls one helper may run at once: from 1 to this.
pub const CONCURRENCY: u32 = 64;

/// A manifest that keeps every rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// By which name it is called.
    pub name: ToolName,
    /// Its own version; 1 to 64 letters, digits, dots, hyphens and plus signs, the first a digit.
    pub version: String,
    /// What it does, for people and models: one line, 1 to 512 characters.
    pub summary: String,
    /// Where it reaches; empty where it reaches nothing.
    pub egress: Vec<Channel>,
    /// What it gets put in for it.
    pub credentials: Vec<Credential>,
    /// What it is called with.
    pub input: Schema,
    /// What it answers.
    pub output: Schema,
    /// What a call may take.
    pub limits: Limits,
    /// How many calls one helper runs at once: 1 to 64, 1 where it is not said.
    pub concurrency: u32,
    /// Fields whose name begins with `x-`: they mean nothing here.
    pub extensions: BTreeMap<String, Value>,
    bytes: Vec<u8>,
}

impl Manifest {
    /// Reads a manifest's JSON.
    ///
    /// # Errors
    /// The first rule that it breaks, with the field and the next step.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let value = strict::read(bytes)?;
        written::checked(value, bytes)
    }

    /// The bytes that it was read from.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Of these bytes.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// Every host that it declares, in the order of the manifest.
    pub fn hosts(&self) -> impl Iterator<Item = &HostPattern> + Clone {
        self.egress.iter().flat_map(|channel| &channel.hosts)
    }

    /// The channel that declares a request by `method` to `endpoint`.
    pub fn declares_fetch(&self, method: Method, endpoint: &Endpoint) -> Option<&Channel> {
        let fits = |channel: &&Channel| channel.kind == Kind::Http && channel.methods.contains(&method);
        self.egress.iter().filter(fits).find(|channel| channel.reaches(endpoint))
    }

    /// The channel that declares a connection to `endpoint`.
    pub fn declares_connect(&self, endpoint: &Endpoint) -> Option<&Channel> {
        let fits = |channel: &&Channel| channel.kind == Kind::Tcp;
        self.egress.iter().filter(fits).find(|channel| channel.reaches(endpoint))
    }

    /// The credentials that a request to `endpoint` gets.
    pub fn credentials_for(&self, endpoint: &Endpoint) -> impl Iterator<Item = &Credential> {
        self.credentials.iter().filter(move |one| one.hosts.iter().any(|host| host.matches(endpoint)))
    }

    /// Everything in which this manifest differs from one that was approved, in the order of the fields.
    pub fn changes_from(&self, approved: &Self) -> Vec<Change> {
        difference::between(approved, self)
    }

    /// What this manifest may that `approved` may not; empty where it is as narrow, or narrower.
    pub fn wider_than(&self, approved: &Self) -> Vec<Change> {
        let mut changes = self.changes_from(approved);
        changes.retain(Change::is_wider);
        changes
    }
}
