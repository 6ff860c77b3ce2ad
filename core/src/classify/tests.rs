//! Classification without a host.

mod grants;
mod hostile;
mod hosts;
mod paths;
mod processes;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::*;
use crate::denial::{DialectId, Source as Seen, Target};
use crate::policy::fs::{MissingProtected, Placeholder, Proc, Symlinks, Tmp};
use crate::policy::{Access, Entry, EnvPlan, FsPlan, Kind, Limits, Mode, NetPlan, Policy, PolicyId, Source};
use crate::{Effect, Effects, Governed, Layer, LimitKind};

fn abs(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

/// `/` is read, `/ws` is written, with some of everything below.
fn policy() -> Policy {
    let entries = [
        ("/", Access::Read, Kind::Directory, Source::BuiltIn),
        ("/tmp", Access::Scratch, Kind::Directory, Source::BuiltIn),
        ("/home/u/.ssh", Access::Hide, Kind::Directory, Source::BuiltIn),
        ("/etc/shadow", Access::Hide, Kind::File, Source::BuiltIn),
        ("/srv/app.sock", Access::Hide, Kind::Socket, Source::Listening),
        ("/ws", Access::Write, Kind::Directory, Source::Workspace),
        ("/ws/.envrc", Access::Protect, Kind::File, Source::BuiltIn),
        ("/ws/.git/config", Access::Protect, Kind::File, Source::Git),
        ("/ws/locked/.git", Access::Protect, Kind::Directory, Source::Git),
    ];
    let entries = entries.map(|(path, access, kind, source)| (abs(path), Entry { access, kind, source }));
    Policy {
        id: PolicyId::of(b""),
        mode: Mode::WorkspaceWrite,
        fs: FsPlan {
            entries: entries.into(),
            links: BTreeMap::from([(abs("/work"), "/ws".into())]),
            missing: BTreeSet::from([abs("/ws/.vscode")]),
            placeholders: BTreeMap::from([(abs("/ws/.git/commondir"), Placeholder::Dot)]),
            protected_links: Vec::new(),
            repositories: BTreeSet::from([abs("/ws/.git"), abs("/ws/locked/.git")]),
            workspaces: BTreeSet::from([abs("/ws")]),
            precreate: BTreeSet::from([abs("/out/result")]),
            not_granted: Vec::new(),
            tmp: Tmp::Private,
            proc: Proc::Fresh,
            symlinks: Symlinks::Allow,
            missing_protected: MissingProtected::Watch,
        },
        net: NetPlan::Off,
        env: EnvPlan { pass: Vec::new(), set: BTreeMap::new() },
        limits: Limits::default(),
        nested: false,
        approval: Default::default(),
        audit: Default::default(),
        require: Effects::default(),
        accept_missing: Effects::default(),
    }
}

/// What a backend is, to a test.
struct Around {
    layers: Vec<Layer>,
    governs: BTreeMap<Effect, Governed>,
    dialect: &'static Dialect,
}

fn around(name: &str) -> Around {
    use Effect::*;
    const MOUNT: &[Layer] = &[Layer::Mount, Layer::Landlock];
    type By = (&'static [Effect], &'static [Layer]);
    let (layers, rows): (Vec<Layer>, &[By]) = match name {
        "bwrap" => (
            vec![Layer::Namespace, Layer::Mount, Layer::Landlock, Layer::Seccomp, Layer::Rlimit],
            &[
                (&[FsRead, FsWrite, FsTruncate, FsRename, FsDevice, ProcSysctl], MOUNT),
                (&[FsHide, FsMetadata, FsCarveOut, NetUnixPath], &[Layer::Mount]),
                (&[NetTcp, NetUdp, ProcSee, ProcSignal], &[Layer::Namespace]),
                (&[ProcNamespace], &[Layer::Namespace, Layer::Seccomp]),
                (&[ProcKernel, FsSetid], &[Layer::Seccomp]),
            ],
        ),
        _ => (
            vec![Layer::Landlock, Layer::Seccomp, Layer::Rlimit],
            &[
                (&[FsRead, FsWrite, FsTruncate, FsRename, ProcSignal], &[Layer::Landlock]),
                (&[NetTcp], &[Layer::Landlock, Layer::Seccomp]),
                (&[NetUdp, ProcKernel, ProcNamespace, FsSetid], &[Layer::Seccomp]),
            ],
        ),
    };
    let by = |(effects, layers): &By| {
        effects.iter().map(|effect| (*effect, Governed::by(layers))).collect::<Vec<_>>()
    };
    let mut governs: BTreeMap<Effect, Governed> = rows.iter().flat_map(by).collect();
    for limit in [LimitOpenFiles, LimitProcesses, LimitFileSize, LimitCpu] {
        governs.insert(limit, Governed::by(&[Layer::Rlimit]));
    }
    governs.insert(LimitMemory, Governed::by(&[Layer::Runner]));
    Around { layers, governs, dialect: Dialect::builtin(&DialectId::new(name)).unwrap() }
}

/// A host: what is refused, what is missing, what belongs to somebody else. Everything else is allowed.
#[derive(Default)]
struct Host {
    refused: Vec<&'static str>,
    missing: Vec<&'static str>,
    foreign: Vec<&'static str>,
    links: Vec<(&'static str, &'static str)>,
    /// Where a grant alone is not enough.
    privileged: Vec<&'static str>,
    asked: Cell<usize>,
}

fn within(path: &AbsPath, places: &[&str]) -> bool {
    places.iter().any(|place| path.is_within(&abs(place)))
}

impl Permissions for Host {
    fn allows(&self, path: &AbsPath, attempt: Attempt) -> Answer {
        self.asked.set(self.asked.get() + 1);
        use Attempt::*;
        let makes = matches!(attempt, Create | Make | MakeDirectory | Rename | Link);
        if within(path, &self.refused) {
            return Answer::Refused("EACCES");
        }
        if within(path, &self.missing) && !makes { Answer::Missing } else { Answer::Allowed }
    }
    fn exists(&self, path: &AbsPath) -> Option<bool> {
        Some(!within(path, &self.missing))
    }
    fn is_foreign(&self, path: &AbsPath) -> bool {
        within(path, &self.foreign)
    }
    fn link(&self, path: &AbsPath) -> Option<PathBuf> {
        let found = self.links.iter().find(|(link, _)| *path == abs(link));
        found.map(|(_, target)| target.into())
    }
    fn needs_no_privilege(&self, path: &AbsPath, _: Attempt) -> bool {
        !within(path, &self.privileged)
    }
    fn acts(&self, _: Attempt, _: &Object) -> Answer {
        Answer::Allowed
    }
}

/// A host that nobody may ask.
struct Untold;

impl Permissions for Untold {
    fn allows(&self, path: &AbsPath, attempt: Attempt) -> Answer {
        panic!("asked for {attempt:?} at {path}")
    }
    fn exists(&self, path: &AbsPath) -> Option<bool> {
        panic!("asked whether {path} exists")
    }
    fn is_foreign(&self, path: &AbsPath) -> bool {
        panic!("asked whose {path} is")
    }
    fn acts(&self, attempt: Attempt, object: &Object) -> Answer {
        panic!("asked for {attempt:?} of {object:?}")
    }
}

struct Question<'a> {
    policy: Policy,
    around: Around,
    outcome: Outcome,
    witness: Witness,
    command: &'a str,
    host: Host,
}

impl Question<'_> {
    fn of(backend: &str) -> Self {
        Self {
            policy: policy(),
            around: around(backend),
            outcome: Outcome::Exited { code: 1 },
            witness: Witness::Record,
            command: "",
            host: Host::default(),
        }
    }
    fn ask(&self, stderr: &[u8]) -> Judgement {
        self.ask_of(&self.host, stderr)
    }
    fn ask_of(&self, permissions: &dyn Permissions, stderr: &[u8]) -> Judgement {
        let Around { layers, governs, dialect } = &self.around;
        let command: Vec<Text> = self.command.split(' ').map(Text::from).collect();
        let incident = Incident {
            outcome: &self.outcome,
            witness: self.witness,
            sandbox: Some(Sandbox { policy: &self.policy, layers, governs }),
            dialect: Some(dialect),
            cwd: Some(&abs("/ws")),
            command: &command,
            stdout: b"",
            stderr,
        };
        classify(&incident, permissions)
    }
}

/// One line of a tool under a backend, and what it comes to: effect, layer, target, grant; `None` where it was not the
/// sandbox.
type Row = (&'static str, &'static str, Option<(Effect, Layer, Target, Option<Target>)>);

fn read(path: &str) -> Target {
    Target::Read(abs(path))
}
fn write(path: &str) -> Target {
    Target::Write(abs(path))
}
fn precreate(path: &str) -> Option<Target> {
    Some(Target::Precreate(abs(path)))
}
