//! What is owed on the host for one run: placeholders and precreated files before it, checks and quarantine after it.
//!
//! A journal entry stands in the state directory as long as something is owed; the next start of any confine command
//! finishes what a killed run left ([`recover`]). Where nothing is owed, no file is touched.
//!
//! What appears after the whole tree is dead is judged by the world alone: a watcher can be outrun. Who made it is not
//! known, so what somebody else creates by a protected name during a run is moved away as well, and can be restored.

mod arrival;
mod check;
mod clones;
mod owed;
mod todo;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use confine_core::policy::Policy;
use confine_core::report::{Quarantined, Violation};
use confine_core::{AbsPath, Effect, LaunchFault, LaunchStage};
use nix::errno::Errno;

use crate::beneath::{Identity, directory};
use crate::journal::{self, Entry, Journal, Made};
use crate::placeholder;
use crate::places::{Place, PlaceError, Places};
use crate::watch;

pub use crate::watch::MaskWatch;

/// How long a tree may live on after its runner was killed (at most 24 ms were measured): the checks come after it.
const DYING: Duration = Duration::from_millis(50);

/// The debts of one run. Dropped without [`Guard::finish`], it pays them too.
#[derive(Debug)]
pub struct Guard {
    debts: Option<Debts>,
    masks: Vec<AbsPath>,
}

/// What the checks after a run found.
#[derive(Debug, Default)]
pub struct Aftermath {
    /// Against the policy.
    pub violations: Vec<Violation>,
    /// Moved away.
    pub quarantined: Vec<Quarantined>,
    /// Created by the run, by their git directories.
    pub new_repositories: Vec<AbsPath>,
}

/// What was found when the debts of a dead run were paid.
#[derive(Debug)]
pub struct Recovered {
    /// The run's id.
    pub run: String,
    /// What its checks found.
    pub aftermath: Aftermath,
}

impl Guard {
    /// Writes the journal entry, makes placeholders and precreated files, and remembers what the checks compare with.
    /// Cheap where the policy owes nothing: no file is touched then.
    ///
    /// # Errors
    /// Whatever cannot be made, as a fault by name; nothing is left then.
    pub fn begin(policy: &Policy, run: &str, places: &Places) -> Result<Self, LaunchFault> {
        let masks = watch::masks(policy);
        let entry = owed::entry(policy, run)?;
        if entry.is_empty() {
            return Ok(Self { debts: None, masks });
        }
        let debts = Debts::contract(policy, entry, places)?;
        Ok(Self { debts: Some(debts), masks })
    }

    /// A watch over the parents of masks; `None` where there is no mask that the host could take away. Call it before
    /// the sandbox stands: what is there then is what the masks are expected to stand on.
    ///
    /// # Errors
    /// inotify(7)'s, as a fault.
    pub fn watch(&self) -> Result<Option<MaskWatch>, LaunchFault> {
        MaskWatch::over(&self.masks)
    }

    /// After the whole tree is dead: checks, quarantines, removes, and strikes the journal entry.
    pub fn finish(mut self) -> Aftermath {
        self.debts.take().map(Debts::pay).unwrap_or_default()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(debts) = self.debts.take() {
            // Nobody is left to tell; what was moved is in the quarantine's list.
            debts.pay();
        }
    }
}

/// Pays what dead runs left. To be called at the start of every command; with nothing left it lists one directory.
/// A state directory that cannot be used holds nothing that can be paid: [`Guard::begin`] is the one to complain.
pub fn recover(places: &Places) -> Vec<Recovered> {
    let Ok(Some(state)) = places.open_state() else { return Vec::new() };
    let dead = journal::dead(&state);
    if !dead.is_empty() {
        std::thread::sleep(DYING);
    }
    dead.into_iter()
        .filter_map(|(journal, account)| {
            let state = places.open_state().ok()??;
            let run = account.entry.run.clone();
            let made = identities(&account.made);
            let held = BTreeMap::new();
            let debts = Debts { state, journal, entry: account.entry, made, held };
            Some(Recovered { run, aftermath: debts.pay() })
        })
        .collect()
}

fn identities(made: &[Made]) -> BTreeMap<AbsPath, Identity> {
    made.iter().map(|made| (made.path.clone(), made.identity)).collect()
}

/// What one run owes, with a locked entry that says so.
#[derive(Debug)]
struct Debts {
    state: Place,
    journal: Journal,
    entry: Entry,
    made: BTreeMap<AbsPath, Identity>,
    /// Directories that names are missing in, held open: renaming them does not hide what appears there.
    held: BTreeMap<AbsPath, OwnedFd>,
}

impl Debts {
    fn contract(policy: &Policy, mut entry: Entry, places: &Places) -> Result<Self, LaunchFault> {
        let state = places.make_state().map_err(|error| place_fault(&error))?;
        let shared = shared(&state, &entry).map_err(|error| state_fault(&state, &error))?;
        let adopted = if shared.is_some() { owed::adopt(policy, &state, &mut entry) } else { Vec::new() };
        let held = hold(&entry);
        owed::still_missing(&entry)?;
        let journal = Journal::write(&state, &entry).map_err(|error| state_fault(&state, &error))?;
        let mut debts = Self { state, journal, entry, made: identities(&adopted), held };
        if let Err(fault) = debts.make() {
            debts.disown();
            // Still under the lock: nobody may take what was never made for something that this run stands on.
            debts.settle(Ok(shared));
            return Err(fault);
        }
        Ok(debts)
    }

    /// Makes what is not there yet, and notes what was made even if not all of it could be.
    fn make(&mut self) -> Result<(), LaunchFault> {
        let made = self.make_each();
        let notes: Vec<Made> = self
            .made
            .iter()
            .map(|(path, identity)| Made { path: path.clone(), identity: *identity })
            .collect();
        let noted = self.journal.made(&notes).map_err(|error| state_fault(&self.state, &error));
        made.and(noted)
    }

    fn make_each(&mut self) -> Result<(), LaunchFault> {
        for stand in &self.entry.placeholders {
            if !self.made.contains_key(&stand.path) {
                let made = placeholder::make(&stand.path, stand.placeholder);
                let identity = made.map_err(|errno| make_fault(&stand.path, errno))?;
                self.made.insert(stand.path.clone(), identity);
            }
        }
        for path in &self.entry.precreated {
            let identity = placeholder::precreate(path).map_err(|errno| make_fault(path, errno))?;
            self.made.insert(path.clone(), identity);
        }
        Ok(())
    }

    /// What could not be made is somebody else's, or nothing.
    fn disown(&mut self) {
        self.entry.placeholders.retain(|stand| self.made.contains_key(&stand.path));
        self.entry.precreated.retain(|path| self.made.contains_key(path));
    }

    fn pay(self) -> Aftermath {
        let shared = shared(&self.state, &self.entry);
        self.settle(shared)
    }

    /// Without the lock the placeholders and the entry stay: another run may stand on them.
    fn settle(self, shared: io::Result<Option<File>>) -> Aftermath {
        let mut check = check::Check::new(&self.state, &self.entry.run, &self.held);
        check.names(&self.entry.names);
        check.clones(&self.entry.names, self.journal.started());
        check.links(&self.entry.links);
        check.todos(&self.entry.repositories);
        check.precreated(&self.entry.precreated, &self.made);
        let paid = shared.is_ok();
        if paid && !self.entry.placeholders.is_empty() {
            let others = journal::alive(&self.state, &self.entry.run);
            check.placeholders(&self.entry.placeholders, &self.made, &others);
        }
        let aftermath = check.aftermath;
        if paid {
            self.journal.strike();
        }
        aftermath
    }
}

/// The lock over what runs share, where the entry is about a repository.
fn shared(state: &Place, entry: &Entry) -> io::Result<Option<File>> {
    let shares = !entry.repositories.is_empty() || !entry.placeholders.is_empty();
    shares.then(|| journal::lock(state)).transpose()
}

fn hold(entry: &Entry) -> BTreeMap<AbsPath, OwnedFd> {
    let mut held = BTreeMap::new();
    for name in &entry.names {
        let above = name.path.ancestors().skip(1).take_while(|above| above.is_within(&name.grant));
        for above in above {
            if held.contains_key(&above) {
                break;
            }
            if let Ok(fd) = directory(&above) {
                held.insert(above, fd);
                break;
            }
        }
    }
    held
}

fn place_fault(error: &PlaceError) -> LaunchFault {
    let mut fault =
        LaunchFault::new(LaunchStage::Spawn, format!("keep the journal that protected names need: {error}"));
    fault.effect = Some(Effect::FsCarveOutNew);
    fault.path = error.path().cloned();
    fault.help(error.help())
}

fn state_fault(state: &Place, error: &io::Error) -> LaunchFault {
    let mut fault = LaunchFault::new(
        LaunchStage::Spawn,
        format!("keep the journal that protected names need in `{}`: {error}", state.path),
    );
    fault.effect = Some(Effect::FsCarveOutNew);
    fault.path = Some(state.path.clone());
    fault.errno = error.raw_os_error();
    fault.help("set `XDG_STATE_HOME` to a directory of your own that can be written")
}

fn make_fault(path: &AbsPath, errno: Errno) -> LaunchFault {
    let mut fault = LaunchFault::new(LaunchStage::Spawn, format!("create `{path}`: {}", errno.desc()));
    fault.effect = Some(Effect::FsCarveOutNew);
    fault.path = Some(path.clone());
    fault.errno = io::Error::from(errno).raw_os_error();
    fault.help("let this user write there; for a name inside `.git`, `--git protect` needs none")
}

#[cfg(test)]
mod tests;
