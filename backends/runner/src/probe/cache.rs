//! What the last probe found, for runs: which backends do not stand here, and what they do not do although they say so.
//!
//! A run makes no attempts. The file lies in the state directory, which no program inside sees; it counts only while the
//! host, the programs and the caller's own confinement are as they were. What an attempt found to work needs no word, so
//! most runs read a few hundred bytes and look at nothing else.

mod key;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;

use confine_backends::Registry;
use confine_core::probe::Unusable;
use confine_core::{Backend, BackendId, Effect, LaunchFault, LaunchStage, Probe, Reason, Report};
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::Mode;
use nix::unistd::{Uid, UnlinkatFlags, unlinkat};
use serde::{Deserialize, Serialize};

use super::doubt::Doubted;
use super::finding::{Finding, is_contradicted, refined};
use super::trial::Answer;
use crate::Confine;
use crate::places::{Place, Places};
use key::Key;

/// The format of the file.
pub const VERSION: u32 = 1;
const FILE: &str = "probe.json";
const OPEN: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_CLOEXEC);
const FOR_OTHERS: u32 = 0o077;
/// Most are shorter, and read at once.
const USUAL: usize = 4096;
/// The longest file that is read.
const LONGEST: u64 = 64 * 1024;
/// What helps where what was found is no longer so.
const AGAIN: &str = "`confine --probe` looks again";

/// The file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    version: u32,
    key: Key,
    backends: BTreeMap<String, Word>,
}

/// About one backend.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Word {
    /// Whether its sandbox stood.
    launch: Result<(), Unusable>,
    /// Of a program of others, what it was: its word may be another one's by now.
    #[serde(default)]
    program: Option<String>,
    /// Effects that it claims, at which attempts succeeded, or, made inside a program of others, had no answer.
    contradicted: BTreeMap<Effect, Reason>,
}

impl Word {
    fn is_good(&self) -> bool {
        self.launch.is_ok() && self.contradicted.is_empty()
    }

    fn is_about(&self, backend: &dyn Backend) -> bool {
        self.program.as_deref() == backend.pinned()
    }
}

/// Keeps what was found, for the runs that follow. Where that is refused, they know less.
pub fn remember(confine: &Confine, answers: &BTreeMap<BackendId, Answer>) {
    let shared = confine.shared();
    let word = |(id, answer): (&BackendId, &Answer)| {
        let backend = shared.registry.by_id(id)?;
        let contradicted = contradicted(backend, &shared.probe, answer);
        let launch = answer.launch.clone().or_else(lasting);
        let program = backend.pinned().map(str::to_owned);
        Some((id.as_str().to_owned(), Word { launch, program, contradicted }))
    };
    let entry = Entry {
        version: VERSION,
        key: Key::here(&shared.probe),
        backends: answers.iter().filter_map(word).collect(),
    };
    if let Ok(state) = shared.places.make_state()
        && let Err(error) = write(&state, &entry)
    {
        tracing::debug!(%error, "what the probe found is not kept");
    }
}

/// What has no remedy (no room, no time) may be otherwise at the next launch, which says it itself.
fn lasting(unusable: Unusable) -> Result<(), Unusable> {
    if unusable.remedy.is_some() { Err(unusable) } else { Ok(()) }
}

fn contradicted(backend: &dyn Backend, probe: &Probe, answer: &Answer) -> BTreeMap<Effect, Reason> {
    let claims = backend.governs(probe);
    // Of ours, an attempt without an answer says something about that moment.
    let unanswered =
        |finding: &Finding| backend.pinned().is_some() && matches!(finding, Finding::Unanswered(_));
    let wrong = |(effect, finding): (&Effect, &Finding)| {
        let claim = claims.get(effect)?;
        let counts = is_contradicted(claim, finding) || claim.is_enforced() && unanswered(finding);
        let reason = refined(claim.clone(), finding).reason().filter(|_| counts)?.clone();
        Some((*effect, reason))
    };
    answer.findings.iter().filter_map(wrong).collect()
}

/// What the last probe found to be otherwise than the facts and the backends say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Recalled {
    launches: BTreeMap<String, Unusable>,
    contradicted: BTreeMap<String, BTreeMap<Effect, Reason>>,
}

impl Recalled {
    /// About what is in `registry`. Nothing, where there is no file, where it is not the caller's alone, or where the host
    /// is no longer the same.
    pub(crate) fn here(places: &Places, probe: &Probe, registry: &Registry) -> Self {
        let Some(mut entry) = places.open_state().ok().flatten().and_then(|state| read(&state)) else {
            return Self::default();
        };
        let about = |id: &str| registry.by_id(&BackendId::new(id));
        entry.backends.retain(|id, word| !word.is_good() && about(id).is_some_and(|one| word.is_about(one)));
        if entry.backends.is_empty() {
            return Self::default();
        }
        if entry.key == Key::here(probe) { Self::of(entry) } else { Self::default() }
    }

    fn of(entry: Entry) -> Self {
        let mut recalled = Self::default();
        for (id, word) in entry.backends {
            if let Err(unusable) = word.launch {
                recalled.launches.insert(id, again(unusable));
            } else if !word.contradicted.is_empty() {
                recalled.contradicted.insert(id, word.contradicted);
            }
        }
        recalled
    }

    /// The facts with what was found.
    pub(crate) fn noted(&self, mut probe: Probe) -> Probe {
        for (id, unusable) in &self.launches {
            probe.launches.entry(id.clone()).or_insert_with(|| Err(unusable.clone()));
        }
        probe
    }

    /// The backend, which does not enforce what was found not to hold.
    pub(crate) fn doubted(&self, backend: Box<dyn Backend>) -> Box<dyn Backend> {
        match self.contradicted.get(backend.id().as_str()) {
            None => backend,
            Some(contradicted) => Box::new(Doubted::new(backend, contradicted.clone())),
        }
    }

    /// Whether there is anything to doubt.
    pub(crate) fn doubts(&self) -> bool {
        !self.contradicted.is_empty()
    }
}

fn again(unusable: Unusable) -> Unusable {
    let remedy = match &unusable.remedy {
        Some(remedy) => format!("{remedy}; {AGAIN}"),
        None => AGAIN.to_owned(),
    };
    Unusable { remedy: Some(Reason::from(remedy)), ..unusable }
}

/// Drops the entry where it says that the backend works, whose sandbox did not stand in this run.
pub(crate) fn doubt(places: &Places, report: &Report) {
    let Some(backend) =
        report.backend.as_ref().filter(|_| report.launch_fault.as_ref().is_some_and(is_launch))
    else {
        return;
    };
    let Ok(Some(state)) = places.open_state() else { return };
    let said = read(&state)
        .is_some_and(|entry| entry.backends.get(backend.as_str()).is_some_and(|word| word.launch.is_ok()));
    if said {
        let _ = unlinkat(&state.fd, FILE, UnlinkatFlags::NoRemoveDir);
    }
}

/// Whether a fault is about the sandbox, not about the call.
const fn is_launch(fault: &LaunchFault) -> bool {
    !matches!(fault.stage, LaunchStage::Usage | LaunchStage::Policy | LaunchStage::Choose)
}

fn read(state: &Place) -> Option<Entry> {
    // A FIFO of that name answers at once.
    let flags = OPEN | OFlag::O_RDONLY | OFlag::O_NONBLOCK;
    let file = File::from(openat(&state.fd, FILE, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok()?;
    let own = metadata.uid() == Uid::effective().as_raw() && metadata.mode() & FOR_OTHERS == 0;
    if !own || !metadata.is_file() || metadata.nlink() != 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(USUAL);
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok().filter(|entry: &Entry| entry.version == VERSION)
}

/// It appears whole or not at all.
fn write(state: &Place, entry: &Entry) -> io::Result<()> {
    let name = format!(".{FILE}-{}", std::process::id());
    let flags = OPEN | OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC;
    let mut file = File::from(openat(&state.fd, name.as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
    let written = serde_json::to_vec(entry).map_err(io::Error::from).and_then(|bytes| file.write_all(&bytes));
    let renamed = written.and_then(|()| {
        renameat(&state.fd, name.as_str(), &state.fd, FILE).map_err(|errno: Errno| errno.into())
    });
    renamed.inspect_err(|_| {
        let _ = unlinkat(&state.fd, name.as_str(), UnlinkatFlags::NoRemoveDir);
    })
}

#[cfg(test)]
mod tests;
