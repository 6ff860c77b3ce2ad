//! From what was printed to what was refused: each line against the policy, then against ordinary permissions.

mod hosts;
mod paths;
mod processes;

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::place::{self, Last};
use super::{Answer, Because, Incident, Permissions};
use crate::denial::{
    Attempt, Certainty, Denial, Evidence, Object, Sighting, Source, Stream, Target, dialect,
};
use crate::outcome::Lookup;
use crate::policy::Access;
use crate::{AbsPath, Effect, Outcome};
use paths::{Tried, surer};

/// So many denials are listed.
const DENIALS: usize = 32;
/// A shell's word for a program that could not be executed.
const NOT_EXECUTABLE: u8 = 126;
/// How programs say that there was no memory, beside the error's own name.
const MEMORY: &[&str] = &[
    "MemoryError",
    "annot allocate memory",
    "heap out of memory",
    "std::bad_alloc",
    "virtual memory exhausted",
];
/// Those, and then words of a refusal.
static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = MEMORY.iter().copied().chain(dialect::refusals());
    // A search for rare letters first is slower where they are not rare.
    let builder = &mut AhoCorasick::builder();
    builder.kind(Some(AhoCorasickKind::DFA)).prefilter(false).ascii_case_insensitive(true).build(words).ok()
});

/// What a line comes to.
enum Finding {
    /// Something was refused, as far as it goes.
    Denied(Denial),
    /// It was not the sandbox.
    Not(Because),
    /// Something was refused, by nobody knows whom.
    Unclear,
}

/// Everything that was found.
pub(super) struct Findings<'a> {
    incident: &'a Incident<'a>,
    permissions: &'a dyn Permissions,
    directories: Vec<PathBuf>,
    context: Vec<u8>,
    pub(super) denials: Vec<Denial>,
    because: Option<Because>,
    /// A line tells of a refusal, and nobody can tell of which.
    unclear: bool,
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
            unclear: false,
        }
    }

    /// A program that could not be started, by its record.
    pub(super) fn execution(&mut self) {
        let Outcome::ExecFailed { lookup, errno, program } = self.incident.outcome else { return };
        let name = program.as_os_str();
        let from =
            |finding: &Self| finding.directories.first().cloned().unwrap_or_else(|| PathBuf::from("/"));
        let path =
            name.as_bytes().contains(&b'/').then(|| self.place(&from(self), name, Last::Followed)).flatten();
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
    /// words, if it said any. Words of a refusal that nothing else is known of are no reason.
    pub(super) fn because(&self) -> Option<Because> {
        let said = self.incident.stderr;
        if self.because.is_some() || self.unclear || said.iter().all(u8::is_ascii_whitespace) {
            return self.because;
        }
        let words = WORDS.as_ref()?;
        let mut refusal = false;
        for found in words.find_iter(said) {
            if found.pattern().as_usize() < MEMORY.len() {
                return Some(Because::OutOfMemory);
            }
            refusal = true;
        }
        (!refusal).then_some(Because::OwnWords)
    }

    fn take(&mut self, finding: Finding) {
        let denial = match finding {
            Finding::Not(because) => {
                (self.because, self.unclear) = (Some(because), false);
                return;
            }
            Finding::Unclear => {
                (self.because, self.unclear) = (None, true);
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

fn evidence(sighting: &Sighting) -> Evidence {
    let source = match sighting.stream {
        Stream::Stdout => Source::Stdout,
        Stream::Stderr => Source::Stderr,
    };
    Evidence { source, line: Some(sighting.line.clone()), errno: sighting.errno.map(str::to_owned) }
}

const fn is_network(effect: Effect) -> bool {
    matches!(effect, Effect::NetTcp | Effect::NetUdp | Effect::NetHost)
}

fn is_file(effect: Effect) -> bool {
    effect.name().starts_with("fs-")
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
