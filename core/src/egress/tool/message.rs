//! What a tool asks for, and what it is answered: as JSON in a frame.

use serde::{Deserialize, Serialize};

use crate::egress::host::{Endpoint, Host, HostError};

/// How many headers a message has at most.
const HEADERS: usize = 128;
/// How long all of them are at most, in bytes, and a URL is.
const LONG: usize = 64 * 1024;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Upper case.
    pub method: String,
    /// Absolute, `https://` or `http://`.
    pub url: String,
    /// Names and values, in their order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// From 100 to 599.
    pub status: u16,
    /// Names in lower case, and values, in their order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
}

/// What to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// A name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// Why bytes are no message.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// Not its JSON.
    #[error("{0}")]
    Malformed(#[from] serde_json::Error),
    /// More of something than there may be.
    #[error("it has too many or too long headers, or too long a URL")]
    TooLong,
}

impl Request {
    /// Reads a request's JSON.
    ///
    /// # Errors
    /// What is none, an unknown field, more than 128 headers, a URL or headers of more than 64 KiB.
    pub fn decode(json: &[u8]) -> Result<Self, MessageError> {
        let request: Self = serde_json::from_slice(json)?;
        bounded(&request.headers)?;
        if request.url.len() > LONG { Err(MessageError::TooLong) } else { Ok(request) }
    }
}

impl Head {
    /// Reads a head's JSON.
    ///
    /// # Errors
    /// As [`Request::decode`].
    pub fn decode(json: &[u8]) -> Result<Self, MessageError> {
        let head: Self = serde_json::from_slice(json)?;
        bounded(&head.headers)?;
        Ok(head)
    }
}

impl Target {
    /// Reads a target's JSON.
    ///
    /// # Errors
    /// What is none, and an unknown field.
    pub fn decode(json: &[u8]) -> Result<Self, MessageError> {
        Ok(serde_json::from_slice(json)?)
    }

    /// Its one form.
    ///
    /// # Errors
    /// A host that is none, or not ASCII, or port 0.
    pub fn endpoint(&self) -> Result<Endpoint, HostError> {
        if self.port == 0 {
            return Err(HostError::Port("0".into()));
        }
        Ok(Endpoint { host: Host::from_wire(self.host.as_bytes())?, port: self.port })
    }
}

fn bounded(headers: &[(String, String)]) -> Result<(), MessageError> {
    let bytes: usize = headers.iter().map(|(name, value)| name.len().saturating_add(value.len())).sum();
    if headers.len() > HEADERS || bytes > LONG { Err(MessageError::TooLong) } else { Ok(()) }
}
