//! Hosts, and which of them a rule means: one matcher for manifests, policies and the proxy.
//!
//! Everything is compared in one form. A name is its A-labels (IDNA, UTS 46), in lower case, without the dot at its end. An
//! address is an [`IpAddr`], whatever spelling it had: every form that `inet_aton`(3) or the WHATWG URL standard reads, an
//! IPv6 address that holds an IPv4 one as `::ffff:0:0/96` does, and a zone id left out.

#[cfg(test)]
mod cases;
mod error;
mod literal;
mod name;
mod pattern;
mod rules;
mod suffix;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

pub use error::{HostError, PatternError, PatternFault};
pub use name::HostName;
pub use pattern::{DEFAULT_PORTS, HostPattern};
pub use rules::{HostRules, Ruling};

use literal::Literal;

/// A host in its one form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A name, which somebody must resolve.
    Name(HostName),
    /// An address.
    Address(IpAddr),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Which host.
    pub host: Host,
    /// Which port of it.
    pub port: u16,
}

impl Host {
    /// A host as a user or a program writes it, without port; an IPv6 address with or without its brackets. Names of other
    /// scripts are taken to A-labels.
    ///
    /// # Errors
    /// Whatever is neither a name nor an address: userinfo, a scheme, a path, a percent sign, a last label that is a number
    /// without the whole being an address.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        match literal::read(text)? {
            Literal::Address(address) => Ok(Self::Address(address)),
            Literal::Name => Self::of_name(HostName::new(text)?),
        }
    }

    /// A host as it came over the wire (a Host header, the target of CONNECT, a server name of TLS).
    ///
    /// # Errors
    /// As [`Host::parse`], and any byte that is not ASCII.
    pub fn from_wire(bytes: &[u8]) -> Result<Self, HostError> {
        Self::parse(ascii(bytes)?)
    }

    /// The name, where it is one.
    pub const fn name(&self) -> Option<&HostName> {
        match self {
            Self::Name(name) => Some(name),
            Self::Address(_) => None,
        }
    }

    /// The address, where it is one.
    pub const fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Name(_) => None,
            Self::Address(address) => Some(*address),
        }
    }

    /// Mapping to A-labels can make an address of what was none: digits of other scripts become ASCII.
    fn of_name(name: HostName) -> Result<Self, HostError> {
        match literal::read(name.as_str())? {
            Literal::Address(address) => Ok(Self::Address(address)),
            Literal::Name => Ok(Self::Name(name)),
        }
    }
}

/// An IPv6 address without brackets.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl Endpoint {
    /// `HOST:PORT`, or `HOST` alone where `default` says which port that is. An IPv6 address needs its brackets.
    ///
    /// # Errors
    /// As [`Host::parse`]; a port that is none, is 0, or is missing without a default.
    pub fn parse(text: &str, default: Option<u16>) -> Result<Self, HostError> {
        let (host, port) = literal::split_port(text)?;
        let port = match port {
            Some(port) => literal::port(port)?,
            None => default.ok_or(HostError::NoPort)?,
        };
        Ok(Self { host: Host::parse(host)?, port })
    }

    /// As [`Endpoint::parse`], of bytes that came over the wire.
    ///
    /// # Errors
    /// As [`Endpoint::parse`], and any byte that is not ASCII.
    pub fn from_wire(bytes: &[u8], default: Option<u16>) -> Result<Self, HostError> {
        Self::parse(ascii(bytes)?, default)
    }
}

/// `HOST:PORT`, an IPv6 address in brackets: what [`Endpoint::parse`] reads.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(f, "{name}:{}", self.port),
            Host::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
        }
    }
}

fn ascii(bytes: &[u8]) -> Result<&str, HostError> {
    let text = std::str::from_utf8(bytes).map_err(|_| HostError::NotAscii)?;
    if text.is_ascii() { Ok(text) } else { Err(HostError::NotAscii) }
}
