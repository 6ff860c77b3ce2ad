//! Moves away what appeared against the policy, and gives it back. Nothing is deleted and no link is followed.
//!
//! A thing goes to `quarantine/ID/content` in the state directory. Where it cannot go there (another file system, a
//! directory of somebody else's), it is renamed in its own directory, where the next run could change it: whoever
//! restores it looks at it first.

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::time::SystemTime;

use confine_core::AbsPath;
use confine_core::report::Quarantined;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use rustix::fs::{RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};

use crate::beneath::Spot;
use crate::places::{Place, PlaceError, Places};

const DIRECTORY: &str = "quarantine";
const CONTENT: &str = "content";
const RECORD: &str = "record.json";
const IN_PLACE: &str = ".confine-quarantine-";
/// How many names are tried where the program has taken one.
const ATTEMPTS: u32 = 16;
/// The format of a [`Record`].
pub const VERSION: u32 = 1;
/// A name takes 255 bytes (limits.h); what is before it takes less than half.
const NAME: usize = 100;

/// One thing that was moved away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Format version: [`VERSION`].
    pub version: u32,
    /// For [`restore`].
    pub id: String,
    /// The run during which it appeared.
    pub run: String,
    /// Where it was.
    pub path: AbsPath,
    /// Where it is.
    pub to: AbsPath,
    /// When it was moved, in milliseconds since 1970.
    pub moved_ms: u64,
}

/// Why something cannot be moved away, listed or given back.
#[derive(Debug, thiserror::Error)]
pub enum QuarantineError {
    /// The state directory.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Nothing has that id.
    #[error("nothing in quarantine has the id `{0}`")]
    Unknown(String),
    /// Something is where it was.
    #[error("`{0}` exists")]
    Occupied(AbsPath),
    /// The system refused.
    #[error("`{path}`: {source}")]
    Refused {
        /// About what.
        path: AbsPath,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl QuarantineError {
    /// The next step for the user.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Place(error) => Some(error.help()),
            Self::Unknown(_) => Some("`confine quarantine list` shows what is there".to_owned()),
            Self::Occupied(path) => Some(format!("move `{path}` away first")),
            Self::Refused { .. } => {
                Some("`confine quarantine list` shows where it is, for moving it by hand".to_owned())
            }
        }
    }
}

/// What is in quarantine, oldest first.
///
/// # Errors
/// Where the state directory cannot be used.
pub fn list(places: &Places) -> Result<Vec<Record>, QuarantineError> {
    let Some(all) = open(places)? else { return Ok(Vec::new()) };
    let names = std::fs::read_dir(&all.path).into_iter().flatten().flatten();
    let ids = names.filter_map(|entry| entry.file_name().into_string().ok());
    let there = |record: &Record| record.to.as_path().symlink_metadata().is_ok();
    let mut records: Vec<Record> = ids.filter_map(|id| record(&all, &id)).filter(there).collect();
    records.sort_by(|one, other| (one.moved_ms, &one.id).cmp(&(other.moved_ms, &other.id)));
    Ok(records)
}

/// Gives something back to where it was, and says where that is. Nothing is overwritten.
///
/// # Errors
/// Where something is there, the directory is gone or is a link now, or nothing has that id.
pub fn restore(places: &Places, id: &str) -> Result<AbsPath, QuarantineError> {
    let unknown = || QuarantineError::Unknown(id.to_owned());
    let all = open(places)?.ok_or_else(unknown)?;
    let record = record(&all, id).ok_or_else(unknown)?;
    let refused = |errno: Errno| QuarantineError::Refused { path: record.path.clone(), source: errno.into() };
    let from = Spot::of(&record.to).map_err(refused)?;
    let to = Spot::of(&record.path).map_err(refused)?;
    match relocate(&from, &to) {
        Ok(()) => {}
        Err(Errno::EEXIST) => return Err(QuarantineError::Occupied(record.path)),
        Err(errno) => return Err(refused(errno)),
    }
    forget(&all, id);
    Ok(record.path)
}

/// Deletes a file in quarantine that confine itself planted, and its record.
pub(crate) fn discard(places: &Places, moved: &Quarantined) {
    let Ok(records) = list(places) else { return };
    let _ = std::fs::remove_file(&moved.to);
    let record = records.into_iter().find(|record| record.to == moved.to);
    if let (Some(record), Ok(Some(all))) = (record, open(places)) {
        forget(&all, &record.id);
    }
}

fn open(places: &Places) -> Result<Option<Place>, QuarantineError> {
    let Some(state) = places.open_state()? else { return Ok(None) };
    Ok(state.open_below(DIRECTORY)?)
}

fn record(all: &Place, id: &str) -> Option<Record> {
    // The id is the user's word: it may not lead elsewhere.
    let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let text = std::fs::read(all.path.join(id).ok()?.join(RECORD).ok()?).ok()?;
    serde_json::from_slice(&text).ok().filter(|record: &Record| plain && record.id == id)
}

/// Removes the record of something that is no longer in quarantine.
fn forget(all: &Place, id: &str) {
    // What cannot be removed is a record of nothing, which no list shows.
    if let Ok(Some(one)) = all.open_below(id) {
        let _ = unlinkat(&one.fd, RECORD, UnlinkatFlags::NoRemoveDir);
        let _ = unlinkat(&all.fd, id, UnlinkatFlags::RemoveDir);
    }
}

/// Moves what is at `spot` (`path` on the host) away. The record is written first: a kill in between leaves a record
/// of nothing.
///
/// # Errors
/// Where it can be moved neither to the state directory nor aside.
pub(crate) fn take(
    state: &Place,
    spot: &Spot,
    path: &AbsPath,
    run: &str,
) -> Result<Quarantined, QuarantineError> {
    let all = state.make_below(DIRECTORY)?;
    let (id, own) = fresh(&all, run)?;
    let refused = |source: io::Error| QuarantineError::Refused { path: path.clone(), source };
    let mut record = Record {
        version: VERSION,
        run: run.to_owned(),
        path: path.clone(),
        to: own.path.join(CONTENT).map_err(|error| refused(io::Error::other(error)))?,
        moved_ms: now(),
        id,
    };
    note(&own, &record).map_err(refused)?;
    let content = Spot { parent: own.fd.try_clone().map_err(refused)?, name: CONTENT.into() };
    if relocate(spot, &content).is_err()
        && let Err(source) = beside(spot, &mut record, |record| note(&own, record))
    {
        forget(&all, &record.id);
        return Err(refused(source));
    }
    Ok(Quarantined { path: record.path, to: record.to })
}

/// As [`take`], where there is no state directory to use: it is renamed in its own directory, and nothing lists it.
///
/// # Errors
/// As renameat2(2).
pub(crate) fn set_aside(spot: &Spot, path: &AbsPath, run: &str) -> io::Result<Quarantined> {
    let mut record = Record {
        version: VERSION,
        id: run.to_owned(),
        run: run.to_owned(),
        path: path.clone(),
        to: path.clone(),
        moved_ms: now(),
    };
    beside(spot, &mut record, |_| Ok(()))?;
    Ok(Quarantined { path: record.path, to: record.to })
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A directory of its own for one thing: `RUN-1`, `RUN-2`, …
fn fresh(all: &Place, run: &str) -> Result<(String, Place), QuarantineError> {
    for number in 1..=u32::MAX {
        let id = format!("{run}-{number}");
        match mkdirat(&all.fd, id.as_str(), Mode::S_IRWXU) {
            Err(Errno::EEXIST) => {}
            Err(errno) => {
                return Err(QuarantineError::Refused { path: all.path.clone(), source: errno.into() });
            }
            Ok(()) => return Ok((id.clone(), all.make_below(&id)?)),
        }
    }
    Err(QuarantineError::Refused { path: all.path.clone(), source: Errno::ENOSPC.into() })
}

/// Renames it in its own directory, by the first name that is free, which is noted first.
fn beside(spot: &Spot, record: &mut Record, note: impl Fn(&Record) -> io::Result<()>) -> io::Result<()> {
    let parent = record.path.parent().unwrap_or_else(AbsPath::root);
    let mut refusal = Errno::EEXIST;
    for attempt in 1..=ATTEMPTS {
        let beside = Spot { parent: spot.parent.try_clone()?, name: aside(&record.id, attempt, &spot.name) };
        record.to = parent.join(&beside.name).map_err(io::Error::other)?;
        note(record)?;
        match relocate(spot, &beside) {
            Ok(()) => return Ok(()),
            Err(errno) => refusal = errno,
        }
        if refusal != Errno::EEXIST {
            break;
        }
    }
    Err(refusal.into())
}

fn aside(id: &str, attempt: u32, name: &OsStr) -> OsString {
    let shown = name.as_bytes().iter().take(NAME);
    let before = format!("{IN_PLACE}{id}-{attempt}-").into_bytes();
    OsString::from_vec(before.into_iter().chain(shown.copied()).collect())
}

fn note(own: &Place, record: &Record) -> io::Result<()> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = openat(&own.fd, RECORD, flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
    Ok(serde_json::to_writer(std::fs::File::from(file), record)?)
}

/// Renames without replacing anything. A directory that the program closed to us is opened again, once: it is the
/// caller's own.
fn relocate(from: &Spot, to: &Spot) -> nix::Result<()> {
    let rename = || {
        let (old, new) = (from.name.as_os_str(), to.name.as_os_str());
        renameat_with(&from.parent, old, &to.parent, new, RenameFlags::NOREPLACE)
            .map_err(|errno| Errno::from_raw(errno.raw_os_error()))
    };
    match rename() {
        Err(Errno::EACCES) => {
            open_up(&from.parent)?;
            rename()
        }
        done => done,
    }
}

/// Gives the owner back every right in a directory.
///
/// # Errors
/// As fchmod(2).
pub(crate) fn open_up(directory: impl AsFd) -> nix::Result<()> {
    // The descriptor only stands for the directory, so its link in /proc is what chmod(2) takes.
    let itself = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    let failed = |error: io::Error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO));
    let mode = std::fs::metadata(&itself).map_err(failed)?.permissions().mode();
    std::fs::set_permissions(&itself, Permissions::from_mode(mode & 0o7777 | 0o700)).map_err(failed)
}
