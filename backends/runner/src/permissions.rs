//! The host's ordinary permissions, asked for the caller's own user and by its effective rights: capabilities, access
//! control lists and read-only mounts count as they do for open(2).
//!
//! No link is followed but where the caller of [`Permissions::located`] says that the program sees the place: what a
//! program prints must not lead a look anywhere else.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

use confine_core::AbsPath;
use confine_core::classify::{Answer, Permissions};
use confine_core::denial::{Attempt, Object};
use nix::errno::Errno;
use nix::fcntl::readlinkat;
use nix::sys::signal::kill;
use nix::sys::stat::{FileStat, SFlag, fstat};
use nix::unistd::{Pid, Uid};
use rustix::fs::{Access, AtFlags, accessat};

use crate::beneath::{Spot, kind};

/// As many links as path_resolution(7) follows.
const LINKS: usize = 40;
/// S_ISVTX: in such a directory only owners remove and rename.
const STICKY: u32 = 0o1000;

/// The permissions of this process's effective user.
#[derive(Clone, Copy, Debug)]
pub struct HostPermissions {
    user: Uid,
    /// Whether an ordinary user may make user namespaces here.
    namespaces: bool,
}

impl HostPermissions {
    pub(crate) fn here(namespaces: bool) -> Self {
        Self { user: Uid::effective(), namespaces }
    }

    fn owns(&self, stat: &FileStat) -> bool {
        self.user.is_root() || stat.st_uid == self.user.as_raw()
    }

    fn attempt(&self, path: &AbsPath, attempt: Attempt) -> nix::Result<Answer> {
        let Some(name) = path.as_path().file_name() else {
            return Ok(accessible("/".as_ref(), rustix::fs::CWD, access(attempt)));
        };
        let spot = Spot::of(path)?;
        let found = spot.stat()?;
        let here = |wanted| accessible(name, &spot.parent, wanted);
        let make = || accessible(".".as_ref(), &spot.parent, Access::WRITE_OK | Access::EXEC_OK);
        Ok(match (attempt, found) {
            (Attempt::Read | Attempt::Open | Attempt::Trace | Attempt::Device, Some(stat)) => {
                let directory = kind(&stat) == SFlag::S_IFDIR;
                here(if directory { Access::READ_OK | Access::EXEC_OK } else { Access::READ_OK })
            }
            (Attempt::Execute, Some(_)) => here(Access::EXEC_OK),
            (Attempt::Write | Attempt::Create | Attempt::Connect | Attempt::Send, Some(_)) => {
                here(Access::WRITE_OK)
            }
            (Attempt::Metadata, Some(stat)) if !self.owns(&stat) => Answer::Refused("EPERM"),
            (Attempt::Metadata, Some(_)) => match here(Access::WRITE_OK) {
                Answer::Refused("EROFS") => Answer::Refused("EROFS"),
                _ => Answer::Allowed,
            },
            (Attempt::Remove | Attempt::Rename, Some(stat)) if self.is_kept(&spot, &stat)? => {
                Answer::Refused("EPERM")
            }
            (Attempt::Remove | Attempt::Rename, Some(_)) => make(),
            (Attempt::MakeDirectory | Attempt::Link | Attempt::Bind, _) => make(),
            (Attempt::Write | Attempt::Create | Attempt::Rename, None) => make(),
            (_, None) => Answer::Missing,
            (_, Some(_)) => Answer::Unknown,
        })
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
        match stat(path) {
            Ok(found) => Some(found.is_some()),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Some(false),
            Err(_) => None,
        }
    }

    fn is_foreign(&self, path: &AbsPath) -> bool {
        let found = path.ancestors().find_map(|above| stat(&above).ok().flatten());
        found.is_some_and(|stat| stat.st_uid != self.user.as_raw())
    }

    fn located(&self, path: &AbsPath, shown: &dyn Fn(&AbsPath) -> bool) -> AbsPath {
        follow(path, shown).unwrap_or_else(|| path.clone())
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

fn stat(path: &AbsPath) -> nix::Result<Option<FileStat>> {
    match path.parent() {
        None => Ok(nix::sys::stat::stat("/").ok()),
        Some(_) => Spot::of(path)?.stat(),
    }
}

/// Follows links as the kernel does, as long as their places are shown.
fn follow(path: &AbsPath, shown: &dyn Fn(&AbsPath) -> bool) -> Option<AbsPath> {
    let mut left = LINKS;
    let mut rest: Vec<OsString> = parts(path.as_path()).rev().collect();
    let mut place = PathBuf::from("/");
    while let Some(name) = rest.pop() {
        if name == ".." {
            place.pop();
            continue;
        }
        let next = AbsPath::new(place.join(&name)).ok()?;
        let target = if shown(&next) { link(&next) } else { None };
        let Some(target) = target else {
            place = next.as_path().to_owned();
            if !shown(&next) {
                place.extend(rest.iter().rev());
                return AbsPath::new(place).ok();
            }
            continue;
        };
        left = left.checked_sub(1)?;
        if target.is_absolute() {
            place = PathBuf::from("/");
        }
        rest.extend(parts(&target).rev());
    }
    AbsPath::new(place).ok()
}

/// Where the link at `path` leads; `None` for everything else.
fn link(path: &AbsPath) -> Option<PathBuf> {
    let spot = Spot::of(path).ok()?;
    let stat = spot.stat().ok().flatten()?;
    if kind(&stat) != SFlag::S_IFLNK {
        return None;
    }
    readlinkat(&spot.parent, spot.name.as_os_str()).ok().map(PathBuf::from)
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
