//! What changed between a manifest that was approved and one that is there now.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::{Channel, Kind, Manifest, Method};
use crate::egress::host::HostPattern;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// A host that it reaches by `kind`, and no longer or not before; for `http` by the methods that are new.
    Host {
        /// How.
        kind: Kind,
        /// Which.
        host: HostPattern,
        /// By which methods; empty for `tcp`.
        methods: Vec<Method>,
        /// Whether it came or went.
        way: Way,
    },
    /// A credential, with what it is put in as and one host.
    Credential {
        /// Its name.
        name: String,
        /// Where it goes.
        placement: String,
        /// To which host.
        host: HostPattern,
        /// Whether it came or went.
        way: Way,
    },
    /// A number.
    Limit {
        /// `limits.reply_bytes`, `limits.timeout_ms` or `concurrency`.
        field: &'static str,
        /// What was approved.
        approved: u64,
        /// What is now.
        now: u64,
    },
    /// Any other field, whose words give no reach of their own.
    Field {
        /// Which.
        field: &'static str,
        /// What was approved.
        approved: String,
        /// What is now.
        now: String,
    },
}

/// Whether something came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// It is there now.
    Added,
    /// It is no longer.
    Removed,
}

impl Change {
    /// Whether the tool may do more with it.
    pub fn is_wider(&self) -> bool {
        match self {
            Self::Host { way, .. } | Self::Credential { way, .. } => *way == Way::Added,
            Self::Limit { approved, now, .. } => now > approved,
            // What it is called with decides what may leave by it.
            Self::Field { field, .. } => *field == "input",
        }
    }
}

/// Everything in which `now` differs from `approved`.
pub(super) fn between(approved: &Manifest, now: &Manifest) -> Vec<Change> {
    let mut changes = Vec::new();
    for kind in [Kind::Http, Kind::Tcp] {
        changes.extend(hosts(kind, approved, now, Way::Removed));
        changes.extend(hosts(kind, now, approved, Way::Added));
    }
    changes.extend(credentials(approved, now, Way::Removed));
    changes.extend(credentials(now, approved, Way::Added));
    changes.extend(limits(approved, now));
    changes.extend(fields(approved, now));
    changes
}

/// What `of` reaches by `kind` and `without` does not: each host with the methods that do not reach it there.
fn hosts(kind: Kind, of: &Manifest, without: &Manifest, way: Way) -> Vec<Change> {
    let mut found: Vec<(HostPattern, BTreeSet<Method>)> = Vec::new();
    for channel in of.egress.iter().filter(|channel| channel.kind == kind) {
        for host in &channel.hosts {
            let reached = |method| is_reached(without, kind, method, host);
            let methods: BTreeSet<Method> =
                channel.methods.iter().copied().filter(|method| !reached(Some(*method))).collect();
            let is_whole = if kind == Kind::Tcp { reached(None) } else { methods.is_empty() };
            if !is_whole {
                merge(&mut found, host, methods);
            }
        }
    }
    found
        .into_iter()
        .map(|(host, methods)| Change::Host { kind, host, methods: methods.into_iter().collect(), way })
        .collect()
}

fn merge(found: &mut Vec<(HostPattern, BTreeSet<Method>)>, host: &HostPattern, methods: BTreeSet<Method>) {
    match found.iter_mut().find(|(known, _)| known == host) {
        Some((_, known)) => known.extend(methods),
        None => found.push((host.clone(), methods)),
    }
}

fn is_reached(manifest: &Manifest, kind: Kind, method: Option<Method>, host: &HostPattern) -> bool {
    let fits = |channel: &&Channel| {
        channel.kind == kind && method.is_none_or(|method| channel.methods.contains(&method))
    };
    let reached: Vec<&HostPattern> = manifest.egress.iter().filter(fits).flat_map(|one| &one.hosts).collect();
    host.is_covered_by(reached)
}

fn credentials(of: &Manifest, without: &Manifest, way: Way) -> Vec<Change> {
    let known = |name: &str, placement: &str, host: &HostPattern| {
        let same = without.credentials.iter().filter(|one| one.name == name);
        let same = same.filter(|one| one.placement.to_string() == placement);
        let hosts: Vec<&HostPattern> = same.flat_map(|one| &one.hosts).collect();
        host.is_covered_by(hosts)
    };
    let all = of.credentials.iter().flat_map(|one| one.hosts.iter().map(move |host| (one, host)));
    all.map(|(one, host)| (one.name.clone(), one.placement.to_string(), host.clone()))
        .filter(|(name, placement, host)| !known(name, placement, host))
        .map(|(name, placement, host)| Change::Credential { name, placement, host, way })
        .collect()
}

fn limits(approved: &Manifest, now: &Manifest) -> Vec<Change> {
    [
        ("limits.reply_bytes", approved.limits.reply_bytes, now.limits.reply_bytes),
        ("limits.timeout_ms", approved.limits.timeout_ms, now.limits.timeout_ms),
        ("concurrency", approved.concurrency.into(), now.concurrency.into()),
    ]
    .into_iter()
    .filter(|(_, approved, now)| approved != now)
    .map(|(field, approved, now)| Change::Limit { field, approved, now })
    .collect()
}

fn fields(approved: &Manifest, now: &Manifest) -> Vec<Change> {
    let extensions = |manifest: &Manifest| {
        serde_json::Value::Object(manifest.extensions.clone().into_iter().collect()).to_string()
    };
    [
        ("name", approved.name.to_string(), now.name.to_string()),
        ("version", approved.version.clone(), now.version.clone()),
        ("summary", approved.summary.clone(), now.summary.clone()),
        ("input", approved.input.as_value().to_string(), now.input.as_value().to_string()),
        ("output", approved.output.as_value().to_string(), now.output.as_value().to_string()),
        ("x-", extensions(approved), extensions(now)),
    ]
    .into_iter()
    .filter(|(_, approved, now)| approved != now)
    .map(|(field, approved, now)| Change::Field { field, approved, now })
    .collect()
}

/// One line: what was approved, what is now.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { kind, host, methods, way } => {
                let methods: Vec<&str> = methods.iter().map(|method| method.name()).collect();
                let by = if methods.is_empty() { String::new() } else { format!(" {}", methods.join(",")) };
                write!(f, "{} {kind}{by} {host}", way.sign())
            }
            Self::Credential { name, placement, host, way } => {
                write!(f, "{} credential {name} as {placement} to {host}", way.sign())
            }
            Self::Limit { field, approved, now } => write!(f, "~ {field}: {approved} -> {now}"),
            Self::Field { field, approved, now } => write!(f, "~ {field}: `{approved}` -> `{now}`"),
        }
    }
}

impl Way {
    const fn sign(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "-",
        }
    }
}
