//! What the layers say together: lists add up, scalars replace; and the identity of the result.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use super::places::Places;
use super::words::absolute;
use super::{Request, ResolveError, Written};
use crate::policy::file::{ApprovalAudit, ApprovalDefault, EnvironmentTable, Filesystem, NetworkAccess};
use crate::policy::fs::{MissingProtected, Proc, Symlinks, Tmp};
use crate::policy::git::Git;
use crate::policy::{EnvPlan, Limits, Mode, NetPlan, PolicyFile, PolicyId, Source};
use crate::{AbsPath, Effect, Effects, Text};

/// Every setting that is no path.
#[derive(Clone, Debug, Serialize)]
pub(in crate::policy) struct Settings {
    pub(in crate::policy) mode: Mode,
    pub(in crate::policy) git: Git,
    pub(in crate::policy) missing_protected: MissingProtected,
    pub(in crate::policy) tmp: Tmp,
    pub(in crate::policy) proc: Proc,
    pub(in crate::policy) symlinks: Symlinks,
    pub(in crate::policy) net: NetPlan,
    pub(in crate::policy) env: EnvPlan,
    pub(in crate::policy) limits: Limits,
    pub(in crate::policy) nested: bool,
    pub(in crate::policy) require: Effects,
    pub(in crate::policy) accept_missing: Effects,
    /// Who answers a denial changes nothing of what is enforced, so it identifies no policy.
    #[serde(skip)]
    pub(in crate::policy) approval: ApprovalDefault,
    /// Nor does what becomes of the log.
    #[serde(skip)]
    pub(in crate::policy) audit: ApprovalAudit,
    /// Whether `/` is readable because nobody said what is.
    pub(in crate::policy) default_read: bool,
}

/// Whether a layer replaces the defaults; the command line and grants add to them.
fn is_policy(layer: &Written) -> bool {
    matches!(layer.source, Source::BuiltIn | Source::File(_))
}

impl Settings {
    pub(in crate::policy) fn merge(layers: &[Written]) -> Result<Self, ResolveError> {
        let files = || layers.iter().map(|layer| &layer.file);
        let policies = || layers.iter().filter(|layer| is_policy(layer)).map(|layer| &layer.file);
        if let Some((key, feature)) = files().find_map(PolicyFile::lacking) {
            return Err(ResolveError::Feature { key, feature });
        }
        let effects = |list: fn(&PolicyFile) -> &Vec<Effect>| files().flat_map(list).copied().collect();
        Ok(Self {
            mode: last(layers, |file| file.mode),
            git: last(layers, |file| file.filesystem.git),
            missing_protected: last(layers, |file| file.filesystem.missing_protected),
            tmp: last(layers, |file| file.filesystem.tmp),
            proc: last(layers, |file| file.filesystem.proc),
            symlinks: last(layers, |file| file.filesystem.symlinks),
            net: last(layers, |file| file.network.access.map(net)),
            env: environment(layers)?,
            limits: limits(layers),
            nested: last(layers, |file| file.enforcement.nested),
            require: effects(|file| &file.enforcement.require),
            accept_missing: effects(|file| &file.enforcement.accept_missing),
            approval: last(layers, |file| file.approval.default),
            audit: last(layers, |file| file.approval.audit),
            default_read: !policies().any(|file| file.filesystem.read.is_some()),
        })
    }
}

/// The last word on a setting, or its default.
fn last<T: Default>(layers: &[Written], setting: impl Fn(&PolicyFile) -> Option<T>) -> T {
    optional(layers, setting).unwrap_or_default()
}

fn optional<T>(layers: &[Written], setting: impl Fn(&PolicyFile) -> Option<T>) -> Option<T> {
    layers.iter().rev().find_map(|layer| setting(&layer.file))
}

/// A policy that asks for the proxy is refused before.
const fn net(access: NetworkAccess) -> NetPlan {
    match access {
        NetworkAccess::Open => NetPlan::Open,
        NetworkAccess::Off | NetworkAccess::Proxy => NetPlan::Off,
    }
}

fn environment(layers: &[Written]) -> Result<EnvPlan, ResolveError> {
    let stated = layers.iter().any(|layer| is_policy(layer) && layer.file.environment.pass.is_some());
    let mut pass: BTreeSet<String> =
        if stated { BTreeSet::new() } else { EnvironmentTable::default_pass().into_iter().collect() };
    let mut set = BTreeMap::new();
    for table in layers.iter().map(|layer| &layer.file.environment) {
        pass.extend(table.pass.iter().flatten().cloned());
        set.extend(table.set.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    let bad = pass.iter().find(|name| !is_name(name.strip_suffix('*').unwrap_or(name)) && *name != "*");
    match bad.or_else(|| set.keys().find(|name| !is_name(name))) {
        Some(name) => Err(ResolveError::Variable(Text::from(name.as_str()))),
        None => Ok(EnvPlan { pass: pass.into_iter().collect(), set }),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0', '*'])
}

fn limits(layers: &[Written]) -> Limits {
    Limits {
        time: optional(layers, |file| file.limits.time).map(|span| span.0),
        memory: optional(layers, |file| file.limits.memory).map(|size| size.0),
        processes: optional(layers, |file| file.limits.processes),
        cpu: optional(layers, |file| file.limits.cpu).map(|span| whole_seconds(span.0)),
        file_size: optional(layers, |file| file.limits.file_size).map(|size| size.0),
        open_files: optional(layers, |file| file.limits.open_files),
        background: last(layers, |file| file.limits.background),
    }
}

/// RLIMIT_CPU counts seconds, and 0 would end the program at once.
fn whole_seconds(span: Duration) -> Duration {
    Duration::from_secs(span.as_secs() + u64::from(span.subsec_nanos() > 0))
}

/// What identifies a policy: its settings, its roots, and every entry as an absolute path that is not expanded.
#[derive(Serialize)]
struct Identity<'a> {
    version: u32,
    settings: &'a Settings,
    workspaces: &'a BTreeSet<AbsPath>,
    layers: Vec<BTreeMap<&'static str, BTreeSet<Text>>>,
}

/// The digest.
pub(in crate::policy) fn identity(request: &Request, settings: &Settings, places: &Places) -> PolicyId {
    let layer = |written: &Written| {
        let mut lists: BTreeMap<&'static str, BTreeSet<Text>> = BTreeMap::new();
        for (key, words) in lists_of(&written.file.filesystem) {
            let words = words.iter().flat_map(|word| absolute(written, key, word, places));
            words.for_each(|word| {
                lists.entry(key).or_default().insert(word);
            });
        }
        lists
    };
    let layers = request.layers.iter().map(layer).filter(|lists| !lists.is_empty()).collect();
    let identity = Identity { version: 1, settings, workspaces: &places.workspaces, layers };
    PolicyId::of(&canonical(&identity))
}

#[expect(clippy::expect_used, reason = "every key of the value is a string, so JSON can hold it")]
fn canonical(identity: &Identity<'_>) -> Vec<u8> {
    serde_json::to_vec(identity).expect("invariant: an identity is JSON")
}

/// The lists of paths, by key, in the order in which they are resolved.
pub(in crate::policy) fn lists_of(table: &Filesystem) -> [(&'static str, &[Text]); 7] {
    [
        ("read", table.read.as_deref().unwrap_or_default()),
        ("write", &table.write),
        ("protect", &table.protect),
        ("hide", &table.hide),
        ("sockets", &table.sockets),
        ("devices", &table.devices),
        ("precreate", &table.precreate),
    ]
}
