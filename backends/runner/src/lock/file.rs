//! The file itself: read without following a link, written whole or not at all.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;

use confine_core::AbsPath;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{Uid, UnlinkatFlags, unlinkat};

use super::{BackendName, FILE, Lock, LockFileError};
use crate::beneath::kind;
use crate::places::{Place, Places};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1024 * 1024;
/// Where the next version is written.
const NEXT: &str = ".confine.lock.next";
const WRITABLE_BY_OTHERS: u32 = 0o022;
const PRIVATE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);

impl Lock {
    /// The user's lock; empty where there is none.
    ///
    /// # Errors
    /// A file or a directory that is not the user's alone to write, and what [`Lock::parse`] says.
    pub fn read(places: &Places) -> Result<Self, LockFileError> {
        match places.open_configuration()? {
            Some(place) => read(&place),
            None => Ok(Self::default()),
        }
    }

    /// The names in a lock that [`Lock::read`] refuses, as far as it has any: who says so is not known, so they are for
    /// people to read, and for nothing else.
    pub fn names(places: &Places) -> Vec<BackendName> {
        let text =
            places.open_configuration().ok().flatten().and_then(|place| text(opened(&place).ok()?).ok());
        let value: serde_json::Value = serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        let backends = value.get("backends").and_then(serde_json::Value::as_array).into_iter().flatten();
        let name = |one: &serde_json::Value| BackendName::new(one.get("name")?.as_str()?).ok();
        let names: BTreeSet<BackendName> = backends.filter_map(name).collect();
        names.into_iter().collect()
    }

    /// Changes the user's lock: nobody else of ours changes it meanwhile, and whoever reads sees all of it or nothing.
    /// Mode 0600, in a directory of 0700.
    ///
    /// # Errors
    /// As [`Lock::read`], and where it cannot be written.
    pub fn change<T>(places: &Places, change: impl FnOnce(&mut Self) -> T) -> Result<T, LockFileError> {
        let place = places.make_configuration()?;
        let path = path(&place)?;
        let unusable = |source| LockFileError::Unusable { path: path.clone(), source };
        let directory = File::from(place.fd.try_clone().map_err(unusable)?);
        // Until the end of this function.
        directory.lock().map_err(unusable)?;
        let mut lock = read(&place)?;
        let answer = change(&mut lock);
        write(&place, &directory, &lock).map_err(unusable)?;
        Ok(answer)
    }
}

fn path(place: &Place) -> Result<AbsPath, LockFileError> {
    let unnamed = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    place
        .path
        .join(FILE)
        .map_err(|error| LockFileError::Unusable { path: place.path.clone(), source: unnamed(error) })
}

fn read(place: &Place) -> Result<Lock, LockFileError> {
    let path = path(place)?;
    let unusable = |source| LockFileError::Unusable { path: path.clone(), source };
    let file = match opened(place) {
        Ok(file) => file,
        Err(Errno::ENOENT) => return Ok(Lock::default()),
        Err(Errno::ELOOP | Errno::ENXIO) => return Err(LockFileError::Special(path)),
        Err(errno) => return Err(unusable(errno.into())),
    };
    let stat = fstat(file.as_fd()).map_err(|errno| unusable(errno.into()))?;
    check(&path, &stat)?;
    let text = text(file).map_err(unusable)?;
    Lock::parse(&text).map_err(|source| LockFileError::Parse { path, source })
}

/// Without waiting, whatever it is.
fn opened(place: &Place) -> nix::Result<File> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    openat(&place.fd, FILE, flags, Mode::empty()).map(File::from)
}

fn text(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn check(path: &AbsPath, stat: &FileStat) -> Result<(), LockFileError> {
    if kind(stat) != SFlag::S_IFREG {
        return Err(LockFileError::Special(path.clone()));
    }
    if stat.st_uid != Uid::effective().as_raw() {
        return Err(LockFileError::Owner { path: path.clone(), owner: stat.st_uid });
    }
    if stat.st_mode & WRITABLE_BY_OTHERS != 0 {
        return Err(LockFileError::Loose(path.clone()));
    }
    Ok(())
}

fn write(place: &Place, directory: &File, lock: &Lock) -> io::Result<()> {
    // What a killed one left: only the holder of the directory's lock writes it.
    match unlinkat(&place.fd, NEXT, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut file = File::from(openat(&place.fd, NEXT, flags, PRIVATE)?);
    file.write_all(lock.encode().as_bytes())?;
    file.sync_all()?;
    renameat(&place.fd, NEXT, &place.fd, FILE)?;
    directory.sync_all()
}
