//! A small file of the user's that is read whole and replaced whole.
//!
//! Whoever changes it holds flock(2) on its directory, reads it again, writes the next version beside it, syncs, and renames:
//! a kill at any moment leaves the old version or the new one, and twenty who add to it lose nothing. A file that cannot be
//! understood is an error, and stays as it is.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

use confine_core::AbsPath;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{Uid, UnlinkatFlags, unlinkat};

use crate::beneath::kind;
use crate::places::{Place, PlaceError};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;
const FOR_OTHERS: u32 = 0o077;
pub(super) const PRIVATE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
const LOCK_WAIT: Duration = Duration::from_secs(10);
const LOCK_STEP: Duration = Duration::from_millis(2);

/// Why a file of confine's own cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// Its directory.
    #[error("{0}")]
    Place(#[from] PlaceError),
    /// It cannot be read, locked or written.
    #[error("`{path}`: {source}")]
    Unusable {
        /// Which.
        path: AbsPath,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A link, a directory or a special file.
    #[error("`{0}` is not a regular file")]
    Special(AbsPath),
    /// It belongs to somebody else.
    #[error("`{path}` belongs to uid {owner}, not to this user")]
    Owner {
        /// Which.
        path: AbsPath,
        /// Whose.
        owner: u32,
    },
    /// Others may read or write it.
    #[error("`{path}` is open to others (mode {mode:04o})")]
    Loose {
        /// Which.
        path: AbsPath,
        /// Its permission bits.
        mode: u32,
    },
}

impl KeptError {
    /// The next step for the user.
    pub fn help(&self) -> String {
        match self {
            Self::Place(place) => place.help(),
            Self::Unusable { path, .. } => format!("look at `{path}`, and at the room on its disk"),
            Self::Special(_) => "put the file itself there, not a link to it".to_owned(),
            Self::Owner { path, .. } => format!("move `{path}` away: somebody else wrote it"),
            Self::Loose { path, .. } => format!("look at what is in it, then chmod 600 {path}"),
        }
    }
}

/// The file's text; `None` where there is no file.
///
/// # Errors
/// What is not a regular file of the user's alone, longer than 16 MiB, or no UTF-8.
pub(super) fn read(place: &Place, name: &str) -> Result<Option<String>, KeptError> {
    let Some(file) = open(place, name, OFlag::O_RDONLY)? else { return Ok(None) };
    let unusable = |source| KeptError::Unusable { path: path(place, name), source };
    let mut text = String::new();
    let length = file.take(LONGEST + 1).read_to_string(&mut text).map_err(unusable)?;
    if u64::try_from(length).is_ok_and(|length| length > LONGEST) {
        return Err(unusable(io::ErrorKind::FileTooLarge.into()));
    }
    Ok(Some(text))
}

/// Changes the file: nobody else of ours changes it meanwhile, and whoever reads sees all of it or nothing. `change` is
/// given the text that is there, and answers the next one and a value; without a next one the file stays as it is.
///
/// # Errors
/// As [`read`]; where `change` refuses; and where it cannot be written, which leaves it as it was.
pub(super) fn change<T, E: From<KeptError>>(
    place: &Place,
    name: &str,
    change: impl FnOnce(Option<&str>) -> Result<(Option<String>, T), E>,
) -> Result<T, E> {
    let unusable = |source| KeptError::Unusable { path: path(place, name), source };
    let directory = File::from(place.fd.try_clone().map_err(unusable)?);
    // A descriptor of its own: the lock is of the open file, and threads of this process must not share it.
    let own = openat(&directory, ".", OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty());
    let own = File::from(own.map_err(|errno| unusable(errno.into()))?);
    // Until the end of this function.
    lock(&own).map_err(unusable)?;
    let (next, answer) = change(read(place, name)?.as_deref())?;
    if let Some(next) = next {
        write(place, &own, name, &next).map_err(unusable)?;
    }
    Ok(answer)
}

/// Waits for the lock of an open file, for at most 10 s.
///
/// # Errors
/// `TimedOut`, and as flock(2).
pub(super) fn lock(file: &File) -> io::Result<()> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if started.elapsed() > LOCK_WAIT => {
                return Err(Errno::ETIMEDOUT.into());
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_STEP),
        }
    }
}

/// Opens a regular file of the user's alone, never through a link; `None` where there is none.
///
/// # Errors
/// As [`read`].
pub(super) fn open(place: &Place, name: &str, access: OFlag) -> Result<Option<File>, KeptError> {
    let flags = access | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let unusable = |errno: Errno| KeptError::Unusable { path: path(place, name), source: errno.into() };
    let file = match openat(&place.fd, name, flags, PRIVATE) {
        Ok(file) => file,
        Err(Errno::ENOENT) => return Ok(None),
        Err(Errno::ELOOP | Errno::ENXIO | Errno::EISDIR) => {
            return Err(KeptError::Special(path(place, name)));
        }
        Err(errno) => return Err(unusable(errno)),
    };
    check(&path(place, name), &fstat(&file).map_err(unusable)?)?;
    Ok(Some(File::from(file)))
}

/// Where it is, for messages.
pub(super) fn path(place: &Place, name: &str) -> AbsPath {
    place.path.join(name).unwrap_or_else(|_| place.path.clone())
}

fn check(path: &AbsPath, stat: &FileStat) -> Result<(), KeptError> {
    let path = || path.clone();
    if kind(stat) != SFlag::S_IFREG {
        return Err(KeptError::Special(path()));
    }
    if stat.st_uid != Uid::effective().as_raw() {
        return Err(KeptError::Owner { path: path(), owner: stat.st_uid });
    }
    if stat.st_mode & FOR_OTHERS != 0 {
        return Err(KeptError::Loose { path: path(), mode: stat.st_mode & 0o7777 });
    }
    Ok(())
}

fn write(place: &Place, directory: &File, name: &str, text: &str) -> io::Result<()> {
    let next = format!(".{name}.next");
    // What a killed one left: only the holder of the directory's lock writes it.
    match unlinkat(&place.fd, next.as_str(), UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut file = File::from(openat(&place.fd, next.as_str(), flags, PRIVATE)?);
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let placed = written.and_then(|()| Ok(renameat(&place.fd, next.as_str(), &place.fd, name)?));
    if placed.is_err() {
        // The error is the one to tell; the name is litter either way.
        let _ = unlinkat(&place.fd, next.as_str(), UnlinkatFlags::NoRemoveDir);
        return placed;
    }
    directory.sync_all()
}

#[cfg(test)]
mod tests;
