//! Looks for a name that did not exist, without following a link.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;

use confine_core::AbsPath;
use nix::errno::Errno;
use nix::sys::stat::{FileStat, SFlag};

use crate::beneath::{self, Spot, kind};
use crate::quarantine::open_up;

/// What is now at `rest` below `base`: the thing itself, or, where a directory on the way is a link now through which
/// `path` leads somewhere, that link.
pub(super) fn arrival(base: OwnedFd, rest: &Path, path: &AbsPath) -> Option<Spot> {
    let mut parent = base;
    let mut names = rest.iter().peekable();
    while let Some(name) = names.next() {
        let stat = look(&parent, name)?;
        if names.peek().is_none() {
            return Some(Spot { parent, name: name.to_owned() });
        }
        match kind(&stat) {
            SFlag::S_IFDIR => parent = beneath::below(&parent, name).ok()?,
            SFlag::S_IFLNK if path.as_path().symlink_metadata().is_ok() => {
                return Some(Spot { parent, name: name.to_owned() });
            }
            _ => return None,
        }
    }
    None
}

/// lstat(2); a directory that was closed to hide what is in it is opened.
fn look(parent: &OwnedFd, name: &OsStr) -> Option<FileStat> {
    match beneath::stat(parent, name) {
        Err(Errno::EACCES) => {
            open_up(parent).ok()?;
            beneath::stat(parent, name).ok()?
        }
        found => found.ok()?,
    }
}
