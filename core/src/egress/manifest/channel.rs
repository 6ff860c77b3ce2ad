//! Where a tool reaches, and how.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::egress::host::{Endpoint, HostPattern};

/// One way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// How.
    pub kind: Kind,
    /// Which hosts; at least one.
    pub hosts: Vec<HostPattern>,
    /// Which methods: at least one for `http`, none for `tcp`. Sorted.
    pub methods: Vec<Method>,
}

/// Who speaks with the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The broker: the tool has requests made.
    Http,
    /// The tool: it is given the connected socket.
    Tcp,
}

/// A method of HTTP. `CONNECT` and `TRACE` are none here: they reach further than the host that they name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Deletes.
    Delete,
    /// Reads.
    Get,
    /// Reads the head only.
    Head,
    /// Asks what is possible.
    Options,
    /// Changes a part.
    Patch,
    /// Sends.
    Post,
    /// Replaces.
    Put,
}

impl Channel {
    /// Whether one of its hosts is `endpoint`.
    pub fn reaches(&self, endpoint: &Endpoint) -> bool {
        self.hosts.iter().any(|host| host.matches(endpoint))
    }
}

impl Kind {
    /// As in a manifest.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tcp => "tcp",
        }
    }
}

impl Method {
    /// Every one, in the order of their names.
    pub const ALL: [Self; 7] =
        [Self::Delete, Self::Get, Self::Head, Self::Options, Self::Patch, Self::Post, Self::Put];

    /// By its name, which is upper case.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Upper case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delete => "DELETE",
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
            Self::Patch => "PATCH",
            Self::Post => "POST",
            Self::Put => "PUT",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
