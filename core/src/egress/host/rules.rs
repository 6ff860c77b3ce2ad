//! Lists of rules.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Endpoint, Host, HostPattern};
use crate::egress::address;

/// What is allowed and what is denied. Deny beats allow, whatever their order; with nothing allowed, nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRules {
    /// Allowed.
    #[serde(default)]
    pub allow: Vec<HostPattern>,
    /// Denied.
    #[serde(default)]
    pub deny: Vec<HostPattern>,
}

/// What the rules say of an endpoint, and which rule says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling<'r> {
    /// It is allowed.
    Allowed(&'r HostPattern),
    /// It is denied, whoever else allows it.
    Denied(&'r HostPattern),
    /// No rule means it, so it is not allowed.
    Unlisted,
}

impl HostRules {
    /// What they say of a host as it is named.
    pub fn rule(&self, endpoint: &Endpoint) -> Ruling<'_> {
        let denied = match endpoint.host {
            Host::Name(_) => self.deny.iter().find(|rule| rule.matches(endpoint)),
            Host::Address(address) => self.denial(address, endpoint.port),
        };
        if let Some(rule) = denied {
            return Ruling::Denied(rule);
        }
        match self.allow.iter().find(|rule| rule.matches(endpoint)) {
            Some(rule) => Ruling::Allowed(rule),
            None => Ruling::Unlisted,
        }
    }

    /// The rule that denies an address, which a name may have resolved to, or an IPv4 address that it holds.
    pub fn denial(&self, address: IpAddr, port: u16) -> Option<&HostPattern> {
        let of = |address| Endpoint { host: Host::Address(address), port };
        let mut readings = address::readings(address).map(of);
        readings.find_map(|endpoint| self.deny.iter().find(|rule| rule.matches(&endpoint)))
    }
}
