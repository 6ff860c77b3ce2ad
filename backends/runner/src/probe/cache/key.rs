//! What an answer depends on: the kernel, the programs, the settings, and how the caller itself is confined.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use confine_core::Probe;
use confine_core::probe::{Tool, Unusable};
use serde::{Deserialize, Serialize};

/// Settings that decide about namespaces and filters.
const SETTINGS: &[&str] = &[
    "/proc/sys/user/max_cgroup_namespaces",
    "/proc/sys/user/max_ipc_namespaces",
    "/proc/sys/user/max_mnt_namespaces",
    "/proc/sys/user/max_net_namespaces",
    "/proc/sys/user/max_pid_namespaces",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_uts_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/vm/memfd_noexec",
];
/// The caller's own namespaces.
const NAMESPACES: &[&str] = &["/proc/self/ns/user", "/proc/self/ns/mnt"];
/// Lines of proc_pid_status(5): its filter, its capabilities.
const STATUS: &[&str] = &["Seccomp:", "Seccomp_filters:", "CapBnd:", "CapEff:", "NoNewPrivs:"];

/// See the module.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Key {
    confine: String,
    boot: Option<String>,
    kernel: String,
    landlock: Option<u32>,
    user: u32,
    pub(super) programs: Vec<Option<Program>>,
    settings: Vec<Option<String>>,
    namespaces: Vec<Option<u64>>,
    status: Vec<String>,
}

/// A file, and when it was changed.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Program {
    path: String,
    device: u64,
    pub(super) inode: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Key {
    /// Of this host and this process, now.
    pub(super) fn here(probe: &Probe) -> Self {
        let inode = |path: &&str| fs::metadata(path).ok().map(|metadata| metadata.ino());
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let wanted = |line: &&str| STATUS.iter().any(|name| line.starts_with(name));
        Self {
            confine: env!("CARGO_PKG_VERSION").to_owned(),
            boot: word("/proc/sys/kernel/random/boot_id"),
            kernel: probe.kernel.clone(),
            landlock: probe.landlock.as_ref().ok().copied(),
            user: probe.uid,
            programs: [&probe.bwrap, &probe.stage].map(Program::of).into(),
            settings: SETTINGS.iter().map(|path| word(path)).collect(),
            namespaces: NAMESPACES.iter().map(inode).collect(),
            status: status.lines().filter(wanted).map(str::to_owned).collect(),
        }
    }
}

fn word(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

impl Program {
    fn of(tool: &Result<Tool, Unusable>) -> Option<Self> {
        let path = &tool.as_ref().ok()?.path;
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            path: path.to_string(),
            device: metadata.dev(),
            inode: metadata.ino(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        })
    }
}
