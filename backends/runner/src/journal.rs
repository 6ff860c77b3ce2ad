//! What runs owe, on disk: one file per run, as long as something is owed.
//!
//! A file is JSON Lines: the [`Entry`], then one [`Made`] for each thing made, so that a kill at any moment leaves a
//! readable account. The writer holds flock(2) on it for the life of the run; the kernel drops the lock when the
//! process dies, so an entry whose lock is free belongs to a dead run. The file appears by rename, complete and
//! locked. Nothing is synced: what must survive is the death of the process, and the page cache does. After a crash
//! of the machine at worst inert placeholders stay.

use std::ffi::OsStr;
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant, SystemTime};

use confine_core::policy::fs::Placeholder;
use confine_core::{AbsPath, Text};
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{Mode, fstat};
use nix::unistd::{Uid, UnlinkatFlags, unlinkat};
use serde::{Deserialize, Serialize};

use crate::beneath::{Identity, stat};
use crate::places::{Place, PlaceError};

/// The format of an entry. Entries of another format are left to the confine that wrote them.
pub const VERSION: u32 = 1;
const RUNS: &str = "runs";
const SUFFIX: &str = ".jsonl";
/// A file that is no entry any more.
const SPARE: &str = "spare";
/// Guards what more than one run looks at: who uses a placeholder.
const LOCK: &str = "lock";
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_STEP: Duration = Duration::from_millis(1);
/// A file that never became an entry is litter after this long.
const LITTER: Duration = Duration::from_secs(60);
/// The longest entry that is read.
const LONGEST: u64 = 16 * 1024 * 1024;

/// What one run owes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Of the format.
    pub(crate) version: u32,
    /// The run's id.
    pub(crate) run: String,
    /// Protected names that did not exist.
    pub(crate) names: Vec<Name>,
    /// Protected links.
    pub(crate) links: Vec<Link>,
    /// Repositories, and the operations that were under way in them.
    pub(crate) repositories: Vec<Repository>,
    /// Working trees, to tell another `.git` than theirs.
    #[serde(default)]
    pub(crate) trees: Vec<Tree>,
    /// Placeholders that the run uses.
    pub(crate) placeholders: Vec<Stand>,
    /// Files created empty.
    pub(crate) precreated: Vec<AbsPath>,
    /// What the run's mounts stand on: whoever moves such a file away takes the mount with it.
    #[serde(default)]
    pub(crate) masks: Vec<Mask>,
    /// Names that appeared while another run watched them, and that this run's mounts stand on: the last run that
    /// knows of one moves it away.
    #[serde(default)]
    pub(crate) inherited: Vec<Name>,
}

/// What a mount stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mask {
    /// Where.
    pub(crate) path: AbsPath,
    /// Which file it was at launch, where another one in its place has to go.
    pub(crate) identity: Option<Identity>,
}

/// A protected name that did not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Name {
    /// Where it would be.
    pub(crate) path: AbsPath,
    /// The write grant around it, which the program cannot replace.
    pub(crate) grant: AbsPath,
}

/// A protected name that was a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    /// Where.
    pub(crate) path: AbsPath,
    /// What it held.
    pub(crate) target: Text,
}

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Repository {
    /// Its git directory.
    pub(crate) path: AbsPath,
    /// The todo files that were there, and their digests.
    pub(crate) todos: Vec<(AbsPath, String)>,
}

/// A working tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tree {
    /// Its top.
    pub(crate) path: AbsPath,
    /// Which file its `.git` is.
    pub(crate) identity: Identity,
    /// The length of its index, in bytes.
    pub(crate) index: u64,
}

/// A placeholder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stand {
    /// Where.
    pub(crate) path: AbsPath,
    /// What it holds.
    pub(crate) placeholder: Placeholder,
}

/// A placeholder or precreated file that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Made {
    /// Where.
    pub(crate) path: AbsPath,
    /// Which file it was then.
    pub(crate) identity: Identity,
}

/// An entry as read back.
#[derive(Debug)]
pub(crate) struct Account {
    /// What is owed.
    pub(crate) entry: Entry,
    /// What of it was made.
    pub(crate) made: Vec<Made>,
}

impl Entry {
    /// For a run that owes nothing yet.
    pub(crate) fn of(run: &str) -> Self {
        Self { version: VERSION, run: run.to_owned(), ..Self::default() }
    }

    /// Whether there is anything to pay.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
            && self.links.is_empty()
            && self.repositories.is_empty()
            && self.placeholders.is_empty()
            && self.precreated.is_empty()
    }
}

/// A locked entry on disk.
#[derive(Debug)]
pub(crate) struct Journal {
    runs: Place,
    name: String,
    file: File,
}

impl Journal {
    /// Writes `entry`.
    ///
    /// # Errors
    /// As openat(2), write(2) and renameat(2); `InvalidInput` where the run's id is no file name.
    pub(crate) fn write(state: &Place, entry: &Entry) -> io::Result<Self> {
        if !entry.run.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') || entry.run.is_empty()
        {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the run's id is no file name"));
        }
        let runs = state.make_below(RUNS)?;
        let (name, hidden) = (format!("{}{SUFFIX}", entry.run), format!(".{}", entry.run));
        let mut file = claim(&runs, &hidden)?;
        // Nothing of what a spare one held is left.
        let written = append(&mut file, &[entry]).and_then(|length| file.set_len(length));
        let placed = written.and_then(|()| Ok(renameat(&runs.fd, hidden.as_str(), &runs.fd, name.as_str())?));
        if placed.is_err() {
            // The error above is the one to tell; the name is litter either way.
            let _ = unlinkat(&runs.fd, hidden.as_str(), UnlinkatFlags::NoRemoveDir);
        }
        placed.map(|()| Self { runs, name, file })
    }

    /// Adds what was made.
    ///
    /// # Errors
    /// As write(2).
    pub(crate) fn made(&mut self, made: &[Made]) -> io::Result<()> {
        append(&mut self.file, made).map(drop)
    }

    /// When the last of it was written: before the program started.
    pub(crate) fn started(&self) -> Option<SystemTime> {
        self.file.metadata().and_then(|metadata| metadata.modified()).ok()
    }

    /// Takes the entry away: all is paid. Its file is left for the next.
    pub(crate) fn strike(self) {
        let spared = renameat(&self.runs.fd, self.name.as_str(), &self.runs.fd, SPARE);
        if spared.is_err() {
            // If it stays, the next start pays again and finds nothing to do.
            let _ = unlinkat(&self.runs.fd, self.name.as_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// A locked file by a name that is no entry's: the spare one, or a new one, which costs more than all the rest of an
/// entry.
fn claim(runs: &Place, hidden: &str) -> io::Result<File> {
    if let Some(spare) = spare(runs, hidden) {
        return Ok(spare);
    }
    // Where somebody else's came by this name instead.
    let _ = unlinkat(&runs.fd, hidden, UnlinkatFlags::NoRemoveDir);
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = File::from(openat(&runs.fd, hidden, flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
    // Whoever sweeps may hold it for a moment.
    file.lock()?;
    Ok(file)
}

/// Locked before it is renamed: by its age it is litter to whoever sweeps.
fn spare(runs: &Place, hidden: &str) -> Option<File> {
    let flags = OFlag::O_RDWR | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = File::from(openat(&runs.fd, SPARE, flags, Mode::empty()).ok()?);
    if !is_ours_alone(&file) {
        return None;
    }
    file.try_lock().ok()?;
    renameat(&runs.fd, SPARE, &runs.fd, hidden).ok()?;
    is_named(runs, hidden, &file).then_some(file)
}

/// Whether it is a file of this user's that has no other name: what is written to it is written nowhere else.
fn is_ours_alone(file: &File) -> bool {
    let own = |metadata: &Metadata| metadata.uid() == Uid::effective().as_raw() && metadata.nlink() == 1;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && own(&metadata))
}

/// Answers how many bytes that took.
fn append<T: Serialize>(file: &mut File, lines: &[T]) -> io::Result<u64> {
    let mut text = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
    }
    file.write_all(&text)?;
    Ok(u64::try_from(text.len()).unwrap_or(u64::MAX))
}

/// Whether an entry's run is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Dead,
    Alive,
}

/// The entries of dead runs, each locked for the caller, who pays and strikes them.
pub(crate) fn dead(state: &Place) -> Vec<(Journal, Account)> {
    let entries = entries(state).into_iter().filter(|(life, ..)| *life == Life::Dead);
    entries.map(|(_, journal, account)| (journal, account)).collect()
}

/// What the runs that are alive owe. To be asked under [`lock`]; a run does not see itself.
pub(crate) fn alive(state: &Place, except: &str) -> Vec<Account> {
    let others = entries(state).into_iter().filter(|(_, _, account)| account.entry.run != except);
    others.filter(|(life, ..)| *life == Life::Alive).map(|(.., account)| account).collect()
}

/// What all runs owe, also those that nobody has paid for yet. To be asked under [`lock`].
pub(crate) fn all(state: &Place) -> Vec<Account> {
    entries(state).into_iter().map(|(.., account)| account).collect()
}

fn entries(state: &Place) -> Vec<(Life, Journal, Account)> {
    let Ok(Some(runs)) = state.open_below(RUNS) else { return Vec::new() };
    let listed = std::fs::read_dir(&runs.path).into_iter().flatten().flatten();
    let mut names: Vec<String> = listed.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.iter().filter_map(|name| entry(state, name)).collect()
}

fn entry(state: &Place, name: &str) -> Option<(Life, Journal, Account)> {
    if name == SPARE {
        return None;
    }
    let runs = state.open_below(RUNS).ok()??;
    let flags = OFlag::O_RDWR | OFlag::O_APPEND | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let mut file = File::from(openat(&runs.fd, name, flags, Mode::empty()).ok()?);
    let life = match file.try_lock() {
        Ok(()) => Life::Dead,
        Err(TryLockError::WouldBlock) => Life::Alive,
        Err(TryLockError::Error(_)) => return None,
    };
    if !name.ends_with(SUFFIX) {
        sweep(&runs, name, &file, life);
        return None;
    }
    // Struck between the listing and the lock: paid, and the file may be another entry by now.
    if !is_named(&runs, name, &file) {
        return None;
    }
    let mut text = Vec::new();
    (&mut file).take(LONGEST).read_to_end(&mut text).ok()?;
    let account = parse(&text)?;
    Some((life, Journal { runs, name: name.to_owned(), file }, account))
}

fn is_named(runs: &Place, name: &str, file: &File) -> bool {
    let named = stat(&runs.fd, name.as_ref()).ok().flatten();
    let own = fstat(file).ok();
    named.zip(own).is_some_and(|(named, own)| Identity::from(&named) == Identity::from(&own))
}

/// Removes what was left by a run that died before its entry was complete: it owed nothing then.
fn sweep(runs: &Place, name: &str, file: &File, life: Life) {
    let changed = file.metadata().and_then(|metadata| metadata.modified());
    let age = changed.ok().and_then(|changed| SystemTime::now().duration_since(changed).ok());
    if life == Life::Dead && age.is_some_and(|age| age > LITTER) && is_named(runs, name, file) {
        // Litter that stays does no harm.
        let _ = unlinkat(&runs.fd, OsStr::new(name), UnlinkatFlags::NoRemoveDir);
    }
}

/// `None` for another format; a line that was cut off by a kill ends it.
fn parse(text: &[u8]) -> Option<Account> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let entry: Entry = serde_json::from_slice(lines.next()?).ok()?;
    let made = lines.map_while(|line| serde_json::from_slice(line).ok()).collect();
    (entry.version == VERSION).then_some(Account { entry, made })
}

/// Waits for the lock that guards what runs share, for at most 5 s. Held until dropped.
///
/// # Errors
/// `TimedOut`, and as open(2).
pub(crate) fn lock(state: &Place) -> io::Result<File> {
    let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = File::from(openat(&state.fd, LOCK, flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if started.elapsed() > LOCK_WAIT => {
                return Err(io::Error::from(Errno::ETIMEDOUT));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_STEP),
        }
    }
}

impl From<PlaceError> for io::Error {
    fn from(error: PlaceError) -> Self {
        Self::other(error)
    }
}

#[cfg(test)]
mod tests;
