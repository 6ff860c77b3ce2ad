//! Facts about a host, as a value: a backend answers from them alone, so old kernels are tested on any kernel.
//!
//! The runner fills it without starting a process. What a fact cannot tell, a launch will.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AbsPath, Reason};

/// A processor architecture, where the numbers of system calls differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

/// Something that does not work here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unusable {
    /// Why.
    pub reason: Reason,
    /// What the user can do about it, where anything.
    pub remedy: Option<Reason>,
}

impl Unusable {
    /// With a remedy.
    pub fn new(reason: impl Into<Reason>, remedy: impl Into<Reason>) -> Self {
        Self { reason: reason.into(), remedy: Some(remedy.into()) }
    }

    /// Where nothing helps.
    pub fn without_remedy(reason: impl Into<Reason>) -> Self {
        Self { reason: reason.into(), remedy: None }
    }
}

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Self {
        Self::new(text)
    }
}

/// A program that a launch needs: absolute, owner root or the effective user, not writable by others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Where it is.
    pub path: AbsPath,
}

/// Files in `/proc` that tell root, even without any capability, about the kernel and about other processes' memory
/// and keys. Ordinary users are refused by their modes, or see only their own.
pub const KERNEL_TABLES: [&str; 9] = [
    "/proc/key-users",
    "/proc/keys",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/pagetypeinfo",
    "/proc/slabinfo",
    "/proc/timer_list",
    "/proc/vmallocinfo",
];

/// What is known about a host before anything is launched on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Probe {
    /// `linux`, or the name of another system.
    pub os: String,
    /// The release as uname(2) gives it.
    pub kernel: String,
    /// The architecture; `None` where confine has no table of system calls for it.
    pub arch: Option<Arch>,
    /// The effective user.
    pub uid: u32,
    /// The container the caller runs in, by its own word (`docker`, `podman`, `lxc`, `wsl1` …).
    pub container: Option<String>,
    /// The Landlock ABI, asked from the kernel (`landlock_create_ruleset(…, LANDLOCK_CREATE_RULESET_VERSION)`).
    pub landlock: Result<u32, Unusable>,
    /// Whether seccomp filters can be installed.
    pub seccomp: Result<(), Unusable>,
    /// Whether user namespaces may be made, as far as sysctls say.
    pub user_namespaces: Result<(), Unusable>,
    /// bubblewrap.
    pub bwrap: Result<Tool, Unusable>,
    /// The stage.
    pub stage: Result<Tool, Unusable>,
    /// Whether the device nodes that the program sees can be kept from being changed by it. Whoever owns a node may
    /// change its mode and its times: for root that is the host's own `/dev/null`, unless the runner may put read-only
    /// mounts over the nodes (CAP_SYS_ADMIN, and a root directory that is a mount point). Other users own no node.
    #[serde(default = "unasked")]
    pub device_nodes: Result<(), Unusable>,
    /// Those of [`KERNEL_TABLES`] that exist: a mask over a missing one would fail the launch.
    #[serde(default)]
    pub kernel_tables: Vec<AbsPath>,
    /// A directory for temporary ones, where the backend cannot mount one: `$TMPDIR` of the caller's, else `/tmp`.
    pub temporary: AbsPath,
    /// What a real launch of a backend said, by backend id; absent where none was tried.
    pub launches: BTreeMap<String, Result<(), Unusable>>,
}

/// The word of facts written before the question was asked: as careful as there can be.
const fn unasked() -> Result<(), Unusable> {
    Err(Unusable {
        reason: Reason::new("nobody looked whether device nodes can be made read-only"),
        remedy: None,
    })
}
