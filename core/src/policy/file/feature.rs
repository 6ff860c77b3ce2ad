//! Keys of features that this version does not have: known, and refused by the feature's name.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de};

use super::{ApprovalDefault, NetworkAccess, SyscallMode};

const PROXY: &str = "the network proxy";
const TOOLS: &str = "egress tools";
const APPROVALS: &str = "approvals";
const OBSERVER: &str = "the system-call observer";

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

pub(super) fn approval<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ApprovalDefault>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(ApprovalDefault::Ask) => Err(lacking(APPROVALS)),
        default => Ok(default),
    }
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
