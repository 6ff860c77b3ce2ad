//! Classification without a host.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

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

#[test]
fn a_known_text_about_what_the_policy_blocks_and_permissions_allow_is_a_denial() {
    use Effect::*;
    use Layer::*;
    let rows: Vec<Row> = vec![
        (
            "bwrap",
            "touch: cannot touch '/new/x': Read-only file system",
            Some((FsWrite, Mount, write("/new/x"), precreate("/new/x"))),
        ),
        (
            "bwrap",
            "touch: cannot touch '/etc/x': Read-only file system",
            Some((FsWrite, Mount, write("/etc/x"), Some(write("/etc/x")))),
        ),
        (
            "bwrap",
            "mkdir: cannot create directory '/new/d': Read-only file system",
            Some((FsWrite, Mount, write("/new/d"), Some(write("/new")))),
        ),
        (
            "bwrap",
            "mkdir: cannot create directory '/srv/d': Read-only file system",
            Some((FsWrite, Mount, write("/srv/d"), Some(write("/srv")))),
        ),
        (
            "bwrap",
            "rm: cannot remove '/srv/f': Read-only file system",
            Some((FsWrite, Mount, write("/srv/f"), Some(write("/srv")))),
        ),
        (
            "bwrap",
            "chmod: changing permissions of '/srv/f': Read-only file system",
            Some((FsMetadata, Mount, write("/srv/f"), Some(write("/srv/f")))),
        ),
        ("bwrap", "cat: /etc/shadow: Permission denied", Some((FsHide, Mount, read("/etc/shadow"), None))),
        (
            "bwrap",
            "cat: /home/u/.ssh/id: No such file or directory",
            Some((FsHide, Mount, read("/home/u/.ssh/id"), None)),
        ),
        (
            "bwrap",
            "/bin/sh: 1: cannot create .envrc: Read-only file system",
            Some((FsCarveOut, Mount, write("/ws/.envrc"), Some(write("/ws/.envrc")))),
        ),
        (
            "bwrap",
            "touch: cannot touch '/work/.envrc': Read-only file system",
            Some((FsCarveOut, Mount, write("/ws/.envrc"), Some(write("/ws/.envrc")))),
        ),
        (
            "bwrap",
            "touch: cannot touch '.git/config': Read-only file system",
            Some((FsCarveOut, Mount, write("/ws/.git/config"), Some(Target::Git("open".into())))),
        ),
        (
            "bwrap",
            "fatal: Unable to create '/ws/locked/.git/index.lock': Read-only file system",
            Some((FsCarveOut, Mount, write("/ws/locked/.git/index.lock"), Some(Target::Git("work".into())))),
        ),
        (
            "bwrap",
            "touch: cannot touch '/ws/locked/.git/hooks/x': Read-only file system",
            Some((FsCarveOut, Mount, write("/ws/locked/.git/hooks/x"), Some(Target::Git("open".into())))),
        ),
        (
            "bwrap",
            "touch: cannot touch '.git/commondir': Read-only file system",
            Some((FsCarveOutNew, Mount, write("/ws/.git/commondir"), Some(Target::Git("open".into())))),
        ),
        (
            "bwrap",
            "mv: cannot move '.git' to 'g': Device or resource busy",
            Some((FsCarveOut, Mount, write("/ws/.git"), Some(Target::Git("open".into())))),
        ),
        (
            "landlock",
            "touch: cannot touch '/etc/x': Permission denied",
            Some((FsWrite, Landlock, write("/etc/x"), Some(write("/etc/x")))),
        ),
        (
            "landlock",
            "touch: cannot touch '/tmp/x': Permission denied",
            Some((FsWrite, Landlock, write("/tmp/x"), Some(write("/tmp/x")))),
        ),
        // Nothing that the policy blocks there.
        ("bwrap", "touch: cannot touch '/ws/x': Permission denied", None),
        ("bwrap", "cat: /ws/x: No such file or directory", None),
        ("bwrap", "cat: /etc/passwd: Permission denied", None),
        ("landlock", "chmod: changing permissions of '/theirs/f': Operation not permitted", None),
        (
            "landlock",
            "chmod: changing permissions of 'tool': Operation not permitted",
            Some((FsSetid, Seccomp, write("/ws/tool"), None)),
        ),
        ("bwrap", "git@h: Permission denied (publickey).", None),
    ];
    for (backend, line, expected) in rows {
        let mut question = Question::of(backend);
        question.host.missing.extend(["/new/x", "/new/d"]);
        question.host.foreign.push("/theirs");
        let judgement = question.ask(line.as_bytes());
        let sure = judgement.denials.iter().find(|denial| denial.certainty == Certainty::Likely);
        match expected {
            None => assert_eq!(
                (judgement.verdict, sure),
                (Verdict::Failed, None),
                "{backend}: {line}: {judgement:?}"
            ),
            Some((effect, layer, target, grant)) => {
                let denial = sure.unwrap_or_else(|| panic!("{backend}: {line}: {judgement:?}"));
                assert_eq!((denial.effect, denial.layer), (effect, Some(layer)), "{backend}: {line}");
                assert_eq!((&denial.target, &denial.grant), (&Some(target), &grant), "{backend}: {line}");
                assert_eq!(judgement.verdict, Verdict::Denied, "{backend}: {line}");
                assert_eq!(denial.evidence.line, Some(Text::from(line)), "{backend}");
                assert_eq!(denial.evidence.source, Seen::Stderr, "{backend}");
            }
        }
    }
}

#[test]
fn what_ordinary_permissions_would_refuse_as_well_is_not_the_sandbox() {
    let mut question = Question::of("bwrap");
    question.host.refused = vec!["/etc", "/home/u/.ssh"];
    question.host.missing = vec!["/none"];
    question.host.foreign = vec!["/ws/theirs"];
    let rows = [
        ("touch: cannot touch '/etc/x': Read-only file system", Because::PlainPermissions),
        ("cat: /etc/shadow: Permission denied", Because::PlainPermissions),
        ("cat: /home/u/.ssh/id: No such file or directory", Because::PlainPermissions),
        ("cat: /none/x: No such file or directory", Because::MissingFile),
        ("touch: cannot touch '/ws/theirs/x': Permission denied", Because::ForeignOwner),
        ("expected 3, found 4", Because::OwnWords),
        ("MemoryError", Because::OutOfMemory),
        ("bash: fork: Cannot allocate memory", Because::OutOfMemory),
    ];
    for (line, because) in rows {
        let judgement = question.ask(line.as_bytes());
        assert_eq!(judgement.denials, vec![], "{line}");
        assert_eq!(
            (judgement.verdict, judgement.not_the_sandbox),
            (Verdict::Failed, Some(because)),
            "{line}"
        );
    }
    assert_eq!(question.ask(b"").not_the_sandbox, None, "silence says nothing");
}

#[test]
fn what_lies_above_a_link_is_above_its_target() {
    let mut question = Question::of("bwrap");
    question.host.links = vec![("/ws/out", "/srv/deep"), ("/etc/in", "../ws/sub"), ("/ws/loop", "loop")];
    question.host.missing = vec!["/ws/none"];
    // By its words it lies in the workspace, and by its words outside.
    let blocked = question.ask(b"touch: cannot touch 'out/../x': Read-only file system");
    assert_eq!(blocked.denials[0].target, Some(write("/srv/x")), "{blocked:?}");
    assert_eq!(blocked.verdict, Verdict::Denied);
    for line in [
        "touch: cannot touch '/etc/in/../x': Permission denied",
        "touch: cannot touch '/ws/none/../../etc/x': No such file or directory",
    ] {
        let judgement = question.ask(line.as_bytes());
        assert_eq!((judgement.verdict, judgement.denials), (Verdict::Failed, vec![]), "{line}");
    }
    let circle = question.ask(b"touch: cannot touch 'loop/x': Read-only file system");
    assert!(circle.denials.iter().all(|denial| denial.certainty == Certainty::Possible), "{circle:?}");
}

#[test]
fn a_link_that_is_removed_is_meant_itself() {
    let mut question = Question::of("bwrap");
    question.host.links = vec![("/ws/out", "/srv/deep"), ("/srv/in", "/ws/sub")];
    let theirs = question.ask(b"rm: cannot remove '/srv/in': Read-only file system");
    assert_eq!(theirs.denials[0].target, Some(write("/srv/in")), "{theirs:?}");
    let ours = question.ask(b"rm: cannot remove '/ws/out': Permission denied");
    assert_eq!(ours.denials, vec![]);
    let through = question.ask(b"touch: cannot touch '/ws/out': Read-only file system");
    assert_eq!(through.denials[0].target, Some(write("/srv/deep")), "{through:?}");
}

#[test]
fn giving_a_file_away_is_about_privileges_and_users_not_about_its_mode() {
    let denied = b"chown: changing ownership of 'x': Operation not permitted";
    let judgement = Question::of("landlock").ask(denied);
    assert!(judgement.denials.iter().all(|denial| denial.effect == Effect::ProcPrivilege), "{judgement:?}");
    let mut question = Question::of("landlock");
    question.host.refused = vec!["/ws/x"];
    let judgement = question.ask(denied);
    assert_eq!(judgement.denials, vec![]);
    assert_eq!(judgement.not_the_sandbox, Some(Because::PlainPermissions));
    let unmapped = Question::of("bwrap").ask(b"chown: changing ownership of 'x': Invalid argument");
    assert_eq!(unmapped.denials, vec![]);
    assert_eq!(unmapped.not_the_sandbox, Some(Because::ForeignOwner));
}

#[test]
fn words_of_a_refusal_that_nobody_can_place_are_neither_the_program_s_nor_a_missing_file() {
    let mut question = Question::of("bwrap");
    question.host.missing = vec!["/none", "/ws/none"];
    for line in [
        "cat: /none/x: Permission denied",
        "cat: none: Permission denied",
        "something went wrong: Read-only file system (twice)",
        "etwas ging schief: Das Dateisystem ist nur lesbar!",
    ] {
        let judgement = question.ask(line.as_bytes());
        assert_eq!((judgement.verdict, judgement.not_the_sandbox), (Verdict::Failed, None), "{line}");
    }
    let missing = question.ask(b"cat: /none/x: No such file or directory");
    assert_eq!(missing.not_the_sandbox, Some(Because::MissingFile));
}

#[test]
fn what_programs_say_in_other_languages_is_read() {
    for line in [
        "touch: /etc/x: Das Dateisystem ist nur lesbar",
        "touch: /etc/x: Système de fichiers accessible en lecture seulement",
        "touch: /etc/x: 只读文件系统",
        "PermissionError: [Errno 30] Read-only file system: b'/etc/x'",
        r"OSError: [Errno 30] Read-only file system: '/etc\x2fx'",
    ] {
        let judgement = Question::of("bwrap").ask(line.as_bytes());
        assert_eq!(judgement.verdict, Verdict::Denied, "{line}: {judgement:?}");
        assert_eq!(judgement.denials[0].target, Some(write("/etc/x")), "{line}");
    }
}

#[test]
fn a_grant_that_would_not_help_is_not_offered() {
    let rows: &[(&str, Option<Target>)] = &[
        ("ln: failed to create symbolic link '/srv/new': Read-only file system", Some(write("/srv"))),
        ("mkfifo: cannot create fifo '/srv/new': Read-only file system", Some(write("/srv"))),
        ("mktemp: failed to create file via template '/srv/new': Read-only file system", Some(write("/srv"))),
        ("sed: couldn't open temporary file /srv/new: Read-only file system", Some(write("/srv"))),
        ("Error: unable to open database \"/srv/new\": unable to open database file", Some(write("/srv"))),
        ("fatal: cannot mkdir /srv/new: Read-only file system", Some(write("/srv"))),
        ("touch: cannot touch '/theirs/x': Read-only file system", None),
        // What is protected by name on the command line stays so, and holds the directories above it.
        ("touch: cannot touch '/ws/kept/x': Read-only file system", None),
        ("mv: cannot move 'kept' to 'k': Device or resource busy", None),
        ("mv: cannot move 'above' to 'a': Device or resource busy", None),
        ("rm: cannot remove '/ws/.envrc': Device or resource busy", Some(write("/ws/.envrc"))),
    ];
    let mut question = Question::of("bwrap");
    question.host.missing = vec!["/srv/new"];
    question.host.privileged = vec!["/theirs"];
    for path in ["/ws/kept", "/ws/above/kept"] {
        let entry = Entry { access: Access::Protect, kind: Kind::Directory, source: Source::CommandLine };
        question.policy.fs.entries.insert(abs(path), entry);
    }
    for (line, grant) in rows {
        let judgement = question.ask(line.as_bytes());
        let denial = judgement.denials.first().unwrap_or_else(|| panic!("{line}: {judgement:?}"));
        assert_eq!((&denial.grant, judgement.verdict), (grant, Verdict::Denied), "{line}: {denial:?}");
    }
}

#[test]
fn a_denial_beside_other_lines_is_found_and_said_once() {
    let text =
        b"cat: /ws/x: No such file or directory\ntouch: cannot touch '/etc/x': Read-only file system\n\
        touch: cannot touch '/etc/x': Read-only file system\nmake: *** [all] Error 1\n";
    let judgement = Question::of("bwrap").ask(text);
    assert_eq!(judgement.denials.len(), 1, "{judgement:?}");
    assert_eq!((judgement.verdict, judgement.not_the_sandbox), (Verdict::Denied, None));
}

#[test]
fn a_relative_name_starts_where_the_command_goes() {
    let line = b"touch: cannot touch 'new': Read-only file system";
    let here = Question::of("bwrap").ask(line);
    assert_eq!(here.verdict, Verdict::Failed, "the workspace is writable: it is somewhere else");
    assert!(
        here.denials.iter().all(|denial| denial.certainty == Certainty::Possible && denial.target.is_none())
    );
    let there = Question { command: "sh -c cd /srv && touch new", ..Question::of("bwrap") }.ask(line);
    assert_eq!(there.denials[0].target, Some(write("/srv/new")));
    assert_eq!(there.verdict, Verdict::Denied);
}

#[test]
fn what_is_out_of_view_is_never_asked_about() {
    let mut question = Question::of("bwrap");
    question.policy.fs.entries.get_mut(&AbsPath::root()).unwrap().access = Access::Hide;
    let judgement = question.ask(b"cat: /srv/x: No such file or directory");
    assert_eq!(question.host.asked.get(), 0);
    assert_eq!(judgement.verdict, Verdict::Failed);
    let denial = &judgement.denials[0];
    assert_eq!((denial.effect, denial.certainty), (Effect::FsRead, Certainty::Possible));
    assert_eq!(denial.grant, Some(read("/srv/x")));
    // Landlock does not govern looking, so the program knows that it is there.
    let mut question = Question::of("landlock");
    question.policy.fs.entries.get_mut(&AbsPath::root()).unwrap().access = Access::Hide;
    let judgement = question.ask(b"cat: /srv/x: Permission denied");
    assert_eq!((judgement.verdict, judgement.denials[0].effect), (Verdict::Denied, Effect::FsRead));
}

#[test]
fn the_host_is_not_asked_about_what_the_sandbox_has_of_its_own() {
    let lines = [
        "touch: cannot touch '/tmp/x': Permission denied",
        "cat: /tmp/x: No such file or directory",
        "cat: /tmp/x: Permission denied",
        "cat: /dev/shm/x: No such file or directory",
        "chmod: changing permissions of '/tmp/x': Operation not permitted",
        "bash: line 1: kill: (77) - No such process",
        "bash: line 1: kill: (77) - Operation not permitted",
    ];
    for line in lines {
        let judgement = Question::of("bwrap").ask_of(&Untold, line.as_bytes());
        assert_eq!(judgement.verdict, Verdict::Failed, "{line}: {judgement:?}");
        assert_ne!(judgement.not_the_sandbox, Some(Because::MissingFile), "{line}");
    }
    // Without a namespace the program sees every process itself.
    let judgement = Question::of("landlock").ask(b"bash: line 1: kill: (77) - Operation not permitted");
    assert_eq!(judgement.verdict, Verdict::Denied, "{judgement:?}");
}

#[test]
fn a_grant_tells_nothing_of_what_is_out_of_view() {
    let mut question = Question::of("bwrap");
    question.policy.fs.entries.get_mut(&AbsPath::root()).unwrap().access = Access::Hide;
    let rows = [
        ("touch: cannot touch '/srv/a/x': Read-only file system", "/srv/a/x"),
        ("mkdir: cannot create directory '/srv/a/x': Read-only file system", "/srv/a"),
        ("rm: cannot remove '/srv/a/x': Read-only file system", "/srv/a"),
    ];
    for (line, place) in rows {
        let denial = question.ask_of(&Untold, line.as_bytes()).denials.remove(0);
        let (Some(Target::Write(grant) | Target::Precreate(grant)), Certainty::Possible) =
            (&denial.grant, denial.certainty)
        else {
            panic!("{line}: {denial:?}")
        };
        assert_eq!(grant, &abs(place), "{line}");
    }
}

#[test]
fn nothing_of_the_kernel_s_is_offered_but_a_device() {
    use Attempt::*;
    let places = ["/proc/sys/kernel/core_pattern", "/sys/x", "/sys", "/dev/kvm", "/dev/x/y", "/dev/mqueue/x"];
    let attempts = [
        Read,
        Execute,
        Open,
        Write,
        Create,
        Make,
        MakeDirectory,
        Rename,
        Link,
        Remove,
        Metadata,
        Owner,
        Connect,
    ];
    for (backend, root) in [("bwrap", Access::Read), ("bwrap", Access::Hide), ("landlock", Access::Hide)] {
        let mut question = Question::of(backend);
        question.policy.fs.entries.get_mut(&AbsPath::root()).unwrap().access = root;
        let Around { layers, governs, .. } = &question.around;
        let sandbox = Sandbox { policy: &question.policy, layers, governs };
        for (place, attempt) in places.iter().flat_map(|place| attempts.map(|attempt| (*place, attempt))) {
            let Ruling::Blocked(block) = sandbox.at(&abs(place), attempt) else { continue };
            let grant = smallest(&sandbox, &block, &abs(place), attempt, &question.host);
            assert!(
                matches!(grant, None | Some(Target::Device(_))),
                "{backend} {place} {attempt:?}: {grant:?}"
            );
        }
    }
}

#[test]
fn a_write_in_proc_is_a_setting_of_the_kernel_under_every_backend() {
    let path = abs("/proc/sys/kernel/core_pattern");
    for backend in ["bwrap", "landlock"] {
        let question = Question::of(backend);
        let Around { layers, governs, .. } = &question.around;
        let sandbox = Sandbox { policy: &question.policy, layers, governs };
        let ruling = sandbox.at(&path, Attempt::Create);
        let block = ruling.block().unwrap_or_else(|| panic!("{backend}: {ruling:?}"));
        assert_eq!(block.effect, Effect::ProcSysctl, "{backend}");
        assert!(block.layers.contains(&Layer::Landlock), "{backend}");
        assert_eq!(smallest(&sandbox, block, &path, Attempt::Create, &question.host), None, "{backend}");
    }
}

#[test]
fn records_of_limits_prove_and_the_rest_does_not() {
    let signal = |signal| Outcome::Signaled { signal, core: false };
    let judged = |outcome: &Outcome, witness| {
        let question = Question { outcome: outcome.clone(), witness, ..Question::of("bwrap") };
        question.ask(b"touch: cannot touch '/etc/x': Read-only file system\n")
    };
    let killed = judged(&signal(31), Witness::Record);
    assert_eq!(killed.verdict, Verdict::Denied);
    let denial = &killed.denials[0];
    assert_eq!(
        (denial.effect, denial.layer, denial.certainty, denial.evidence.source),
        (Effect::ProcKernel, Some(Layer::Seccomp), Certainty::Likely, Seen::Record),
        "`kill -SYS $$` gives the same record"
    );
    let told = judged(&signal(31), Witness::ExitStatus);
    assert_eq!((told.verdict, told.denials[0].certainty), (Verdict::Denied, Certainty::Likely));
    let limits = [
        (Outcome::TimedOut { after: Duration::from_secs(1) }, Effect::LimitTime, Verdict::TimedOut),
        (Outcome::Limit { which: LimitKind::Memory }, Effect::LimitMemory, Verdict::LimitExceeded),
        (Outcome::Limit { which: LimitKind::Cpu }, Effect::LimitCpu, Verdict::LimitExceeded),
    ];
    for (outcome, effect, verdict) in limits {
        let judgement = judged(&outcome, Witness::Record);
        assert_eq!((judgement.verdict, judgement.denials.len()), (verdict, 1));
        assert_eq!(
            (judgement.denials[0].effect, judgement.denials[0].certainty),
            (effect, Certainty::Proven)
        );
    }
    let size = judged(&Outcome::Limit { which: LimitKind::FileSize }, Witness::Record);
    let denial = &size.denials[0];
    assert_eq!(
        (size.verdict, denial.effect, denial.certainty),
        (Verdict::LimitExceeded, Effect::LimitFileSize, Certainty::Likely),
        "`kill -XFSZ $$` gives the same record"
    );
}

#[test]
fn a_signal_of_somebody_else_is_no_denial() {
    for (signal, because) in
        [(9, Because::KilledFromOutside), (15, Because::KilledFromOutside), (11, Because::OwnWords)]
    {
        let outcome = Outcome::Signaled { signal, core: false };
        let judgement = Question { outcome, ..Question::of("bwrap") }.ask(b"");
        assert_eq!(
            (judgement.verdict, judgement.not_the_sandbox),
            (Verdict::Failed, Some(because)),
            "{signal}"
        );
        assert_eq!(judgement.denials, vec![]);
    }
}

#[test]
fn a_limit_counts_where_it_is_set() {
    let line = b"bash: line 1: /dev/null: Too many open files";
    let without = Question::of("bwrap").ask(line);
    assert_eq!((without.verdict, without.denials.len()), (Verdict::Failed, 0), "{without:?}");
    let mut limited = Question::of("bwrap");
    limited.policy.limits.open_files = Some(10);
    let judgement = limited.ask(line);
    assert_eq!(judgement.verdict, Verdict::Denied, "{judgement:?}");
    assert_eq!(judgement.denials[0].effect, Effect::LimitOpenFiles);
}

#[test]
fn exit_0_never_failed_and_nothing_is_looked_at() {
    let question = Question { outcome: Outcome::Exited { code: 0 }, ..Question::of("bwrap") };
    let judgement = question.ask(b"touch: cannot touch '/etc/x': Read-only file system\n");
    assert_eq!(judgement, Judgement::plain(Verdict::Passed));
    assert_eq!(question.host.asked.get(), 0);
}

#[test]
fn without_a_record_the_launcher_s_words_count_and_outrank_a_denial() {
    let text = b"touch: cannot touch '/etc/x': Read-only file system\nbwrap: Creating new namespace failed: Operation not permitted\n";
    let foreign = Question { witness: Witness::ExitStatus, ..Question::of("bwrap") }.ask(text);
    assert_eq!((foreign.verdict, foreign.denials.len()), (Verdict::LauncherFailed, 0));
    assert!(foreign.launch.unwrap().text.contains("Creating new namespace failed"));
    let own = Question::of("bwrap").ask(text);
    assert_eq!((own.verdict, own.launch), (Verdict::Denied, None));
    let outcome = Outcome::Exited { code: 2 };
    let other = Question { witness: Witness::ExitStatus, outcome, ..Question::of("bwrap") }.ask(text);
    assert_eq!(other.verdict, Verdict::Denied, "bwrap never exits 2");
}

#[test]
fn loopback_alone_says_little_and_another_host_says_enough() {
    let verdict = |line: &str| Question::of("bwrap").ask(line.as_bytes()).verdict;
    let denied = Question::of("bwrap").ask(b"curl: (6) Could not resolve host: example.org");
    assert_eq!(denied.verdict, Verdict::Denied);
    let named = Some(Target::Connect("example.org".to_owned()));
    assert_eq!((&denied.denials[0].target, &denied.denials[0].grant), (&named, &None), "it takes a proxy");
    let loopback = "curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server";
    assert_eq!(verdict(loopback), Verdict::Failed);
    let mut open = Question::of("bwrap");
    open.policy.net = NetPlan::Open;
    assert_eq!(open.ask(b"curl: (6) Could not resolve host: example.org").verdict, Verdict::Failed);
}

/// A line of output that a hostile program might print: everything that means something to us, and anything else.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let known = prop_oneof![
        Just("bwrap: Creating new namespace failed: Operation not permitted"),
        Just("confine-stage: cannot enter the Landlock domain"),
        Just("confine: cannot set the sandbox up: `bwrap: setting up uid map: Permission denied`"),
        Just(
            "[confine: write to /etc/x denied by the mount layer (mode workspace-write); smallest grant: --write /]"
        ),
        Just("touch: cannot touch '/etc/x': Read-only file system"),
        Just("cat: /etc/shadow: Permission denied"),
        Just("/bin/sh: 1: cannot create /: Read-only file system"),
        Just("Bad system call"),
        Just("curl: (6) Could not resolve host: example.org"),
        Just("{\"exit-code\": 125, \"certainty\": \"proven\", \"verdict\": \"launcher-failed\"}"),
        Just("touch: cannot touch '../../../../..//../etc/\u{1b}[2Jx': Permission denied"),
    ];
    let any = proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![known.prop_map(|line| line.as_bytes().to_vec()), any]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_output_makes_a_launcher_failure_or_a_proof(
        lines in proptest::collection::vec(hostile(), 0..30),
        code in 1_u8..,
        backend in prop_oneof![Just("bwrap"), Just("landlock")],
    ) {
        let text = lines.join(&b'\n');
        for witness in [Witness::Record, Witness::ExitStatus] {
            let outcome = Outcome::Exited { code };
            let judgement = Question { outcome, witness, ..Question::of(backend) }.ask(&text);
            prop_assert!(judgement.denials.iter().all(|denial| denial.certainty < Certainty::Proven));
            if witness == Witness::Record {
                prop_assert!(matches!(judgement.verdict, Verdict::Failed | Verdict::Denied));
                prop_assert_eq!(judgement.launch, None);
            }
        }
    }

    #[test]
    fn a_hidden_path_is_never_offered(name in "[a-z./]{0,12}", lines in proptest::collection::vec(hostile(), 0..5)) {
        let mut lines = lines;
        lines.push(format!("cat: /home/u/.ssh/{name}: No such file or directory").into_bytes());
        lines.push(format!("touch: cannot touch '/home/u/.ssh/{name}': Read-only file system").into_bytes());
        for backend in ["bwrap", "landlock"] {
            let judgement = Question::of(backend).ask(&lines.join(&b'\n'));
            for denial in judgement.denials {
                if let Some(Target::Read(path) | Target::Write(path) | Target::Precreate(path)) = denial.grant {
                    let listed = policy().fs.access_at(&path);
                    prop_assert!(listed != Access::Hide || backend == "landlock", "{path}");
                }
            }
        }
    }
}

/// By counting what is asked, not by a clock: more output asks no more.
#[test]
fn more_output_asks_no_more_questions() {
    let line = |number: usize| format!("touch: cannot touch '/srv/{number}': Read-only file system\n");
    let asked = |lines: usize| {
        let text: String = (0..lines).map(line).collect();
        let question = Question::of("bwrap");
        let judgement = question.ask(text.as_bytes());
        assert!(judgement.denials.len() <= 32, "{}", judgement.denials.len());
        question.host.asked.get()
    };
    let few = asked(1_000);
    assert!(few <= 2 * crate::denial::dialect::SIGHTING_BOUND, "{few}");
    assert_eq!(asked(20_000), few);
}
