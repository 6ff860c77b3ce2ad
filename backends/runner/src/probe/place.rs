//! Throwaway directories, and what probes that were killed left of theirs.
//!
//! A directory is locked (flock(2)) for as long as the process that made it lives, and its name is its own: so one whose
//! lock is free is litter, whoever has its maker's process id now. What is shared beside it (a message queue, a file in
//! `/dev/shm`) has the same name. No link is followed, and nobody else's is touched.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::mqueue::mq_unlink;
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::{Uid, UnlinkatFlags, unlinkat};

/// In this order. What lies below `/tmp` is out of sight inside, where that is private; but where confine itself is
/// confined, there may be no other place.
const PLACES: &[&str] = &["/var/tmp", "/tmp"];
/// What every name begins with; 32 random hexadecimal digits follow.
const PREFIX: &str = "confine-probe-";
const DIGITS: usize = 32;
/// POSIX shared memory (shm_overview(7)).
pub(super) const SHM: &str = "/dev/shm";
const DIRECTORY: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
/// Attempts leave nothing that is deeper.
const DEEPEST: u32 = 16;
/// How often another name is tried, where somebody takes the directory for litter before it is locked.
const TRIES: u32 = 8;

/// A fresh directory of this user's alone. Dropped, it is gone with all that is in it, and with what is shared by its name.
#[derive(Debug)]
pub struct Throwaway {
    path: PathBuf,
    name: String,
    place: OwnedFd,
    locked: File,
}

impl Throwaway {
    /// In the first place that takes it: `/var/tmp`, `TMPDIR`, `/tmp`.
    ///
    /// # Errors
    /// What the system says of the last place.
    pub fn new() -> io::Result<Self> {
        let mut refused = io::Error::from(Errno::ENOENT);
        for place in places() {
            match Self::within(&place) {
                Ok(made) => return Ok(made),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    fn within(place: &Path) -> io::Result<Self> {
        let place = place.canonicalize()?;
        let directory = opened(&place)?;
        for _ in 0..TRIES {
            let name = format!("{PREFIX}{}", super::ground::secret()?);
            mkdirat(&directory, name.as_str(), Mode::S_IRWXU)?;
            let locked = File::from(openat(&directory, name.as_str(), DIRECTORY, Mode::empty())?);
            let path = place.join(&name);
            // Before the lock it looked like litter.
            if locked.try_lock().is_ok() && is_at(&locked, &path)? {
                return Ok(Self { path, name, place: directory, locked });
            }
        }
        Err(Errno::EAGAIN.into())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its own name, which nothing else has.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        remove(&self.place, &self.locked, &self.name);
    }
}

/// Removes what probes of this user left that were killed.
pub(super) fn sweep() {
    for place in places() {
        let Ok(directory) = opened(&place) else { continue };
        for name in names(&directory).unwrap_or_default() {
            let name = name.to_str().ok().filter(|name| is_ours(name));
            if let Some((name, left)) = name.and_then(|name| Some((name, left(&directory, name)?))) {
                tracing::debug!(name, "removing what a killed probe left");
                remove(&directory, &left, name);
            }
        }
    }
}

/// The directory, where it is this user's and nobody that lives holds it. Its lock is held until it is dropped.
fn left(place: &OwnedFd, name: &str) -> Option<File> {
    let directory = File::from(openat(place, name, DIRECTORY, Mode::empty()).ok()?);
    let owner = directory.metadata().ok()?.uid();
    (owner == Uid::effective().as_raw() && directory.try_lock().is_ok()).then_some(directory)
}

fn is_ours(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() == DIGITS && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn places() -> Vec<PathBuf> {
    let named = std::env::var_os("TMPDIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let mut places: Vec<PathBuf> = PLACES.iter().map(PathBuf::from).collect();
    places.splice(1..1, named);
    places
}

fn opened(place: &Path) -> io::Result<OwnedFd> {
    Ok(nix::fcntl::open(place, DIRECTORY.difference(OFlag::O_NOFOLLOW), Mode::empty())?)
}

fn is_at(directory: &File, path: &Path) -> io::Result<bool> {
    let (open, there) = (directory.metadata()?, fs::symlink_metadata(path));
    Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (open.dev(), open.ino())))
}

/// What cannot be removed stays: nobody is there who could do more.
fn remove(place: &OwnedFd, directory: &File, name: &str) {
    let _ = empty(directory, DEEPEST);
    let _ = unlinkat(place, name, UnlinkatFlags::RemoveDir);
    let _ = mq_unlink(format!("/{name}").as_str());
    let shared = Path::new(SHM).join(name);
    let own = |file: &fs::Metadata| file.uid() == Uid::effective().as_raw();
    if fs::symlink_metadata(&shared).as_ref().is_ok_and(own) {
        let _ = fs::remove_file(shared);
    }
}

fn names(directory: impl AsFd) -> nix::Result<Vec<CString>> {
    let mut entries = Dir::openat(directory, ".", DIRECTORY, Mode::empty())?;
    let names = entries.iter().flatten().map(|entry| entry.file_name().to_owned());
    Ok(names.filter(|name| !matches!(name.to_bytes(), b"." | b"..")).collect())
}

fn empty(directory: impl AsFd + Copy, depth: u32) -> nix::Result<()> {
    for name in names(directory)? {
        let name: &CStr = &name;
        match unlinkat(directory, name, UnlinkatFlags::NoRemoveDir) {
            Err(Errno::EISDIR | Errno::EPERM) if depth > 0 => {
                let below = openat(directory, name, DIRECTORY, Mode::empty())?;
                empty(&below, depth - 1)?;
                unlinkat(directory, name, UnlinkatFlags::RemoveDir)?;
            }
            done => done?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn litter(content: impl FnOnce(&Path)) -> PathBuf {
        let made = Throwaway::new().unwrap();
        let path = made.path().to_owned();
        fs::create_dir(path.join("below")).unwrap();
        content(&path);
        // As if the process had been killed: its lock goes, and the directory stays.
        let Throwaway { locked, .. } = &*std::mem::ManuallyDrop::new(made);
        locked.unlock().unwrap();
        path
    }

    #[test]
    fn what_a_killed_probe_left_goes_and_what_a_living_one_has_stays() {
        let living = Throwaway::new().unwrap();
        fs::write(living.path().join("file"), "").unwrap();
        let target = tempfile::tempdir().unwrap();
        fs::write(target.path().join("kept"), "").unwrap();
        let dead = litter(|path| {
            fs::write(path.join("below/file"), "").unwrap();
            symlink(target.path(), path.join("below/link")).unwrap();
        });
        let shared = Path::new(SHM).join(dead.file_name().unwrap());
        fs::write(&shared, "").unwrap();
        sweep();
        assert!(!dead.exists() && !shared.exists());
        assert!(living.path().join("file").exists());
        assert!(target.path().join("kept").exists(), "a link was followed");
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_called_otherwise_is_a_link_or_is_somebody_else_s_stays() {
        let target = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::write(target.path().join("kept"), "").unwrap();
        let link = Path::new("/var/tmp").join(format!("{PREFIX}{}", "0".repeat(DIGITS)));
        let other = Path::new("/var/tmp").join(format!("{PREFIX}{}", "g".repeat(DIGITS)));
        symlink(target.path(), &link).unwrap();
        fs::create_dir(&other).unwrap();
        let theirs = litter(|_| {});
        let is_root = Uid::effective().is_root();
        if is_root {
            std::os::unix::fs::chown(&theirs, Some(12345), None).unwrap();
        }
        sweep();
        assert!(target.path().join("kept").exists() && link.is_symlink() && other.exists());
        assert_eq!(theirs.exists(), is_root);
        fs::remove_file(link).unwrap();
        fs::remove_dir(other).unwrap();
        let _ = fs::remove_dir_all(theirs);
    }
}
