//! The table of effects, and the list of layers.
//!
//! One row an effect, every column in it: an effect without its layers, its keys or its attempt does not compile. A test
//! of the backends compares the layers with what they answer, and one of the documentation compares that with both.

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

macro_rules! effects {
    ($($variant:ident = $name:literal: $doc:literal; by [$($layer:ident),*]; keys [$($key:literal),*]; try $attempt:literal;)*) => {
        names! {
            /// One thing a confined process may try.
            Effect, UnknownEffect, "effect", { $($variant = $name, $doc;)* }
        }

        impl Effect {
            /// The layers that govern it in some backend, on some host, for some policy. Empty where none does yet.
            pub const fn layers(self) -> &'static [Layer] {
                match self { $(Self::$variant => &[$(Layer::$layer),*],)* }
            }

            /// The keys of a policy file that decide whether and where it is wanted, with their tables. Those that name
            /// any effect (`enforcement.require`, `enforcement.accept-missing`) are not repeated.
            pub const fn keys(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($key),*],)* }
            }

            /// Its negative probe in one line: what is tried inside, and must come to nothing.
            pub const fn attempt(self) -> &'static str {
                match self { $(Self::$variant => $attempt,)* }
            }
        }
    };
}

effects! {
    FsRead = "fs-read": "read outside the read grants";
        by [Mount, Landlock, Seatbelt]; keys ["filesystem.read"];
        try "open a file that no grant covers";
    FsHide = "fs-hide": "list, stat or read a hidden path, also through another mount of the same directory";
        by [Mount, Landlock, Seatbelt]; keys ["filesystem.hide", "filesystem.read"];
        try "read a file in a hidden directory, by its own path and by another mount of that directory";
    FsWrite = "fs-write": "create, modify or delete outside the write grants";
        by [Mount, Landlock, Seatbelt]; keys ["mode", "filesystem.write", "filesystem.tmp", "filesystem.precreate"];
        try "append to a file, create one and remove one, each beside the write grant";
    FsTruncate = "fs-truncate": "empty a read-only file";
        by [Mount, Landlock, Seatbelt]; keys ["mode", "filesystem.write"];
        try "truncate a readable file by its path";
    FsRename = "fs-rename": "rename or link across grants";
        by [Mount, Landlock, Seatbelt]; keys ["mode", "filesystem.write"];
        try "rename a read-only file into the write grant, and link it there";
    FsMetadata = "fs-metadata": "change mode, owner, times or extended attributes outside the write grants";
        by [Mount, Seatbelt]; keys ["mode", "filesystem.write"];
        try "change the mode and the times of a readable file of one's own";
    FsSetid = "fs-setid": "leave a set-user-id or set-group-id file anywhere";
        by [Seccomp]; keys [];
        try "set the set-user-id bit of a file in the write grant";
    FsCarveOut = "fs-carve-out": "change an existing protected name inside a write grant, also by renaming a parent";
        by [Mount, Landlock, Seatbelt]; keys ["filesystem.protect", "filesystem.git"];
        try "append to a protected file, and rename the directory above it";
    FsCarveOutNew = "fs-carve-out-new": "create a protected name that does not exist yet";
        by [Mount, Runner]; keys ["filesystem.protect", "filesystem.git", "filesystem.missing-protected"];
        try "create a protected name that is missing";
    FsDevice = "fs-device": "open a device that is not granted, or make one";
        by [Mount, Landlock, Seatbelt]; keys ["filesystem.devices"];
        try "open a device node outside the minimal set, and make one in the write grant";
    FsSymlink = "fs-symlink": "plant a symbolic link where the policy denies new ones";
        by [Landlock, Seatbelt]; keys ["filesystem.symlinks"];
        try "make a symbolic link in the write grant";
    FsExec = "fs-exec": "execute what may only be read";
        by []; keys [];
        try "execute a program that lies in a read grant only";
    FsLock = "fs-lock": "hold a lock on a read-only host file";
        by []; keys [];
        try "lock a readable file of the host while somebody outside asks for the same lock";
    FdInherit = "fd-inherit": "use a descriptor that the spawner left open above 2";
        by [Descriptors]; keys [];
        try "read from a descriptor above 2 that the spawner left open";
    FdStdio = "fd-stdio": "misuse descriptors 0 to 2: a directory, a block device, the mode or times of a redirected host file; a terminal stays the caller's";
        by [Descriptors]; keys [];
        try "change the mode of the file or the device that is on descriptor 0 or 1";
    NetTcp = "net-tcp": "connect or bind TCP";
        by [Namespace, Landlock, Seccomp, Seatbelt]; keys ["network.access"];
        try "connect to a TCP listener of the host, and bind a port";
    NetUdp = "net-udp": "send UDP, name look-ups included";
        by [Namespace, Seccomp, Seatbelt]; keys ["network.access"];
        try "send a datagram to a UDP socket of the host";
    NetHost = "net-host": "reach a host that the proxy policy does not allow";
        by []; keys ["network.access", "network.allow", "network.deny", "network.resolve", "egress.tools"];
        try "ask the proxy for a host that is not allowed";
    NetUnixPath = "net-unix-path": "connect to a pathname socket that is hidden or was listening at launch";
        by [Mount, Landlock, Seatbelt]; keys ["filesystem.sockets", "filesystem.hide"];
        try "connect to a socket of the host that was listening at launch";
    NetUnixPathNew = "net-unix-path-new": "connect to any other pathname socket outside, also one that appears later";
        by [Landlock, Seatbelt]; keys ["filesystem.sockets"];
        try "connect to a socket of the host that began to listen after the launch";
    NetUnixAbstract = "net-unix-abstract": "connect to an abstract socket outside";
        by [Namespace, Landlock, Seatbelt]; keys ["network.access"];
        try "connect to an abstract socket of the host";
    NetOther = "net-other": "other sockets: vsock, raw, packet, netlink beyond route; io_uring";
        by [Namespace, Seccomp, Seatbelt]; keys ["network.access"];
        try "make a vsock, a raw and a packet socket, and an io_uring";
    ProcSee = "proc-see": "see other processes, or read their /proc";
        by [Namespace, Seatbelt]; keys ["filesystem.proc"];
        try "find a process of the host by its id";
    ProcSignal = "proc-signal": "signal a process outside";
        by [Namespace, Landlock, Seatbelt]; keys [];
        try "send a signal to a process of the same user outside";
    ProcTrace = "proc-trace": "trace a process outside, or read its memory";
        by [Namespace, Landlock]; keys [];
        try "attach to a process of the same user outside, and read its memory";
    ProcPrivilege = "proc-privilege": "gain or keep privileges";
        by [Capabilities, Namespace, NoNewPrivs, Seatbelt]; keys [];
        try "become root through a set-user-id program, and use a capability of a root caller";
    ProcSysctl = "proc-sysctl": "write /proc/sys, or read kernel tables";
        by [Mount, Landlock, Seatbelt]; keys [];
        try "write a kernel setting its own value, and read a kernel table";
    ProcNamespace = "proc-namespace": "make a nested user namespace, or mount";
        by [Namespace, Seccomp, Seatbelt]; keys ["enforcement.nested"];
        try "make a user namespace, and mount a file system";
    ProcKernel = "proc-kernel": "reach rarely used kernel interfaces: bpf, keyctl, perf, userfaultfd, kexec, modules, calls of another architecture";
        by [Seccomp]; keys ["syscalls.mode"];
        try "call bpf, keyctl, perf_event_open and userfaultfd, and one call of another architecture";
    IpcSysv = "ipc-sysv": "use the host's System V and POSIX message queues and shared memory";
        by [Namespace, Seatbelt]; keys [];
        try "attach to a shared memory segment of the host";
    TtyInject = "tty-inject": "push input into the terminal";
        by [Session, Seccomp]; keys [];
        try "push a character into the caller's terminal";
    EnvLeak = "env-leak": "find secrets in an environment or command line that is visible inside";
        by [Environment]; keys ["environment.pass", "environment.set"];
        try "look for a variable of the caller's in every environment and command line in sight";
    Orphan = "orphan": "outlive the run";
        by [Namespace, Reaper]; keys ["limits.background"];
        try "leave a process in a session of its own behind, and have the parent killed";
    IdsMapped = "ids-mapped": "act on files of users that are not mapped";
        by []; keys [];
        try "give a file in the write grant to another user";
    LimitTime = "limit-time": "run longer than the limit";
        by [Runner]; keys ["limits.time"];
        try "sleep beyond the limit";
    LimitMemory = "limit-memory": "use more memory than the limit";
        by [Runner]; keys ["limits.memory"];
        try "touch more memory than the limit";
    LimitProcesses = "limit-processes": "have more processes than the limit";
        by [Rlimit]; keys ["limits.processes"];
        try "start more processes than the limit";
    LimitFileSize = "limit-file-size": "write a larger file than the limit";
        by [Rlimit]; keys ["limits.file-size"];
        try "write a file beyond the limit";
    LimitCpu = "limit-cpu": "use more processor time than the limit";
        by [Rlimit]; keys ["limits.cpu"];
        try "compute beyond the limit";
    LimitOpenFiles = "limit-open-files": "have more open files than the limit";
        by [Rlimit]; keys ["limits.open-files"];
        try "open more files than the limit";
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
        Seatbelt = "seatbelt", "the Seatbelt profile of macOS";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effect_has_an_attempt_of_its_own_and_no_layer_or_key_twice() {
        let mut attempts: Vec<&str> = Effect::ALL.iter().map(|effect| effect.attempt()).collect();
        attempts.sort_unstable();
        assert!(attempts.windows(2).all(|pair| pair[0] != pair[1]));
        for effect in Effect::ALL {
            assert!(!effect.attempt().is_empty() && !effect.attempt().ends_with('.'), "{effect}");
            let (layers, keys) = (effect.layers(), effect.keys());
            assert!(layers.iter().enumerate().all(|(n, layer)| !layers[..n].contains(layer)), "{effect}");
            assert!(keys.iter().enumerate().all(|(n, key)| !keys[..n].contains(key)), "{effect}");
        }
    }
}
