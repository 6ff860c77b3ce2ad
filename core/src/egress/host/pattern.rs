//! Rules about hosts.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::error::PatternFault;
use super::{Endpoint, Host, HostError, HostName, PatternError, literal, suffix};
use crate::egress::address::unmapped;

/// The ports of a rule without one.
pub const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// `NAME`, `*.NAME`, an address or a network (`10.0.0.0/8`, `[fd00::]/8`), each with or without `:PORT`.
///
/// `*.NAME` means every name below, not the name itself. Without a port it means 443 and 80. An address or a network means
/// hosts that are written as addresses, never names that resolve to one. A name that anybody can have names below (`com`,
/// `*.co.uk`) is no rule; neither is `*`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    hosts: Hosts,
    port: Option<u16>,
}

/// Without the port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Hosts {
    Exactly(HostName),
    Below(HostName),
    Network(IpNet),
}

impl HostPattern {
    /// # Errors
    /// Whatever is none, with what to write instead: [`PatternError::help`].
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        read(text).map_err(|fault| PatternError { pattern: text.to_owned(), help: help(text, &fault), fault })
    }

    /// Whether `endpoint` is one of those that it means.
    pub fn matches(&self, endpoint: &Endpoint) -> bool {
        self.ports().contains(&endpoint.port) && self.hosts.contain(&endpoint.host)
    }

    /// Whether every endpoint that `other` means is one that this one means, on `other`'s `port`.
    fn covers_at(&self, other: &Self, port: u16) -> bool {
        self.ports().contains(&port) && self.hosts.include(&other.hosts)
    }

    /// Whether the patterns of `list` together mean everything that this one does.
    pub fn is_covered_by<'p>(&self, list: impl IntoIterator<Item = &'p Self> + Clone) -> bool {
        self.ports().iter().all(|port| list.clone().into_iter().any(|more| more.covers_at(self, *port)))
    }

    /// The ports that it means.
    pub fn ports(&self) -> &[u16] {
        self.port.as_ref().map_or(&DEFAULT_PORTS, std::slice::from_ref)
    }

    /// The network that it means, where it is one of addresses; that of a single one has all bits in its prefix.
    pub const fn network(&self) -> Option<IpNet> {
        match self.hosts {
            Hosts::Network(network) => Some(network),
            Hosts::Exactly(_) | Hosts::Below(_) => None,
        }
    }
}

impl Hosts {
    fn contain(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Exactly(exact), Host::Name(name)) => exact == name,
            (Self::Below(apex), Host::Name(name)) => name.is_below(apex),
            (Self::Network(network), Host::Address(address)) => network.contains(&unmapped(*address)),
            (Self::Exactly(_) | Self::Below(_), Host::Address(_)) | (Self::Network(_), Host::Name(_)) => {
                false
            }
        }
    }

    fn include(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Below(apex), Self::Exactly(name)) => name.is_below(apex),
            (Self::Below(apex), Self::Below(other)) => other == apex || other.is_below(apex),
            (Self::Network(network), Self::Network(other)) => network.contains(other),
            (more, less) => more == less,
        }
    }
}

fn read(text: &str) -> Result<HostPattern, PatternFault> {
    if text.contains("://") {
        return Err(HostError::Scheme.into());
    }
    if let Some(pattern) = network(text)? {
        return Ok(pattern);
    }
    let (host, port) = literal::split_port(text)?;
    let port = port.map(literal::port).transpose()?;
    let hosts = match host.strip_prefix("*.") {
        Some(apex) => below(apex)?,
        None => exactly(host)?,
    };
    Ok(HostPattern { hosts, port })
}

fn below(apex: &str) -> Result<Hosts, PatternFault> {
    if apex.contains('*') {
        return Err(PatternFault::Star);
    }
    match Host::parse(apex)? {
        Host::Address(_) => Err(PatternFault::StarAddress),
        Host::Name(apex) if suffix::is_anybodys(&apex) => {
            Err(PatternFault::PublicSuffix(apex.as_str().to_owned()))
        }
        Host::Name(apex) => Ok(Hosts::Below(apex)),
    }
}

fn exactly(host: &str) -> Result<Hosts, PatternFault> {
    match host {
        "*" => return Err(PatternFault::Everything),
        host if host.contains('*') => return Err(PatternFault::Star),
        _ => {}
    }
    match Host::parse(host)? {
        Host::Address(address) if is_plain(host, address) => Ok(Hosts::Network(address.into())),
        Host::Address(address) => Err(PatternFault::Form(shown(address))),
        Host::Name(name) if suffix::is_registry(&name) => {
            Err(PatternFault::PublicSuffix(name.as_str().to_owned()))
        }
        Host::Name(name) => Ok(Hosts::Exactly(name)),
    }
}

/// `ADDRESS/PREFIX`, with or without a port; `None` where there is no slash.
fn network(text: &str) -> Result<Option<HostPattern>, PatternFault> {
    let Some((address, rest)) = text.split_once('/') else { return Ok(None) };
    let (prefix, port) = match rest.split_once(':') {
        Some((prefix, port)) => (prefix, Some(literal::port(port)?)),
        None => (rest, None),
    };
    // `example.com/8` is a path, not a network.
    let Ok(Host::Address(known)) = Host::parse(address) else { return Err(HostError::Path.into()) };
    if !is_plain(&bracketed(address), known) {
        return Err(PatternFault::Form(shown(known)));
    }
    let bad = || PatternFault::Prefix(prefix.to_owned());
    let is_number = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
    let length: u8 = prefix.parse().ok().filter(|_| is_number).ok_or_else(bad)?;
    let shortest = if known.is_ipv4() { 8 } else { 7 };
    let network = IpNet::new(known, length).map_err(|_| bad())?;
    if length < shortest {
        return Err(bad());
    }
    if network.trunc() != network {
        return Err(PatternFault::Network(network.trunc().to_string()));
    }
    Ok(Some(HostPattern { hosts: Hosts::Network(network), port }))
}

/// A network's address may have brackets or not.
fn bracketed(address: &str) -> String {
    if address.contains(':') && !address.starts_with('[') { format!("[{address}]") } else { address.into() }
}

/// Whether it is written as the address that it is: IPv4 in its one form, IPv6 in brackets, without zone.
fn is_plain(host: &str, address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => host == address.to_string(),
        IpAddr::V6(_) => host.starts_with('[') && !host.contains('%'),
    }
}

fn shown(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn help(text: &str, fault: &PatternFault) -> String {
    match fault {
        PatternFault::Everything => "name the hosts one by one, or `*.NAME` for all below a name".into(),
        PatternFault::PublicSuffix(suffix) => format!("name what is below, such as `example.{suffix}`"),
        PatternFault::Star => "write `*.NAME`, which means every name below it".into(),
        PatternFault::StarAddress => "write a network, such as `10.0.0.0/8`".into(),
        PatternFault::Form(address) => format!("write `{address}`"),
        PatternFault::Network(network) => format!("write `{network}`"),
        PatternFault::Prefix(_) => "write a network, such as `10.0.0.0/8`, or `[fd00::]/8`".into(),
        PatternFault::Host(HostError::Port(_)) => "write `HOST:PORT`".into(),
        PatternFault::Host(_) => match bare(text) {
            Some(host) => format!("write `{host}`"),
            None => "write `NAME`, `*.NAME`, an address or a network, with or without `:PORT`".into(),
        },
    }
}

/// The rule that was probably meant: without scheme, user, path, and with brackets.
fn bare(text: &str) -> Option<String> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    [host.to_owned(), bracketed(host)].into_iter().find(|host| host != text && read(host).is_ok())
}

impl FromStr for HostPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for HostPattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        Self::parse(&text)
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.to_string()
    }
}

/// In its one form: what [`HostPattern::parse`] reads as the same.
impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::Exactly(name) => write!(f, "{name}"),
            Hosts::Below(apex) => write!(f, "*.{apex}"),
            Hosts::Network(network) if network.prefix_len() == network.max_prefix_len() => {
                f.write_str(&shown(network.addr()))
            }
            Hosts::Network(network) => write!(f, "{}/{}", shown(network.addr()), network.prefix_len()),
        }?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}
