//! Seeded faults: for each effect that some backend enforces, a lie that must turn its check red, and no other.

use std::ffi::OsString;
use std::os::unix::fs::chown;
use std::process::{Command, Stdio};

use confine_backends::landlock::rights;
use confine_core::policy::fs::{Proc, Symlinks};
use confine_core::policy::{Access, Entry, Kind, Source};
use confine_core::{Effect, Policy, Probe};
use confine_runner::probe::WORD;
use confine_stage::Plan;
use confine_stage::plan::Resource;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::filter::{Rule, Which};
use super::liar::Scene;
use crate::installation;

/// What a lying backend does otherwise.
pub enum Lie {
    /// Takes another policy for the one it is given. Told openly, that is a grant.
    Policy(fn(&Scene, &mut Policy)),
    /// Takes other facts.
    Probe(fn(&mut Probe)),
    /// Changes the stage's plan.
    Plan(fn(&Scene, &mut Plan)),
    /// Puts rules in front of the filter.
    Calls(&'static [Rule]),
    /// Changes the wrapper's options.
    Options(fn(&Scene, &mut Vec<OsString>)),
    /// Runs the command by a shell that does something first; `GROUND` stands for the throwaway directory.
    Shell(&'static str),
    /// Lets a variable pass.
    Passes(&'static str),
    /// Lets somebody outside do it, where nothing that it can leave out does: what the stage and the runner do for all.
    Does(fn(&Scene)),
    /// Says that it enforces what it does not.
    Claims,
}

/// A lie about one effect.
pub struct Fault {
    /// Which.
    pub effect: Effect,
    /// Who tells it.
    pub backends: &'static [&'static str],
    /// All at once.
    pub lies: &'static [Lie],
}

impl Fault {
    /// Whether that backend tells it.
    pub fn is_of(&self, backend: &str) -> bool {
        self.backends.contains(&backend)
    }

    /// Whether it would be a grant, if the policy said so.
    pub fn is_grant(&self) -> bool {
        self.lies.iter().all(|lie| matches!(lie, Lie::Policy(_)))
    }
}

const fn of(backends: &'static [&'static str], effect: Effect, lies: &'static [Lie]) -> Fault {
    Fault { effect, backends, lies }
}

const BWRAP: &[&str] = &["bwrap"];
const LANDLOCK: &[&str] = &["landlock"];
const OURS: &[&str] = &["bwrap", "landlock"];
/// The example of a backend of others: mounts and namespaces, no Landlock. What it leaves to the stage is tried on ours.
const FIREJAIL: &[&str] = &["firejail"];
const MOUNTS: &[&str] = &["bwrap", "firejail"];
const ALL: &[&str] = &["bwrap", "landlock", "firejail"];

fn list(scene: &Scene, policy: &mut Policy, below: &str, access: Access, kind: Kind) {
    policy.fs.entries.insert(scene.at(below), Entry { access, kind, source: Source::BuiltIn });
}

const fn passes(name: &'static str) -> Rule {
    Rule { call: Which::Named(name), argument: None, passes: true }
}

const fn refuses(x86_64: u32, aarch64: u32) -> Rule {
    Rule { call: Which::Numbered(x86_64, aarch64), argument: None, passes: false }
}

const OF_MODES: &[Rule] = &[
    passes("open"),
    passes("openat"),
    passes("creat"),
    passes("chmod"),
    passes("fchmod"),
    passes("fchmodat"),
];
const OF_NODES: &[Rule] = &[passes("mknod"), passes("mknodat")];
const OF_KEYS: &[Rule] = &[passes("keyctl"), passes("userfaultfd")];
/// AF_NETLINK is 16.
const OF_NETLINK: &[Rule] = &[Rule { call: Which::Named("socket"), argument: Some((0, 16)), passes: true }];
/// TIOCSTI.
const OF_INPUT: &[Rule] = &[Rule { call: Which::Named("ioctl"), argument: Some((1, 0x5412)), passes: true }];
const NO_SENDTO: &[Rule] = &[refuses(44, 206)];
const NO_CONNECT: &[Rule] = &[refuses(42, 203)];
/// AF_UNIX is 1, AF_INET is 2.
const NO_UNIX: &[Rule] = &[Rule { call: Which::Named("socket"), argument: Some((0, 1)), passes: false }];
const NO_INET: &[Rule] = &[Rule { call: Which::Named("socket"), argument: Some((0, 2)), passes: false }];
const ON_HOST_NET: Lie = Lie::Options(|_, options| without(options, "--net=none"));
/// Where the policy shows it: a launch that does not goes on without.
const INHERITS: &str =
    "(exec 9< GROUND/stdio/inherited) 2>/dev/null && exec 9< GROUND/stdio/inherited; exec \"$@\"";
/// Puts a process inside in the place of the one outside, which nothing lets be traced: neither a namespace nor a domain
/// can be left out for that alone.
const ANOTHER_VICTIM: &str = "sleep 3 & orders=$(printf %s \"$4\" | sed \"s/\\\"victim\\\":[0-9]*/\\\"victim\\\":$!/\"); \
    exec \"$1\" \"$2\" \"$3\" \"$orders\" \"$5\"";

/// What [`tell`] wrote down, in a command line inside.
const SHOWS: &str = "sh -c 'sleep 3' $(cat GROUND/ws/marker) & exec \"$@\"";

fn without(options: &mut Vec<OsString>, word: &str) {
    options.retain(|option| option != word);
}

fn unlimited(plan: &mut Plan, resource: Resource) {
    plan.rlimits.retain(|(one, _)| *one != resource);
}

/// A process that nobody started inside.
fn outlive(scene: &Scene) {
    let mut orphan = Command::new(installation::confine());
    orphan.args([WORD, "orphan"]).arg(&scene.ground);
    let started = orphan.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(started.is_ok_and(|status| status.success()), "an orphan");
    let ready = scene.ground.join("ws/orphan-ready");
    while !ready.exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Puts the victim's command line, which nothing shows inside a process namespace, into the workspace.
fn tell(scene: &Scene) {
    let words = std::fs::read(format!("/proc/{}/cmdline", scene.victim)).expect("a victim");
    let marker = words.split(|byte| *byte == 0).find(|word| word.starts_with(b"confine-probe-marker-"));
    std::fs::write(scene.ground.join("ws/marker"), marker.expect("a marker")).expect("a file");
}

/// What nobody inside another IPC namespace can do: firejail makes one for root, asked or not.
fn share(scene: &Scene) {
    let name = scene.ground.file_name().expect("a directory");
    std::fs::write(std::path::Path::new("/dev/shm").join(name), "changed").expect("shared memory");
}

/// What nobody inside a process namespace can do.
fn signal(scene: &Scene) {
    kill(Pid::from_raw(scene.victim), Signal::SIGUSR1).expect("a victim");
}

fn mark(scene: &Scene, effect: Effect) {
    std::fs::write(scene.ground.join("ws").join(effect.name()), "").expect("a mark");
}

/// Nothing is left of what a backend does, and all is claimed; somebody outside does what the stage and the runner prevent
/// whatever the backend.
pub const EVERYTHING: &[Lie] = &[
    Lie::Claims,
    Lie::Plan(|_, plan| {
        (plan.landlock, plan.scratch, plan.stdio_access) = (None, None, None);
        plan.seccomp.clear();
        plan.rlimits.clear();
    }),
    Lie::Shell("exec 9< GROUND/stdio/inherited 2>> GROUND/stdio/stderr; exec \"$@\""),
    Lie::Does(|scene| {
        for given in ["ws/given", "ws/mapped"] {
            chown(scene.ground.join(given), Some(12_321), None).expect("root gives files away");
        }
        outlive(scene);
        for effect in [Effect::LimitTime, Effect::LimitMemory] {
            mark(scene, effect);
        }
    }),
];

/// One for each effect that some backend enforces; more where a second backend grants otherwise.
pub static FAULTS: &[Fault] = &[
    of(
        OURS,
        Effect::FsRead,
        &[Lie::Policy(|scene, policy| list(scene, policy, "unread", Access::Read, Kind::Directory))],
    ),
    of(
        BWRAP,
        Effect::FsHide,
        &[Lie::Policy(|scene, policy| list(scene, policy, "hidden/secret", Access::Read, Kind::File))],
    ),
    of(
        FIREJAIL,
        Effect::FsHide,
        &[Lie::Policy(|scene, policy| {
            policy.fs.entries.remove(&scene.at("hidden"));
            list(scene, policy, "hidden/socket", Access::Hide, Kind::Socket);
        })],
    ),
    of(
        ALL,
        Effect::FsWrite,
        &[Lie::Policy(|scene, policy| list(scene, policy, "out/write", Access::Write, Kind::Directory))],
    ),
    of(
        ALL,
        Effect::FsTruncate,
        &[Lie::Policy(|scene, policy| list(scene, policy, "out/truncate", Access::Write, Kind::Directory))],
    ),
    of(
        ALL,
        Effect::FsRename,
        &[Lie::Policy(|scene, policy| list(scene, policy, "out/rename", Access::Write, Kind::Directory))],
    ),
    of(
        MOUNTS,
        Effect::FsMetadata,
        &[Lie::Policy(|scene, policy| list(scene, policy, "out/metadata", Access::Write, Kind::Directory))],
    ),
    of(OURS, Effect::FsSetid, &[Lie::Calls(OF_MODES)]),
    of(
        MOUNTS,
        Effect::FsCarveOut,
        &[Lie::Policy(|scene, policy| drop(policy.fs.entries.remove(&scene.at("ws/carved/kept"))))],
    ),
    of(
        BWRAP,
        Effect::FsDevice,
        &[
            Lie::Calls(OF_NODES),
            Lie::Plan(|_, plan| {
                for rule in plan.landlock.iter_mut().flat_map(|ruleset| &mut ruleset.rules) {
                    rule.access |= (rule.access & rights::MAKE_REG) >> 2;
                }
            }),
        ],
    ),
    of(FIREJAIL, Effect::FsDevice, &[Lie::Calls(OF_NODES)]),
    of(OURS, Effect::FsSymlink, &[Lie::Policy(|_, policy| policy.fs.symlinks = Symlinks::Allow)]),
    of(BWRAP, Effect::FsExec, &[Lie::Claims]),
    of(BWRAP, Effect::FsLock, &[Lie::Claims]),
    of(OURS, Effect::FdInherit, &[Lie::Shell(INHERITS)]),
    of(
        MOUNTS,
        Effect::FdStdio,
        &[
            Lie::Policy(|scene, policy| list(scene, policy, "stdio", Access::Write, Kind::Directory)),
            Lie::Shell("exec 2>> GROUND/stdio/stderr; exec \"$@\""),
        ],
    ),
    of(
        BWRAP,
        Effect::NetTcp,
        &[Lie::Options(|_, options| without(options, "--unshare-net")), Lie::Calls(NO_SENDTO)],
    ),
    of(FIREJAIL, Effect::NetTcp, &[ON_HOST_NET, Lie::Calls(NO_SENDTO), Lie::Calls(NO_UNIX)]),
    of(
        BWRAP,
        Effect::NetUdp,
        &[Lie::Options(|_, options| without(options, "--unshare-net")), Lie::Calls(NO_CONNECT)],
    ),
    of(FIREJAIL, Effect::NetUdp, &[ON_HOST_NET, Lie::Calls(NO_CONNECT)]),
    of(
        MOUNTS,
        Effect::NetUnixPath,
        &[Lie::Policy(|scene, policy| drop(policy.fs.entries.remove(&scene.at("out/listening"))))],
    ),
    of(BWRAP, Effect::NetUnixPathNew, &[Lie::Claims]),
    of(
        LANDLOCK,
        Effect::NetUnixAbstract,
        &[Lie::Plan(|_, plan| plan.landlock.iter_mut().for_each(|ruleset| ruleset.scoped &= !1))],
    ),
    of(FIREJAIL, Effect::NetUnixAbstract, &[ON_HOST_NET, Lie::Calls(NO_INET)]),
    of(OURS, Effect::NetOther, &[Lie::Calls(OF_NETLINK)]),
    of(BWRAP, Effect::ProcSee, &[Lie::Policy(|_, policy| policy.fs.proc = Proc::Host)]),
    of(FIREJAIL, Effect::ProcSee, &[Lie::Does(tell), Lie::Shell(SHOWS)]),
    of(
        LANDLOCK,
        Effect::ProcSignal,
        &[Lie::Plan(|_, plan| plan.landlock.iter_mut().for_each(|ruleset| ruleset.scoped &= !2))],
    ),
    of(FIREJAIL, Effect::ProcSignal, &[Lie::Does(signal)]),
    of(ALL, Effect::ProcTrace, &[Lie::Shell(ANOTHER_VICTIM)]),
    of(
        MOUNTS,
        Effect::ProcPrivilege,
        &[Lie::Does(|scene| {
            chown(scene.ground.join("ws/given"), Some(12_321), None).expect("root gives files away")
        })],
    ),
    of(MOUNTS, Effect::ProcSysctl, &[Lie::Probe(|probe| probe.kernel_tables.clear())]),
    of(OURS, Effect::ProcNamespace, &[Lie::Policy(|_, policy| policy.nested = true)]),
    of(OURS, Effect::ProcKernel, &[Lie::Calls(OF_KEYS)]),
    of(BWRAP, Effect::IpcSysv, &[Lie::Options(|_, options| without(options, "--unshare-ipc"))]),
    of(FIREJAIL, Effect::IpcSysv, &[Lie::Does(share)]),
    of(OURS, Effect::TtyInject, &[Lie::Calls(OF_INPUT)]),
    of(OURS, Effect::EnvLeak, &[Lie::Passes("PROBE_SECRET")]),
    of(MOUNTS, Effect::Orphan, &[Lie::Does(outlive)]),
    of(BWRAP, Effect::LimitTime, &[Lie::Does(|scene| mark(scene, Effect::LimitTime))]),
    of(BWRAP, Effect::LimitMemory, &[Lie::Does(|scene| mark(scene, Effect::LimitMemory))]),
    of(BWRAP, Effect::LimitProcesses, &[Lie::Claims]),
    of(OURS, Effect::LimitFileSize, &[Lie::Plan(|_, plan| unlimited(plan, Resource::FileSize))]),
    of(BWRAP, Effect::LimitCpu, &[Lie::Plan(|_, plan| unlimited(plan, Resource::Cpu))]),
    of(OURS, Effect::LimitOpenFiles, &[Lie::Plan(|_, plan| unlimited(plan, Resource::OpenFiles))]),
];
