//! What a confined process may try, and which layer answers.
//!
//! One table ([`Effect::ALL`]); everything that lists effects walks it. "Full" and "partial" are too coarse to decide
//! anything, so a policy needs a set of effects and a backend answers for each.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! names {
    ($(#[$meta:meta])* $type:ident, $error:ident, $what:literal, { $($variant:ident = $name:literal, $doc:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $type { $(#[doc = $doc] #[serde(rename = $name)] $variant,)* }

        impl $type {
            /// Every one, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name used in policies, reports and on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// One line that says what it means.
            pub const fn definition(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.pad(self.name()) }
        }

        #[doc = concat!("No ", $what, " has that name.")]
        #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
        #[error("`{0}` is no {what}", what = $what)]
        pub struct $error(pub String);

        impl FromStr for $type {
            type Err = $error;
            fn from_str(name: &str) -> Result<Self, $error> {
                Self::ALL.iter().copied().find(|one| one.name() == name).ok_or_else(|| $error(name.to_owned()))
            }
        }
    };
}

names! {
    /// One thing a confined process may try.
    Effect, UnknownEffect, "effect", {
        FsRead = "fs-read", "read outside the read grants";
        FsHide = "fs-hide", "list, stat or read a hidden path, also through another mount of the same directory";
        FsWrite = "fs-write", "create, modify or delete outside the write grants";
        FsTruncate = "fs-truncate", "empty a read-only file";
        FsRename = "fs-rename", "rename or link across grants";
        FsMetadata = "fs-metadata", "change mode, owner, times or extended attributes outside the write grants";
        FsSetid = "fs-setid", "leave a set-user-id or set-group-id file anywhere";
        FsCarveOut = "fs-carve-out", "change an existing protected name inside a write grant, also by renaming a parent";
        FsCarveOutNew = "fs-carve-out-new", "create a protected name that does not exist yet";
        FsDevice = "fs-device", "open a device that is not granted, or make one";
        FsSymlink = "fs-symlink", "plant a symbolic link where the policy denies new ones";
        FsExec = "fs-exec", "execute what may only be read";
        FsLock = "fs-lock", "hold a lock on a read-only host file";
        FdInherit = "fd-inherit", "use a descriptor that the spawner left open above 2";
        FdStdio = "fd-stdio", "misuse descriptors 0 to 2: a directory, a block device, the mode or times of a redirected host file; a terminal stays the caller's";
        NetTcp = "net-tcp", "connect or bind TCP";
        NetUdp = "net-udp", "send UDP, name look-ups included";
        NetHost = "net-host", "reach a host that the proxy policy does not allow";
        NetUnixPath = "net-unix-path", "connect to a pathname socket that is hidden or was listening at launch";
        NetUnixPathNew = "net-unix-path-new", "connect to any other pathname socket outside, also one that appears later";
        NetUnixAbstract = "net-unix-abstract", "connect to an abstract socket outside";
        NetOther = "net-other", "other sockets: vsock, raw, packet, netlink beyond route; io_uring";
        ProcSee = "proc-see", "see other processes, or read their /proc";
        ProcSignal = "proc-signal", "signal a process outside";
        ProcTrace = "proc-trace", "trace a process outside, or read its memory";
        ProcPrivilege = "proc-privilege", "gain or keep privileges";
        ProcSysctl = "proc-sysctl", "write /proc/sys, or read kernel tables";
        ProcNamespace = "proc-namespace", "make a nested user namespace, or mount";
        ProcKernel = "proc-kernel", "reach rarely used kernel interfaces: bpf, keyctl, perf, userfaultfd, kexec, modules, calls of another architecture";
        IpcSysv = "ipc-sysv", "use the host's System V and POSIX message queues and shared memory";
        TtyInject = "tty-inject", "push input into the terminal";
        EnvLeak = "env-leak", "find secrets in an environment or command line that is visible inside";
        Orphan = "orphan", "outlive the run";
        IdsMapped = "ids-mapped", "act on files of users that are not mapped";
        LimitTime = "limit-time", "run longer than the limit";
        LimitMemory = "limit-memory", "use more memory than the limit";
        LimitProcesses = "limit-processes", "have more processes than the limit";
        LimitFileSize = "limit-file-size", "write a larger file than the limit";
        LimitCpu = "limit-cpu", "use more processor time than the limit";
        LimitOpenFiles = "limit-open-files", "have more open files than the limit";
    }
}

names! {
    /// What enforces an effect. A closed list: reports and the table of backends use these names only.
    Layer, UnknownLayer, "layer", {
        Namespace = "namespace", "user, pid, ipc, uts, cgroup and network namespaces";
        Mount = "mount", "the mount view";
        Landlock = "landlock", "the Landlock domain";
        Seccomp = "seccomp", "the system-call filter";
        Capabilities = "capabilities", "every capability dropped";
        NoNewPrivs = "no-new-privs", "no_new_privs";
        Session = "session", "a session of its own, without the caller's terminal";
        Descriptors = "descriptors", "descriptors above 2 closed, 0 to 2 checked";
        Environment = "environment", "only the listed variables";
        Reaper = "reaper", "a parent inside or above the tree that ends it, with a lifeline";
        Rlimit = "rlimit", "resource limits";
        Cgroup = "cgroup", "a control group of its own";
        Runner = "runner", "the process that started the run";
        Broker = "broker", "the egress broker";
    }
}

/// Why something is as it is, for people. A lower-case fragment without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// From a literal.
    pub const fn new(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What a backend can do about one effect on one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Governed {
    /// Prevented, by each of these layers alone.
    Enforced {
        /// Never empty.
        layers: Vec<Layer>,
    },
    /// Seen and reported, not prevented.
    Detected {
        /// What is seen, and when.
        reason: Reason,
    },
    /// Neither.
    NotGoverned {
        /// What is lacking.
        reason: Reason,
    },
    /// Nobody can tell here.
    Untestable {
        /// What stands in the way.
        reason: Reason,
    },
}

impl Governed {
    /// Enforced by `layers`.
    pub fn by(layers: &[Layer]) -> Self {
        Self::Enforced { layers: layers.to_vec() }
    }

    /// Not governed, for a fixed reason.
    pub const fn not(reason: &'static str) -> Self {
        Self::NotGoverned { reason: Reason::new(reason) }
    }

    /// Whether it counts for a policy that needs the effect; `detected` and `untestable` do not.
    pub const fn is_enforced(&self) -> bool {
        matches!(self, Self::Enforced { .. })
    }

    /// Why it is not enforced; `None` where it is.
    pub const fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Enforced { .. } => None,
            Self::Detected { reason } | Self::NotGoverned { reason } | Self::Untestable { reason } => {
                Some(reason)
            }
        }
    }
}

/// A sorted set of effects. Its text form is the names joined by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Effects(BTreeSet<Effect>);

impl Effects {
    /// Whether `effect` is in the set.
    pub fn contains(&self, effect: Effect) -> bool {
        self.0.contains(&effect)
    }

    /// Adds one.
    pub fn insert(&mut self, effect: Effect) {
        self.0.insert(effect);
    }

    /// In the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = Effect> + '_ {
        self.0.iter().copied()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of `self` that are not in `other`.
    pub fn without(&self, other: &Self) -> Self {
        self.iter().filter(|effect| !other.contains(*effect)).collect()
    }
}

impl IntoIterator for Effects {
    type Item = Effect;
    type IntoIter = std::collections::btree_set::IntoIter<Effect>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<Effect> for Effects {
    fn from_iter<I: IntoIterator<Item = Effect>>(effects: I) -> Self {
        Self(effects.into_iter().collect())
    }
}

impl Extend<Effect> for Effects {
    fn extend<I: IntoIterator<Item = Effect>>(&mut self, effects: I) {
        self.0.extend(effects);
    }
}

impl fmt::Display for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Effect::name).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for Effects {
    type Err = UnknownEffect;
    fn from_str(list: &str) -> Result<Self, UnknownEffect> {
        list.split(',').filter(|name| !name.is_empty()).map(str::parse).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back_and_is_the_json_name() {
        for effect in Effect::ALL {
            assert_eq!(effect.name().parse::<Effect>().unwrap(), *effect);
            assert_eq!(serde_json::to_string(effect).unwrap(), format!("\"{effect}\""));
        }
        for layer in Layer::ALL {
            assert_eq!(layer.name().parse::<Layer>().unwrap(), *layer);
            assert_eq!(serde_json::to_string(layer).unwrap(), format!("\"{layer}\""));
        }
    }

    #[test]
    fn a_list_of_all_effects_survives_its_text_form() {
        let all: Effects = Effect::ALL.iter().copied().collect();
        assert_eq!(all.to_string().parse::<Effects>().unwrap(), all);
        assert_eq!("fs-nope".parse::<Effects>(), Err(UnknownEffect("fs-nope".into())));
    }
}
