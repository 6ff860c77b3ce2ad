//! The program's private temporary directory on the host, for a supervisor.
//!
//! Removed after the descent is dead, so nobody changes it meanwhile, but its content is hostile: links are never
//! followed, modes are no obstacle, and depth costs neither stack nor descriptors, since directories are moved up to the
//! top before they are emptied.

use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use nix::dir::Dir;
use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmod, fchmodat, fstatat};
use nix::unistd::{UnlinkatFlags, mkdtemp, unlinkat};

use crate::failure::Failure;
use crate::plan::Rule;
use crate::status::Step;

/// One that exists.
pub(crate) struct Scratch {
    path: PathBuf,
    access: u64,
    directory: OwnedFd,
}

impl Scratch {
    /// By mkdtemp(3), so with mode 0700 and a name that was free.
    pub(crate) fn create(plan: &Rule) -> Result<Self, Failure> {
        let failed = |errno| Failure::at(Step::Scratch, &plan.path, errno);
        let template = [plan.path.as_bytes(), b"XXXXXX"].concat();
        let path = mkdtemp(OsStr::from_bytes(&template)).map_err(failed)?;
        let directory = open(&path, DIRECTORY, Mode::empty()).map_err(failed)?;
        Ok(Self { path, access: plan.access, directory })
    }

    /// What the program may do there.
    pub(crate) fn rule(&self) -> Rule {
        Rule { access: self.access, path: self.path.clone().into() }
    }

    /// As far as it goes: at the end nobody is left to be told.
    pub(crate) fn remove(self) {
        if std::fs::remove_dir(&self.path).is_ok() {
            return;
        }
        // The program may have closed the directory itself to its owner.
        let _ = fchmod(&self.directory, Mode::S_IRWXU);
        let mut serial = 0;
        let mut progress = true;
        while progress {
            progress = sweep(&self.directory, &mut serial);
        }
        let _ = std::fs::remove_dir(&self.path);
    }
}

const DIRECTORY: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Removes what can be removed and moves up what is below; answers whether that was anything.
fn sweep(top: &OwnedFd, serial: &mut u64) -> bool {
    let mut progress = false;
    for name in names(top) {
        progress |= if is_directory(top, &name) {
            flatten(top, &name, serial)
        } else {
            unlinkat(top, name.as_c_str(), UnlinkatFlags::NoRemoveDir).is_ok()
        };
    }
    progress
}

/// Empties one directory of the top, its own directories upwards, and removes it.
fn flatten(top: &OwnedFd, name: &CString, serial: &mut u64) -> bool {
    open_up(top, name);
    let Ok(directory) = openat(top, name.as_c_str(), DIRECTORY, Mode::empty()) else { return false };
    let mut progress = false;
    for entry in names(&directory) {
        progress |= if is_directory(&directory, &entry) {
            open_up(&directory, &entry);
            *serial += 1;
            renameat(&directory, entry.as_c_str(), top, format!(".{serial}").as_str()).is_ok()
        } else {
            unlinkat(&directory, entry.as_c_str(), UnlinkatFlags::NoRemoveDir).is_ok()
        };
    }
    unlinkat(top, name.as_c_str(), UnlinkatFlags::RemoveDir).is_ok() || progress
}

fn open_up(directory: &OwnedFd, name: &CString) {
    let _ = fchmodat(directory, name.as_c_str(), Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink);
}

fn is_directory(directory: impl AsFd, name: &CString) -> bool {
    fstatat(directory, name.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR)
}

/// Through a descriptor of its own, so that each listing starts at the start.
fn names(directory: &OwnedFd) -> Vec<CString> {
    let Ok(mut listing) = Dir::openat(directory, ".", DIRECTORY, Mode::empty()) else { return Vec::new() };
    let names = listing.iter().map_while(Result::ok).map(|entry| entry.file_name().to_owned());
    names.filter(|name| !matches!(name.as_bytes(), b"." | b"..")).collect()
}
