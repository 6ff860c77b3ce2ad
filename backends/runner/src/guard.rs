//! What is owed on the host for one run: placeholders and precreated files before it, checks and quarantine after it.
//!
//! A journal entry stands in the state directory as long as something is owed; the next start of any confine command
//! finishes what a killed run left ([`recover`]). Where nothing is owed, no file is touched. Where the state directory
//! cannot be written (a read-only home, confine inside confine), a run that only watches names goes without an entry:
//! its checks are made, but not after a kill, and its report says so.
//!
//! What appears after the whole tree is dead is judged by the world alone: a watcher can be outrun. Who made it is not
//! known, so what somebody else creates by a protected name during a run is moved away as well, and can be restored.

mod arrival;
mod check;
mod clones;
mod fault;
mod gitlinks;
mod inheritance;
mod owed;
mod pledge;
mod todo;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use confine_core::policy::Policy;
use confine_core::report::{Quarantined, Violation};
use confine_core::{AbsPath, Effect, LaunchFault, Layer, Loss};

use crate::beneath::{Identity, Walk, directory};
use crate::journal::{self, Entry, Journal, Made, Tree};
use crate::placeholder;
use crate::places::{Place, Places};

use fault::Unkept;

pub use crate::journal::VERSION as ENTRY_VERSION;
pub use crate::watch::MaskWatch;
pub(crate) use pledge::{Duty, Pledge};

/// How long a tree may live on after its runner was killed (at most 24 ms were measured): the checks come after it.
const DYING: Duration = Duration::from_millis(50);

/// Why a run goes without an entry.
const UNKEPT: &str = "the state directory cannot be written: names are compared after the run only, not after a kill, and what appeared is renamed in place";

/// The debts of one run. Dropped without [`Guard::finish`], it pays them too.
#[derive(Debug)]
pub struct Guard {
    debts: Option<Debts>,
    /// To be looked at where nothing else is owed.
    trees: Vec<Tree>,
    masks: Vec<AbsPath>,
}

/// Whom the end of a run concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The run alone: only names are looked up, and no lock is waited for.
    Alone,
    /// Other runs may have a part in something.
    Shared,
}

/// Whether a launch has a mount view of its own. Without one a placeholder stands for nothing, and there is no mask to
/// lose; what appears is looked for all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mounts {
    /// It has.
    Present,
    /// The host's own view is the program's.
    Absent,
}

impl Mounts {
    /// As the layers of a launch say.
    pub(crate) fn of(layers: &[Layer]) -> Self {
        if layers.contains(&Layer::Mount) { Self::Present } else { Self::Absent }
    }
}

/// What the checks after a run found.
#[derive(Debug, Default)]
pub struct Aftermath {
    /// Against the policy.
    pub violations: Vec<Violation>,
    /// Moved away.
    pub quarantined: Vec<Quarantined>,
    /// Created by the run: their git directories, and `.git` files that lead to one.
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
    pub fn begin(policy: &Policy, mounts: Mounts, run: &str, places: &Places) -> Result<Self, LaunchFault> {
        Pledge::new(policy, mounts, run)?.keep(policy, places)
    }

    /// A watch over the parents of masks; `None` where there is no mask that the host could take away. Call it before
    /// the sandbox stands: what is there then is what the masks are expected to stand on.
    pub fn watch(&self) -> Option<MaskWatch> {
        MaskWatch::over(&self.masks)
    }

    /// What the run goes without, where no entry could be written.
    pub fn loss(&self) -> Option<Loss> {
        let unkept = self.debts.as_ref().is_some_and(|debts| debts.ledger.is_none());
        unkept.then(|| Loss { effect: Effect::FsCarveOutNew, reason: UNKEPT.into() })
    }

    /// Whom finishing concerns. To be asked after the whole tree is dead.
    pub(crate) fn due(&self) -> Due {
        self.debts.as_ref().map_or(Due::Alone, Debts::due)
    }

    /// After the whole tree is dead: checks, quarantines, removes, and strikes the journal entry.
    pub fn finish(self) -> Aftermath {
        let due = self.due();
        self.finish_as(due)
    }

    /// Likewise, where [`Guard::due`] is known.
    pub(crate) fn finish_as(mut self, due: Due) -> Aftermath {
        match self.debts.take() {
            Some(debts) => debts.pay(due),
            None => {
                let new_repositories = gitlinks::changed(&self.trees).into_iter().collect();
                Aftermath { new_repositories, ..Aftermath::default() }
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(debts) = self.debts.take() {
            // Nobody is left to tell; what was moved is in the quarantine's list.
            let due = debts.due();
            debts.pay(due);
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
            let started = journal.started();
            let ledger = Some(Ledger { state, journal });
            let debts = Debts { ledger, entry: account.entry, made, started, held };
            let due = debts.due();
            Some(Recovered { run, aftermath: debts.pay(due) })
        })
        .collect()
}

fn identities(made: &[Made]) -> BTreeMap<AbsPath, Identity> {
    made.iter().map(|made| (made.path.clone(), made.identity)).collect()
}

/// What one run owes.
#[derive(Debug)]
struct Debts {
    /// Where that stands, if it can stand anywhere.
    ledger: Option<Ledger>,
    entry: Entry,
    made: BTreeMap<AbsPath, Identity>,
    /// Before the program did; `None` where nothing says when.
    started: Option<SystemTime>,
    /// Directories that names are missing in, held open: renaming them does not hide what appears there.
    held: BTreeMap<AbsPath, OwnedFd>,
}

/// The state directory, with a locked entry that says what is owed.
#[derive(Debug)]
struct Ledger {
    state: Place,
    journal: Journal,
}

impl Debts {
    fn contract(policy: &Policy, mounts: Mounts, entry: Entry, places: &Places) -> Result<Self, LaunchFault> {
        let makes = !entry.placeholders.is_empty() || !entry.precreated.is_empty();
        let expendable = !makes && policy.accept_missing.contains(Effect::FsCarveOutNew);
        match Self::kept(policy, mounts, entry.clone(), places) {
            Err(Unkept::Unwritable(_)) if expendable => Self::unkept(entry),
            other => other.map_err(Unkept::fault),
        }
    }

    /// Without an entry: nothing is made, so a kill leaves nothing but what the program made.
    fn unkept(entry: Entry) -> Result<Self, LaunchFault> {
        let held = hold(&entry);
        owed::still_missing(&entry)?;
        let started = Some(SystemTime::now());
        Ok(Self { ledger: None, entry, made: BTreeMap::new(), started, held })
    }

    fn kept(policy: &Policy, mounts: Mounts, mut entry: Entry, places: &Places) -> Result<Self, Unkept> {
        let state = places.make_state().map_err(fault::place)?;
        let shared = Some(journal::lock(&state).map_err(|error| fault::state(&state, &error))?);
        let adopts = about_repositories(&entry) && mounts == Mounts::Present;
        let adopted = if adopts { owed::adopt(policy, &state, &mut entry) } else { Vec::new() };
        if !entry.masks.is_empty() {
            entry.inherited = inheritance::inherit(&entry, &journal::all(&state));
        }
        let held = hold(&entry);
        owed::still_missing(&entry)?;
        let mut journal = Journal::write(&state, &entry).map_err(|error| fault::state(&state, &error))?;
        let mut made = identities(&adopted);
        let done = make(&entry, &mut made);
        let notes: Vec<Made> =
            made.iter().map(|(path, identity)| Made { path: path.clone(), identity: *identity }).collect();
        let noted = journal.made(&notes).map_err(|error| fault::state(&state, &error).fault());
        let started = journal.started();
        let mut debts = Self { ledger: Some(Ledger { state, journal }), entry, made, started, held };
        if let Err(fault) = done.and(noted) {
            debts.disown();
            // Still under the lock: nobody may take what was never made for something that this run stands on.
            debts.settle(Ok(shared));
            return Err(fault.into());
        }
        Ok(debts)
    }

    /// What could not be made is somebody else's, or nothing.
    fn disown(&mut self) {
        self.entry.placeholders.retain(|stand| self.made.contains_key(&stand.path));
        self.entry.precreated.retain(|path| self.made.contains_key(path));
    }

    fn pay(self, due: Due) -> Aftermath {
        let ledger = self.ledger.as_ref().filter(|_| due == Due::Shared);
        let shared = ledger.map(|ledger| journal::lock(&ledger.state)).transpose();
        self.settle(shared)
    }

    fn due(&self) -> Due {
        let Entry { names, links, inherited, masks, .. } = &self.entry;
        let mut walk = Walk::default();
        let is_shared = about_repositories(&self.entry)
            || !(links.is_empty() && inherited.is_empty())
            || names.iter().any(|name| walk.identity(&name.path).is_some())
            || inheritance::replaced(masks).next().is_some();
        if is_shared { Due::Shared } else { Due::Alone }
    }

    /// Without the lock the placeholders and the entry stay: another run may stand on them.
    fn settle(self, shared: io::Result<Option<File>>) -> Aftermath {
        let state = self.ledger.as_ref().map(|ledger| &ledger.state);
        let run = self.entry.run.as_str();
        // Without the lock, what is nobody else's is not asked about; where it was not to be had, better too much is left.
        let is_shared = !matches!(shared, Ok(None));
        let others = state.filter(|_| is_shared).map(|state| journal::alive(state, run)).unwrap_or_default();
        let mut check = check::Check::new(state, run, &self.held, &others);
        check.names(&self.entry.names);
        check.clones(&self.entry.names, self.started);
        check.gitlinks(&self.entry.trees);
        check.links(&self.entry.links);
        check.todos(&self.entry.repositories);
        check.masks(&self.entry.masks);
        if let Some(state) = state.filter(|_| !self.entry.inherited.is_empty()) {
            let mut all = journal::all(state);
            all.retain(|account| account.entry.run != run);
            check.inherited(&self.entry.inherited, &all);
        }
        check.precreated(&self.entry.precreated, &self.made);
        let paid = shared.is_ok();
        if paid && state.is_some() {
            check.placeholders(&self.entry.placeholders, &self.made);
        }
        let aftermath = check.aftermath;
        if let Some(ledger) = self.ledger.filter(|_| paid) {
            ledger.journal.strike();
        }
        aftermath
    }
}

/// Makes what is not there yet, and says what was made even if not all of it could be.
fn make(entry: &Entry, made: &mut BTreeMap<AbsPath, Identity>) -> Result<(), LaunchFault> {
    for stand in &entry.placeholders {
        if !made.contains_key(&stand.path) {
            let identity = placeholder::make(&stand.path, stand.placeholder);
            made.insert(stand.path.clone(), identity.map_err(|errno| fault::make(&stand.path, errno))?);
        }
    }
    for path in &entry.precreated {
        let identity = placeholder::precreate(path);
        made.insert(path.clone(), identity.map_err(|errno| fault::make(path, errno))?);
    }
    Ok(())
}

/// Runs in one repository share its placeholders.
fn about_repositories(entry: &Entry) -> bool {
    !entry.repositories.is_empty() || !entry.placeholders.is_empty()
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

#[cfg(test)]
mod tests;
