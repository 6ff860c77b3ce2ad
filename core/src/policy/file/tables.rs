//! The tables of a policy file, key by key.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::feature;
use crate::policy::Background;
use crate::policy::fs::{MissingProtected, Proc, Symlinks, Tmp};
use crate::policy::git::Git;
use crate::policy::quantity::{Size, Span};
use crate::{Effect, Text};

/// The major version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// 1.
    #[default]
    One,
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(1)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match i64::deserialize(deserializer)? {
            1 => Ok(Self::One),
            other => Err(de::Error::custom(format_args!("version {other} is not known here, only 1 is"))),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Version {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Version".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "const": 1 })
    }
}

/// `[filesystem]`: what may be seen and changed. The nearest listed ancestor of a path decides.
///
/// Entries of `read`, `write`, `hide` and `protect` are patterns (`*`, `?`, `[…]`, `**`, escaped by `\`), unless they
/// exist literally. Relative ones are relative to the file's directory; `~` is the home directory, `${workspace}` each
/// workspace root.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Filesystem {
    /// What may be read and executed. Default: `["/"]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub read: Option<Vec<Text>>,
    /// What may be created, changed and deleted. Default: nothing; `workspace-write` adds the workspace roots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub write: Vec<Text>,
    /// What is out of sight. Adds to the built-in set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub hide: Vec<Text>,
    /// What is read-only inside a write grant. Adds to the built-in set. A name without a slash is relative to each
    /// workspace root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub protect: Vec<Text>,
    /// How repositories in the workspace are treated. Default: `work`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// What happens while a protected name does not exist. Default: `watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_protected: Option<MissingProtected>,
    /// `/tmp`. Default: `private`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmp: Option<Tmp>,
    /// `/proc`. Default: `fresh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proc: Option<Proc>,
    /// New symbolic links in write grants. Default: `allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symlinks: Option<Symlinks>,
    /// Pathname sockets that may be reached, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub sockets: Vec<Text>,
    /// Device nodes that may be used, one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub devices: Vec<Text>,
    /// Single files that are made empty before the run (mode 0600) and removed after it if still empty. Each is a write
    /// grant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub precreate: Vec<Text>,
}

/// `network.access`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NetworkAccess {
    /// No network.
    Off,
    /// Only through the proxy. Reserved.
    Proxy,
    /// The host's network.
    Open,
}

/// `[network]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Network {
    /// Which network there is. Default: `off`. `proxy` is reserved.
    #[serde(default, deserialize_with = "feature::access", skip_serializing_if = "Option::is_none")]
    pub access: Option<NetworkAccess>,
    /// Hosts that the proxy reaches, `HOST[:PORT]`. Reserved.
    #[serde(default, deserialize_with = "feature::hosts", skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Hosts that the proxy refuses. Reserved.
    #[serde(default, deserialize_with = "feature::hosts", skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Addresses of names, instead of look-ups. Reserved.
    #[serde(default, deserialize_with = "feature::names", skip_serializing_if = "BTreeMap::is_empty")]
    pub resolve: BTreeMap<String, String>,
}

/// `[egress]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Egress {
    /// Plugins that may load. Reserved.
    #[serde(default, deserialize_with = "feature::tools", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

/// `[environment]`: everything that neither passes nor is set is dropped, and counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EnvironmentTable {
    /// Names of variables that pass; a trailing `*` matches any rest. Default: `PATH`, `HOME`, `LANG`, `LC_*`, `TERM`,
    /// `TZ`, `USER`, `LOGNAME`, `SHELL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Vec<String>>,
    /// Variables that are set. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, String>"))]
    pub set: BTreeMap<String, Text>,
}

impl EnvironmentTable {
    /// What passes by default.
    pub fn default_pass() -> Vec<String> {
        ["PATH", "HOME", "LANG", "LC_*", "TERM", "TZ", "USER", "LOGNAME", "SHELL"].map(String::from).into()
    }
}

/// `[limits]`: without an entry, no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LimitsTable {
    /// Wall-clock time: seconds, or a text with `ms`, `s`, `min` or `h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
    /// Resident memory of the whole tree: bytes, or a text with `K`, `M`, `G`, `KiB`, `MiB`, `GiB` (powers of 1024).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// Processes and threads at one time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Processor time of each process, rounded up to whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Span>,
    /// The size of one written file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<Size>,
    /// Open files of each process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// What processes left at the end are: ended and listed (`end`, the default), or also a violation (`deny`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
}

/// `syscalls.mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SyscallMode {
    /// The filter refuses.
    Enforce,
    /// The filter reports what it would have refused. Reserved.
    Log,
}

/// `[syscalls]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Syscalls {
    /// Default: `enforce`. `log` is reserved.
    #[serde(default, deserialize_with = "feature::syscalls", skip_serializing_if = "Option::is_none")]
    pub mode: Option<SyscallMode>,
}

/// What happens to a denial: the wider comes last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalDefault {
    /// It stands.
    #[default]
    Never,
    /// Somebody is asked for the smallest grant that would lift it, and the command is run again with that.
    Ask,
}

/// What to do where the log of a session cannot be written: the wider comes last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalAudit {
    /// Nothing is allowed that is not written down.
    #[default]
    Required,
    /// Questions go on without the log, with a warning. One that was tampered with is refused all the same.
    BestEffort,
}

/// `[approval]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Approval {
    /// What happens to a denial. Default: `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<ApprovalDefault>,
    /// What to do where the log of a session cannot be written. Default: `required`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<ApprovalAudit>,
}

/// `[enforcement]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Enforcement {
    /// Effects that must be enforced beyond those that the policy implies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<Effect>,
    /// Effects that the user accepts to lose. The built-in policies accept `fs-carve-out-new` and `net-unix-path-new`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept_missing: Vec<Effect>,
    /// Whether user namespaces are allowed inside, for a sandbox inside the sandbox. Default: `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested: Option<bool>,
}
