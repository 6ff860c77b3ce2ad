//! Keys of features that this version does not have: known, and refused by the feature's name.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de};

use super::{NetworkAccess, PolicyFile, SyscallMode};

const PROXY: &str = "the network proxy";
const TOOLS: &str = "egress tools";
const OBSERVER: &str = "the system-call observer";

impl PolicyFile {
    /// The first key that asks for a feature which this version does not have, and the feature. A parsed policy has
    /// none.
    pub fn lacking(&self) -> Option<(&'static str, &'static str)> {
        let (network, mode) = (&self.network, self.syscalls.mode);
        let rows = [
            (network.access == Some(NetworkAccess::Proxy), "network.access", PROXY),
            (!network.allow.is_empty(), "network.allow", PROXY),
            (!network.deny.is_empty(), "network.deny", PROXY),
            (!network.resolve.is_empty(), "network.resolve", PROXY),
            (!self.egress.tools.is_empty(), "egress.tools", TOOLS),
            (mode == Some(SyscallMode::Log), "syscalls.mode", OBSERVER),
        ];
        rows.into_iter().find_map(|(asked, key, feature)| asked.then_some((key, feature)))
    }
}

fn lacking<E: de::Error>(feature: &str) -> E {
    E::custom(format_args!("needs {feature}, which this version does not have"))
}

pub(super) fn access<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NetworkAccess>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(NetworkAccess::Proxy) => Err(lacking(PROXY)),
        access => Ok(access),
    }
}

pub(super) fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    empty(Vec::deserialize(deserializer)?, Vec::is_empty, PROXY)
}

pub(super) fn names<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    empty(BTreeMap::deserialize(deserializer)?, BTreeMap::is_empty, PROXY)
}

pub(super) fn tools<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    empty(Vec::deserialize(deserializer)?, Vec::is_empty, TOOLS)
}

pub(super) fn syscalls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SyscallMode>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(SyscallMode::Log) => Err(lacking(OBSERVER)),
        mode => Ok(mode),
    }
}

fn empty<T, E: de::Error>(value: T, is_empty: fn(&T) -> bool, feature: &str) -> Result<T, E> {
    if is_empty(&value) { Ok(value) } else { Err(lacking(feature)) }
}
