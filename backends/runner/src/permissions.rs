//! The host's ordinary permissions, asked for the caller's own user and by its effective rights: capabilities, access
//! control lists and read-only mounts count as they do for open(2).
//!
//! No link is followed: whoever asks says which places the program sees, and what a program prints must not lead a look
//! anywhere else.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::PathBuf;

use confine_core::AbsPath;
use confine_core::classify::{Answer, Permissions};
use confine_core::denial::{Attempt, Object};
use nix::errno::Errno;
use nix::fcntl::readlinkat;
use nix::sys::signal::kill;
use nix::sys::stat::{FileStat, SFlag, fstat};
use nix::unistd::{Gid, Pid, Uid, getgroups};
use rustix::fs::{Access, AtFlags, accessat};

use crate::beneath::{Spot, Walk, kind};

/// S_ISVTX: in such a directory only owners remove and rename.
const STICKY: u32 = 0o1000;

/// The permissions of this process's effective user. The directories of the last path stay open for the next one, so a
/// value answers one round of questions: what is moved meanwhile is asked about where it is.
#[derive(Debug)]
pub struct HostPermissions {
    user: Uid,
    walk: RefCell<Walk>,
    /// Whether an ordinary user may make user namespaces here.
    namespaces: bool,
}

impl HostPermissions {
    pub(crate) fn here(namespaces: bool) -> Self {
        Self { user: Uid::effective(), walk: RefCell::default(), namespaces }
    }

    fn stat(&self, path: &AbsPath) -> nix::Result<Option<FileStat>> {
        match path.parent() {
            None => Ok(nix::sys::stat::stat("/").ok()),
            Some(_) => self.walk.borrow_mut().stat(path),
        }
    }

    fn owns(&self, stat: &FileStat) -> bool {
        self.user.is_root() || stat.st_uid == self.user.as_raw()
    }

    fn attempt(&self, path: &AbsPath, attempt: Attempt) -> nix::Result<Answer> {
        let Some(name) = path.as_path().file_name() else {
            return Ok(accessible("/".as_ref(), rustix::fs::CWD, access(attempt)));
        };
        let spot = self.walk.borrow_mut().spot(path)?;
        let found = spot.stat()?;
        let here = |wanted| accessible(name, &spot.parent, wanted);
        let make = || accessible(".".as_ref(), &spot.parent, Access::WRITE_OK | Access::EXEC_OK);
        Ok(match (attempt, found) {
            (Attempt::Read | Attempt::Open | Attempt::Trace | Attempt::Device, Some(stat)) => {
                let directory = kind(&stat) == SFlag::S_IFDIR;
                here(if directory { Access::READ_OK | Access::EXEC_OK } else { Access::READ_OK })
            }
            // execve(2) takes files only.
            (Attempt::Execute, Some(stat)) if kind(&stat) == SFlag::S_IFDIR => Answer::Refused("EACCES"),
            (Attempt::Execute, Some(_)) => here(Access::EXEC_OK),
            (Attempt::Write | Attempt::Create | Attempt::Connect | Attempt::Send, Some(_)) => {
                here(Access::WRITE_OK)
            }
            (Attempt::Owner, Some(_)) if !self.user.is_root() => Answer::Refused("EPERM"),
            (Attempt::Metadata, Some(stat)) if !self.owns(&stat) => Answer::Refused("EPERM"),
            (Attempt::Metadata | Attempt::Owner, Some(_)) => match here(Access::WRITE_OK) {
                Answer::Refused("EROFS") => Answer::Refused("EROFS"),
                _ => Answer::Allowed,
            },
            (Attempt::Remove | Attempt::Rename, Some(stat)) if self.is_kept(&spot, &stat)? => {
                Answer::Refused("EPERM")
            }
            (Attempt::Remove | Attempt::Rename, Some(_)) => make(),
            (Attempt::MakeDirectory | Attempt::Make | Attempt::Link | Attempt::Bind, _) => make(),
            (Attempt::Write | Attempt::Create | Attempt::Rename, None) => make(),
            (_, None) => Answer::Missing,
            (_, Some(_)) => Answer::Unknown,
        })
    }

    /// Whether the mode alone lets this user: to write, to read, or to be what an owner is.
    fn passes(&self, stat: &FileStat, attempt: Attempt) -> bool {
        let is_ours = stat.st_uid == self.user.as_raw();
        let shift = if is_ours {
            6
        } else if is_member(stat.st_gid) {
            3
        } else {
            0
        };
        let rights = (stat.st_mode >> shift) & 0o7;
        let wanted = match attempt {
            Attempt::Metadata | Attempt::Owner => return is_ours,
            Attempt::Read | Attempt::Open | Attempt::Trace => 0o4,
            Attempt::Execute => 0o1,
            _ => 0o2,
        };
        let search = if kind(stat) == SFlag::S_IFDIR { 0o1 } else { 0 };
        rights & (wanted | search) == wanted | search
    }

    /// Whether the directory's sticky bit keeps a file from this user.
    fn is_kept(&self, spot: &Spot, stat: &FileStat) -> nix::Result<bool> {
        let directory = fstat(&spot.parent)?;
        Ok(directory.st_mode & STICKY != 0 && !self.owns(stat) && !self.owns(&directory))
    }
}

impl Permissions for HostPermissions {
    fn allows(&self, path: &AbsPath, attempt: Attempt) -> Answer {
        match self.attempt(path, attempt) {
            Ok(answer) => answer,
            Err(Errno::ENOENT) => Answer::Missing,
            Err(Errno::EACCES) => Answer::Refused("EACCES"),
            Err(_) => Answer::Unknown,
        }
    }

    fn exists(&self, path: &AbsPath) -> Option<bool> {
        match self.stat(path) {
            Ok(found) => Some(found.is_some()),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Some(false),
            Err(_) => None,
        }
    }

    fn is_foreign(&self, path: &AbsPath) -> bool {
        let found = path.ancestors().find_map(|above| self.stat(&above).ok().flatten());
        found.is_some_and(|stat| stat.st_uid != self.user.as_raw())
    }

    fn link(&self, path: &AbsPath) -> Option<PathBuf> {
        let mut walk = self.walk.borrow_mut();
        let stat = walk.stat(path).ok().flatten()?;
        if kind(&stat) != SFlag::S_IFLNK {
            return None;
        }
        let parent = walk.directory(&path.parent()?).ok()?;
        readlinkat(parent, path.as_path().file_name()?).ok().map(PathBuf::from)
    }

    fn needs_no_privilege(&self, path: &AbsPath, attempt: Attempt) -> bool {
        !self.user.is_root() || self.stat(path).ok().flatten().is_none_or(|stat| self.passes(&stat, attempt))
    }

    fn acts(&self, attempt: Attempt, object: &Object) -> Answer {
        match (attempt, object) {
            (Attempt::Signal | Attempt::Trace, Object::Process(pid)) if *pid > 0 => process(*pid),
            (Attempt::Mount | Attempt::Call, _) if self.user.is_root() => Answer::Allowed,
            (Attempt::Mount, _) => Answer::Refused("EPERM"),
            (Attempt::Namespace, _) if self.user.is_root() || self.namespaces => Answer::Allowed,
            (Attempt::Namespace, _) => Answer::Refused("EPERM"),
            // An abstract socket has no permissions.
            (Attempt::Connect | Attempt::Send | Attempt::Bind, _) => Answer::Allowed,
            _ => Answer::Unknown,
        }
    }
}

const fn access(attempt: Attempt) -> Access {
    match attempt {
        Attempt::Read | Attempt::Open | Attempt::Execute => Access::READ_OK,
        _ => Access::WRITE_OK,
    }
}

/// faccessat2(2) with the effective rights; a link in the last place is not followed.
fn accessible(name: &OsStr, directory: impl AsFd, wanted: Access) -> Answer {
    match accessat(directory, name, wanted, AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW) {
        Ok(()) => Answer::Allowed,
        Err(rustix::io::Errno::ACCESS) => Answer::Refused("EACCES"),
        Err(rustix::io::Errno::PERM) => Answer::Refused("EPERM"),
        Err(rustix::io::Errno::ROFS) => Answer::Refused("EROFS"),
        Err(rustix::io::Errno::NOENT) => Answer::Missing,
        Err(_) => Answer::Unknown,
    }
}

/// Signal 0 asks and sends nothing: kill(2).
fn process(pid: i32) -> Answer {
    match kill(Pid::from_raw(pid), None) {
        Ok(()) => Answer::Allowed,
        Err(Errno::EPERM) => Answer::Refused("EPERM"),
        Err(Errno::ESRCH) => Answer::Missing,
        Err(_) => Answer::Unknown,
    }
}

fn is_member(group: u32) -> bool {
    Gid::effective().as_raw() == group
        || getgroups().is_ok_and(|groups| groups.iter().any(|one| one.as_raw() == group))
}

#[cfg(test)]
mod tests;
