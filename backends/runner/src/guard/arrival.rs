//! Looks for a name that did not exist, without following a link.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use confine_core::AbsPath;
use nix::errno::Errno;
use nix::sys::stat::{FileStat, SFlag};

use crate::beneath::{self, Spot, kind};
use crate::quarantine::open_up;

/// What is now at `rest` below `base`: the thing itself, or, where a directory on the way is a link now through which
/// `path` leads somewhere, that link.
pub(super) fn arrival(base: BorrowedFd<'_>, rest: &Path, path: &AbsPath) -> Option<Spot> {
    let mut below: Option<OwnedFd> = None;
    let mut names = rest.iter().peekable();
    while let Some(name) = names.next() {
        let parent = below.as_ref().map_or(base, AsFd::as_fd);
        let kind = kind(&look(parent, name)?);
        let is_it =
            names.peek().is_none() || (kind == SFlag::S_IFLNK && path.as_path().symlink_metadata().is_ok());
        if is_it {
            return Some(Spot { parent: parent.try_clone_to_owned().ok()?, name: name.to_owned() });
        }
        if kind != SFlag::S_IFDIR {
            return None;
        }
        below = Some(beneath::below(parent, name).ok()?);
    }
    None
}

/// lstat(2); a directory that was closed to hide what is in it is opened.
fn look(parent: BorrowedFd<'_>, name: &OsStr) -> Option<FileStat> {
    match beneath::stat(parent, name) {
        Err(Errno::EACCES) => {
            open_up(parent).ok()?;
            beneath::stat(parent, name).ok()?
        }
        found => found.ok()?,
    }
}
