//! Secrets that the broker puts into a tool's requests, and that the tool never holds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::egress::host::HostPattern;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// By which name the user gives its value: upper-case letters, digits and underscores, the first a letter; at most 64.
    pub name: String,
    /// Where in a request it goes.
    pub placement: Placement,
    /// To which hosts only; at least one, each among those of an `http` channel.
    pub hosts: Vec<HostPattern>,
}

/// Where in a request a secret goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Placement {
    /// `header:NAME`: the value of that header, whole. Lower case.
    Header(String),
    /// `bearer`: after `Bearer ` in the header `authorization` (RFC 6750).
    Bearer,
}

/// A word that is no placement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` says not where a credential goes")]
pub struct PlacementError(String);

/// Headers that say how a message is sent, or to whom: the broker's own.
pub(crate) const OWN_HEADERS: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

impl Placement {
    /// The header that it is in, in lower case.
    pub fn header(&self) -> &str {
        match self {
            Self::Header(name) => name,
            Self::Bearer => "authorization",
        }
    }

    /// What stands before the value.
    pub const fn prefix(&self) -> &'static str {
        match self {
            Self::Header(_) => "",
            Self::Bearer => "Bearer ",
        }
    }
}

impl FromStr for Placement {
    type Err = PlacementError;

    fn from_str(word: &str) -> Result<Self, PlacementError> {
        if word == "bearer" {
            return Ok(Self::Bearer);
        }
        let name = word.strip_prefix("header:").filter(|name| is_header(name));
        name.map(|name| Self::Header(name.to_owned())).ok_or_else(|| PlacementError(word.to_owned()))
    }
}

/// A token (RFC 9110, 5.6.2) in lower case, and none of the broker's own.
fn is_header(name: &str) -> bool {
    let token = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    let is_token = !name.is_empty() && name.len() <= 64 && name.bytes().all(token);
    is_token && !OWN_HEADERS.contains(&name)
}

impl TryFrom<String> for Placement {
    type Error = PlacementError;

    fn try_from(word: String) -> Result<Self, PlacementError> {
        word.parse()
    }
}

impl From<Placement> for String {
    fn from(placement: Placement) -> Self {
        placement.to_string()
    }
}

/// As in a manifest.
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Bearer => f.pad("bearer"),
        }
    }
}
