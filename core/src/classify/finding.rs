//! From what was printed to what was refused: each line against the policy, then against ordinary permissions.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::sandbox::{Block, Ruling, Sandbox};
use super::{Answer, Because, Incident, Permissions, grant, place};
use crate::denial::{Attempt, Certainty, Denial, Evidence, Object, Sighting, Source, Stream, Target};
use crate::outcome::Lookup;
use crate::policy::fs::Symlinks;
use crate::policy::{Access, Limits};
use crate::{AbsPath, Effect, Layer, Outcome};

/// So many denials are listed.
const DENIALS: usize = 32;
/// A shell's word for a program that could not be executed.
const NOT_EXECUTABLE: u8 = 126;
/// How programs say that there was no memory, beside the error's own name.
static MEMORY: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = [
        "MemoryError",
        "annot allocate memory",
        "heap out of memory",
        "std::bad_alloc",
        "virtual memory exhausted",
    ];
    // A search for rare letters first is slower where they are not rare.
    AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).prefilter(false).build(words).ok()
});

/// What a line comes to.
enum Finding {
    /// Something was refused, as far as it goes.
    Denied(Denial),
    /// It was not the sandbox.
    Not(Because),
}

/// Everything that was found.
pub(super) struct Findings<'a> {
    incident: &'a Incident<'a>,
    permissions: &'a dyn Permissions,
    directories: Vec<PathBuf>,
    context: Vec<u8>,
    pub(super) denials: Vec<Denial>,
    because: Option<Because>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(incident: &'a Incident<'a>, permissions: &'a dyn Permissions) -> Self {
        let words: Vec<&[u8]> = incident.command.iter().map(|word| word.as_os_str().as_bytes()).collect();
        Self {
            incident,
            permissions,
            directories: place::directories(incident),
            context: words.join(&b' '),
            denials: Vec::new(),
            because: None,
        }
    }

    /// A program that could not be started, by its record.
    pub(super) fn execution(&mut self) {
        let Outcome::ExecFailed { lookup, errno, program } = self.incident.outcome else { return };
        let name = program.as_os_str();
        let from =
            |finding: &Self| finding.directories.first().cloned().unwrap_or_else(|| PathBuf::from("/"));
        let path = name.as_bytes().contains(&b'/').then(|| self.place(&from(self), name)).flatten();
        let evidence = Evidence { source: Source::Record, line: None, errno: errno_name(*errno) };
        let block = match (self.incident.sandbox, &path) {
            (Some(sandbox), Some(path)) => {
                sandbox.at(path, Attempt::Execute).block().cloned().zip(Some(path))
            }
            _ => None,
        };
        let finding = match block {
            Some((block, path)) => {
                let layer = block.layers.first().copied();
                self.blocked(&block, Tried { path, attempt: Attempt::Execute, layer, evidence })
            }
            // A name may lead to a program that is out of view.
            None if path.is_none() && self.is_narrow() => return,
            None if *lookup == Lookup::NotFound => Finding::Not(Because::MissingFile),
            None if *errno == EACCES => Finding::Not(Because::PlainPermissions),
            None => Finding::Not(Because::OwnWords),
        };
        self.take(finding);
    }

    /// Whether most of the host is out of view.
    fn is_narrow(&self) -> bool {
        self.incident
            .sandbox
            .is_some_and(|sandbox| sandbox.policy.fs.access_at(&AbsPath::root()) == Access::Hide)
    }

    /// What a stream says.
    pub(super) fn read(&mut self, stream: Stream, output: &[u8]) {
        let Some(dialect) = self.incident.dialect else { return };
        for sighting in dialect.read_beside(stream, output, &self.context) {
            let finding = self.judge(&sighting);
            self.take(finding);
        }
    }

    /// The last reason for which it was not the sandbox; where no line says anything about a refusal, the program's own
    /// words, if it said any.
    pub(super) fn because(&self) -> Option<Because> {
        let said = self.incident.stderr;
        if self.because.is_some() || said.iter().all(u8::is_ascii_whitespace) {
            return self.because;
        }
        let memory = MEMORY.as_ref().is_some_and(|words| words.is_match(said));
        Some(if memory { Because::OutOfMemory } else { Because::OwnWords })
    }

    fn take(&mut self, finding: Finding) {
        let denial = match finding {
            Finding::Not(because) => {
                self.because = Some(because);
                return;
            }
            Finding::Denied(denial) => denial,
        };
        let room = self.denials.len() < DENIALS;
        let same = |known: &&mut Denial| (known.effect, &known.target) == (denial.effect, &denial.target);
        match self.denials.iter_mut().find(same) {
            Some(known) if known.certainty < denial.certainty => *known = denial,
            Some(_) => {}
            None if room => self.denials.push(denial),
            None => {}
        }
    }

    fn judge(&self, sighting: &Sighting) -> Finding {
        if sighting.errno == Some("ENOMEM") {
            return Finding::Not(Because::OutOfMemory);
        }
        if let Some(is_set) = self.limit(sighting.effect) {
            return match (is_set, sighting.effect) {
                (true, _) => self.act(sighting, Answer::Allowed),
                (false, Effect::LimitMemory) => Finding::Not(Because::OutOfMemory),
                (false, _) => Finding::Not(Because::OwnWords),
            };
        }
        match &sighting.object {
            Object::Path(printed) => {
                let new = self.path(sighting, printed);
                match (&new, &sighting.from) {
                    (Finding::Denied(denial), _) if denial.certainty == Certainty::Likely => new,
                    (_, Some(old)) => surer(self.path(sighting, old), new),
                    _ => new,
                }
            }
            Object::Host(host) => self.host(sighting, Some(host)),
            Object::Nothing if is_network(sighting.effect) => self.host(sighting, None),
            Object::Process(_) | Object::Call(_) => self.act(sighting, self.acts(sighting)),
            Object::Nothing if is_file(sighting.effect) => Finding::Denied(self.vague(sighting)),
            // No target that could be held against the policy.
            Object::Nothing => self.act(sighting, Answer::Unknown),
        }
    }

    /// Whether the limit that `effect` is about is set; `None` for what is no limit.
    fn limit(&self, effect: Effect) -> Option<bool> {
        let limits = self.incident.sandbox.map(|sandbox| &sandbox.policy.limits);
        let set = |is_set: fn(&Limits) -> bool| Some(limits.is_some_and(is_set));
        match effect {
            Effect::LimitProcesses => set(|limits| limits.processes.is_some()),
            Effect::LimitOpenFiles => set(|limits| limits.open_files.is_some()),
            Effect::LimitFileSize => set(|limits| limits.file_size.is_some()),
            Effect::LimitCpu => set(|limits| limits.cpu.is_some()),
            Effect::LimitMemory => set(|limits| limits.memory.is_some()),
            Effect::LimitTime => set(|limits| limits.time.is_some()),
            _ => None,
        }
    }

    fn path(&self, sighting: &Sighting, printed: &OsStr) -> Finding {
        let absolute = [PathBuf::from("/")];
        let is_relative = !Path::new(printed).is_absolute();
        let directories = if is_relative { self.directories.as_slice() } else { &absolute };
        let places = directories.iter().filter_map(|directory| self.place(directory, printed));
        let mut found = places.map(|path| self.at(sighting, &path));
        let Some(first) = found.next() else { return Finding::Denied(self.vague(sighting)) };
        let best = found.fold(first, surer);
        match best {
            // Nothing in a write grant is read-only: the program has gone elsewhere.
            Finding::Not(_) if is_relative && sighting.errno == Some("EROFS") => {
                Finding::Denied(self.vague(sighting))
            }
            best => best,
        }
    }

    fn place(&self, directory: &Path, printed: &OsStr) -> Option<AbsPath> {
        place::place(directory, printed, self.incident.sandbox.as_ref(), self.permissions)
    }

    fn at(&self, sighting: &Sighting, path: &AbsPath) -> Finding {
        let evidence = evidence(sighting);
        let Some(sandbox) = &self.incident.sandbox else {
            let target = Some(target(sighting.effect, sighting.attempt, path));
            return Finding::Denied(Denial { target, ..self.vague(sighting) });
        };
        let attempt = self.attempt(sandbox, sighting, path);
        match self.ruling(sandbox, sighting, path, attempt) {
            Ruling::Allowed { .. } => self.elsewhere(sighting, path, attempt),
            Ruling::Blocked(mut block) => {
                block.effect = sharper(block.effect, sighting.effect);
                let layer = sighting.layers.iter().find(|layer| block.layers.contains(layer)).copied();
                self.blocked(&block, Tried { path, attempt, layer, evidence })
            }
        }
    }

    /// What an attempt to open was for. A mount refuses writing as a read-only file system does, Landlock as plain
    /// permissions do; what is not there was to be read.
    fn attempt(&self, sandbox: &Sandbox<'_>, sighting: &Sighting, path: &AbsPath) -> Attempt {
        if sighting.attempt != Attempt::Open {
            return sighting.attempt;
        }
        if matches!(self.incident.outcome, Outcome::Exited { code: NOT_EXECUTABLE }) {
            return Attempt::Execute;
        }
        let mounts = sandbox.layers.contains(&Layer::Mount);
        let may_be_writing = match sighting.errno {
            Some("EROFS") => true,
            Some("ENOENT") => false,
            // Without its capabilities root may not read what is somebody else's.
            Some("EACCES") if self.is_others(path) => false,
            _ => !mounts,
        };
        let reads = sandbox.at(path, Attempt::Read);
        let writes = sandbox.at(path, Attempt::Create);
        if may_be_writing && reads.block().is_none() && writes.block().is_some() {
            Attempt::Create
        } else {
            Attempt::Read
        }
    }

    fn is_others(&self, path: &AbsPath) -> bool {
        self.is_shown(path) && self.permissions.exists(path) == Some(true) && self.is_foreign(path)
    }

    /// Of what is out of view nobody may ask.
    fn is_foreign(&self, path: &AbsPath) -> bool {
        self.is_shown(path) && self.permissions.is_foreign(path)
    }

    fn is_shown(&self, path: &AbsPath) -> bool {
        self.incident.sandbox.is_some_and(|sandbox| sandbox.shows(path))
    }

    fn ruling(&self, sandbox: &Sandbox<'_>, sighting: &Sighting, path: &AbsPath, attempt: Attempt) -> Ruling {
        let ruling = sandbox.at(path, attempt);
        if ruling.block().is_some() {
            return ruling;
        }
        let effect = sighting.effect;
        let links = effect == Effect::FsSymlink && sandbox.policy.fs.symlinks == Symlinks::Deny;
        // Of a file of one's own nothing else refuses that.
        let setid = effect == Effect::FsSetid && !self.is_foreign(path);
        if links || setid || matches!(attempt, Attempt::Device | Attempt::Mount) {
            return sandbox.act(effect, attempt);
        }
        match sighting.errno {
            Some("EBUSY" | "EXDEV") => sandbox.pinned(path).map_or(ruling, Ruling::Blocked),
            _ => ruling,
        }
    }

    fn blocked(&self, block: &Block, tried: Tried<'_>) -> Finding {
        let Tried { path, attempt, layer, evidence } = tried;
        let Some(sandbox) = &self.incident.sandbox else { return Finding::Not(Because::OwnWords) };
        let answer = self.ordinarily(sandbox, block, path, attempt);
        let certainty = match (answer, layer) {
            (Answer::Allowed, Some(_)) => Certainty::Likely,
            (Answer::Allowed, None) | (Answer::Unknown, _) => Certainty::Possible,
            (Answer::Missing, _) => return Finding::Not(Because::MissingFile),
            (Answer::Refused(errno), _) => return Finding::Not(self.refused(errno, path)),
        };
        Finding::Denied(Denial {
            effect: block.effect,
            target: Some(target(block.effect, attempt, path)),
            layer: layer.or_else(|| block.layers.first().copied()),
            certainty,
            evidence,
            grant: grant::smallest(sandbox, block, path, attempt, self.permissions),
        })
    }

    /// Whether it would have worked outside. Of a hidden place only the place itself is asked about.
    fn ordinarily(&self, sandbox: &Sandbox<'_>, block: &Block, path: &AbsPath, attempt: Attempt) -> Answer {
        let hiding =
            block.rule.as_ref().filter(|rule| rule.access == Access::Hide && rule.path != AbsPath::root());
        match hiding {
            Some(rule) if sandbox.layers.contains(&Layer::Mount) => {
                self.permissions.allows(&rule.path, Attempt::Read)
            }
            _ if sandbox.shows(path) => self.permissions.allows(path, attempt),
            _ => Answer::Unknown,
        }
    }

    /// The policy has nothing against it.
    fn elsewhere(&self, sighting: &Sighting, path: &AbsPath, attempt: Attempt) -> Finding {
        let shown = self.is_shown(path);
        let answer = if shown { self.permissions.allows(path, attempt) } else { Answer::Unknown };
        match answer {
            Answer::Missing => Finding::Not(Because::MissingFile),
            Answer::Refused(errno) => Finding::Not(self.refused(errno, path)),
            Answer::Allowed if is_refusal(sighting.errno) && self.is_foreign(path) => {
                Finding::Not(Because::ForeignOwner)
            }
            Answer::Allowed | Answer::Unknown => Finding::Not(Because::OwnWords),
        }
    }

    fn refused(&self, errno: &str, path: &AbsPath) -> Because {
        let foreign = errno == "EPERM" && self.is_foreign(path);
        if foreign { Because::ForeignOwner } else { Because::PlainPermissions }
    }

    fn host(&self, sighting: &Sighting, host: Option<&String>) -> Finding {
        let Some(sandbox) = &self.incident.sandbox else { return Finding::Denied(self.vague(sighting)) };
        let ruling = match sighting.effect {
            Effect::NetTcp | Effect::NetUdp | Effect::NetHost => sandbox.network(sighting.attempt),
            effect => sandbox.act(effect, sighting.attempt),
        };
        let Ruling::Blocked(block) = ruling else { return Finding::Not(Because::OwnWords) };
        let layer = sighting.layers.iter().find(|layer| block.layers.contains(layer)).copied();
        // Inside a network namespace nobody listens; on this host perhaps nobody does either.
        let own = layer == Some(Layer::Namespace) && host.is_some_and(|host| is_loopback(host));
        let refused = matches!(sighting.errno, None | Some("ECONNREFUSED"));
        let clear = layer.is_some() && !(refused && (own || host.is_none()));
        let connect = host.cloned().map(Target::Connect);
        Finding::Denied(Denial {
            effect: block.effect,
            target: connect.clone(),
            layer: layer.or_else(|| block.layers.first().copied()),
            certainty: if clear { Certainty::Likely } else { Certainty::Possible },
            evidence: evidence(sighting),
            grant: connect,
        })
    }

    /// Whether the act would have worked outside. A number that a program in a namespace prints is no process of the
    /// host, or one that it only guessed.
    fn acts(&self, sighting: &Sighting) -> Answer {
        let own = |sandbox: Sandbox<'_>| sandbox.enforced_by(Effect::ProcSee).contains(&Layer::Namespace);
        match &sighting.object {
            Object::Process(_) if self.incident.sandbox.is_some_and(own) => Answer::Unknown,
            object => self.permissions.acts(sighting.attempt, object),
        }
    }

    fn act(&self, sighting: &Sighting, answer: Answer) -> Finding {
        let Some(sandbox) = &self.incident.sandbox else { return Finding::Denied(self.vague(sighting)) };
        let Ruling::Blocked(block) = sandbox.act(sighting.effect, sighting.attempt) else {
            return Finding::Not(Because::OwnWords);
        };
        let layer = sighting.layers.iter().find(|layer| block.layers.contains(layer)).copied();
        let certainty = match (answer, layer) {
            (Answer::Allowed, Some(_)) => Certainty::Likely,
            (Answer::Refused(_), _) => return Finding::Not(Because::PlainPermissions),
            (Answer::Missing, _) => return Finding::Not(Because::OwnWords),
            _ => Certainty::Possible,
        };
        Finding::Denied(Denial {
            layer: layer.or_else(|| block.layers.first().copied()),
            certainty,
            ..self.vague(sighting)
        })
    }

    /// What a line alone tells.
    fn vague(&self, sighting: &Sighting) -> Denial {
        let enforced = self.incident.sandbox.map(|sandbox| sandbox.enforced_by(sighting.effect));
        let layer = match &enforced {
            Some(enforced) => sighting.layers.iter().find(|layer| enforced.contains(layer)),
            None => sighting.layers.first(),
        };
        let target = match &sighting.object {
            Object::Process(pid) => Some(Target::Process(*pid)),
            Object::Call(name) => Some(Target::Syscall(name.clone())),
            Object::Host(host) => Some(Target::Connect(host.clone())),
            Object::Path(_) | Object::Nothing => None,
        };
        Denial {
            effect: sighting.effect,
            target,
            layer: layer.copied(),
            certainty: Certainty::Possible,
            evidence: evidence(sighting),
            grant: None,
        }
    }
}

/// Something that the policy blocks.
struct Tried<'p> {
    path: &'p AbsPath,
    attempt: Attempt,
    layer: Option<Layer>,
    evidence: Evidence,
}

/// Which of two readings of one line says more.
fn surer(one: Finding, other: Finding) -> Finding {
    let weight = |finding: &Finding| match finding {
        Finding::Denied(denial) => 1 + i32::from(denial.certainty >= Certainty::Likely) * 2,
        Finding::Not(Because::OwnWords | Because::MissingFile) => 0,
        Finding::Not(_) => 2,
    };
    if weight(&other) > weight(&one) { other } else { one }
}

/// Where the policy blocks writing, the words tell which kind of writing it was.
const fn sharper(ruled: Effect, sighted: Effect) -> Effect {
    match (ruled, sighted) {
        (Effect::FsWrite | Effect::FsRename, Effect::FsTruncate | Effect::FsRename | Effect::FsMetadata) => {
            sighted
        }
        _ => ruled,
    }
}

fn target(effect: Effect, attempt: Attempt, path: &AbsPath) -> Target {
    let path = path.clone();
    match (effect, attempt) {
        (Effect::NetUnixPath | Effect::NetUnixPathNew, _) | (_, Attempt::Connect | Attempt::Send) => {
            Target::Socket(path)
        }
        (Effect::FsDevice, _) => Target::Device(path),
        (_, Attempt::Open | Attempt::Read | Attempt::Execute | Attempt::Trace) => Target::Read(path),
        _ => Target::Write(path),
    }
}

fn evidence(sighting: &Sighting) -> Evidence {
    let source = match sighting.stream {
        Stream::Stdout => Source::Stdout,
        Stream::Stderr => Source::Stderr,
    };
    Evidence { source, line: Some(sighting.line.clone()), errno: sighting.errno.map(str::to_owned) }
}

fn is_loopback(host: &str) -> bool {
    ["127.", "localhost", "[::1]", "::1"].iter().any(|name| host.starts_with(name))
}

const fn is_network(effect: Effect) -> bool {
    matches!(effect, Effect::NetTcp | Effect::NetUdp | Effect::NetHost)
}

fn is_file(effect: Effect) -> bool {
    effect.name().starts_with("fs-")
}

fn is_refusal(errno: Option<&str>) -> bool {
    matches!(errno, Some("EACCES" | "EPERM" | "EINVAL"))
}

const ENOENT: i32 = 2;
const EACCES: i32 = 13;

/// Those that execve(2) and looking a program up give.
fn errno_name(errno: i32) -> Option<String> {
    let name = match errno {
        ENOENT => "ENOENT",
        EACCES => "EACCES",
        1 => "EPERM",
        8 => "ENOEXEC",
        20 => "ENOTDIR",
        40 => "ELOOP",
        _ => return None,
    };
    Some(name.to_owned())
}
