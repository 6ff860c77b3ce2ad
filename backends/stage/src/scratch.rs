//! The program's private temporary directory on the host, for a supervisor.
//!
//! Removed after the descent is dead, so nobody changes it meanwhile, but its content is hostile: links are never
//! followed, modes are no obstacle, and depth costs neither stack nor descriptors, since directories are moved up to the
//! top before they are emptied.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmod, fchmodat, fstatat};
use nix::unistd::{UnlinkatFlags, mkdtemp, unlinkat};

use crate::failure::Failure;
use crate::plan::Rule;
use crate::status::Step;

/// One that exists.
pub(crate) struct Scratch {
    path: PathBuf,
    directory: OwnedFd,
}

/// What mkdtemp(3) chooses.
const TEMPLATE: [u8; 6] = *b"XXXXXX";

impl Scratch {
    /// By mkdtemp(3), so with mode 0700 and a name that was free.
    ///
    /// On a disk that takes as long as all else before the fork, so it is done after it, and the program's process, which
    /// has enough to do meanwhile, is told the end of the name.
    pub(crate) fn create(plan: &Rule, program: &OwnedFd) -> Result<Self, Failure> {
        let failed = |errno| Failure::at(Step::Scratch, &plan.path, errno);
        let template = [plan.path.as_bytes(), &TEMPLATE].concat();
        let path = mkdtemp(OsStr::from_bytes(&template)).map_err(failed)?;
        let directory = open(&path, DIRECTORY, Mode::empty()).map_err(failed)?;
        let chosen = path.as_os_str().as_bytes().get(plan.path.len()..).unwrap_or_default();
        // A process that is gone is noticed by its end of file.
        let _ = send(program.as_raw_fd(), chosen, MsgFlags::MSG_NOSIGNAL);
        Ok(Self { path, directory })
    }

    /// In the program's process: what it may do there, as soon as it is there.
    pub(crate) fn rule(plan: &Rule, stage: &OwnedFd) -> Result<Rule, Failure> {
        let mut chosen = TEMPLATE;
        match recv(stage.as_raw_fd(), &mut chosen, MsgFlags::empty()) {
            Ok(length) if length == chosen.len() => {
                let path = [plan.path.as_bytes(), &chosen].concat();
                Ok(Rule { access: plan.access, path: OsString::from_vec(path) })
            }
            heard => Err(Failure::at(Step::Scratch, &plan.path, heard.err().unwrap_or(Errno::EPIPE))),
        }
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
