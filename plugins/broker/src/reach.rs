//! Whether a tool may reach something: declared by its manifest, then denied, allowed or asked about.

use confine_core::egress::Manifest;
use confine_core::egress::host::{Endpoint, HostPattern, HostRules, Ruling};
use confine_core::egress::manifest::Method;

/// What a tool wants to do with an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// Have a request made.
    Fetch(Method),
    /// Be given a connection.
    Connect,
}

/// How it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The manifest does not declare it, so nobody is asked.
    Undeclared,
    /// A rule of the user's denies it, so nobody is asked.
    Denied(HostPattern),
    /// The user has allowed it: in the lock, or by a rule.
    Allowed(HostPattern),
    /// It is declared, and the user has said nothing about it.
    Unlisted,
}

/// What one tool may reach.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// What it declares.
    pub(crate) manifest: Manifest,
    /// What the user allows and denies it: the policy's rules, and what the lock approves.
    pub(crate) rules: HostRules,
}

impl Reach {
    pub(crate) fn new(manifest: Manifest, policy: &HostRules, approved: &[HostPattern]) -> Self {
        let mut rules = policy.clone();
        rules.allow.extend_from_slice(approved);
        Self { manifest, rules }
    }

    pub(crate) fn standing(&self, want: Want, endpoint: &Endpoint) -> Standing {
        let declared = match want {
            Want::Fetch(method) => self.manifest.declares_fetch(method, endpoint),
            Want::Connect => self.manifest.declares_connect(endpoint),
        };
        if declared.is_none() {
            return Standing::Undeclared;
        }
        match self.rules.rule(endpoint) {
            Ruling::Denied(rule) => Standing::Denied(rule.clone()),
            Ruling::Allowed(rule) => Standing::Allowed(rule.clone()),
            Ruling::Unlisted => Standing::Unlisted,
        }
    }
}

impl std::fmt::Display for Want {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fetch(method) => write!(f, "{method}"),
            Self::Connect => f.write_str("a connection to"),
        }
    }
}
