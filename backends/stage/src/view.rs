//! Whether the view is as planned: the working directory is there, and masks mask.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, lstat};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use nix::unistd::chdir;

use crate::failure::Failure;
use crate::plan::Bound;
use crate::status::Step;

/// Enters the program's directory.
pub(crate) fn enter(cwd: &OsString) -> Result<(), Failure> {
    chdir(cwd.as_os_str()).map_err(|errno| Failure::at(Step::Verify, cwd, errno))
}

/// Fails on the first path of which something can be read.
pub(crate) fn check_masks(masked: &[OsString]) -> Result<(), Failure> {
    masked.iter().try_for_each(|path| check_mask(Path::new(path)))
}

/// A path that cannot be opened with the stage's rights, which are more than the program's, hides as well as any mask;
/// one that is not there was moved away since it was masked, and may come back. A file mask that opens must be the null
/// device, a directory mask a tmpfs of its own.
fn check_mask(path: &Path) -> Result<(), Failure> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let fd = match open(path, flags, Mode::empty()) {
        Err(Errno::EACCES | Errno::EPERM) => return Ok(()),
        opened => opened.map_err(|errno| Failure::at(Step::Verify, path, errno))?,
    };
    let stat = fstat(&fd).map_err(|errno| Failure::at(Step::Verify, path, errno))?;
    let masked = match kind(&stat) {
        SFlag::S_IFCHR => stat.st_rdev == libc::makedev(1, 3),
        SFlag::S_IFDIR => {
            let tmpfs = fstatfs(&fd).is_ok_and(|statfs| statfs.filesystem_type() == TMPFS_MAGIC);
            tmpfs
                && is_mount_point(&fd, &stat)
                && Dir::from_fd(fd).is_ok_and(|dir| holds_mount_points_only(dir, &stat))
        }
        _ => false,
    };
    if masked { Ok(()) } else { Err(Failure::at(Step::Verify, path, Errno::UnknownErrno)) }
}

/// Fails on the first path that is another file than the runner saw.
pub(crate) fn check_bound(bound: &[Bound]) -> Result<(), Failure> {
    for one in bound {
        let stat =
            lstat(one.path.as_os_str()).map_err(|errno| Failure::at(Step::Verify, &one.path, errno))?;
        if !is(one, &stat) {
            return Err(Failure::at(Step::Verify, &one.path, Errno::ESTALE));
        }
    }
    Ok(())
}

/// Whether that is the file.
pub(crate) fn is(bound: &Bound, stat: &FileStat) -> bool {
    stat.st_dev == bound.device && stat.st_ino == bound.inode
}

fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// Part of a tmpfs of the host's is no mask.
fn is_mount_point(directory: impl AsFd, stat: &FileStat) -> bool {
    fstatat(directory, "..", AtFlags::AT_SYMLINK_NOFOLLOW).is_ok_and(|parent| parent.st_dev != stat.st_dev)
}

/// Whether the tmpfs itself holds nothing but what other mounts need: directories, links, empty files.
fn holds_mount_points_only(mut directory: Dir, stat: &FileStat) -> bool {
    let names: Vec<_> =
        directory.iter().map_while(Result::ok).map(|entry| entry.file_name().to_owned()).collect();
    names.iter().all(|name| {
        let entry = fstatat(&directory, name.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW);
        entry.is_ok_and(|entry| {
            entry.st_dev != stat.st_dev
                || matches!(kind(&entry), SFlag::S_IFDIR | SFlag::S_IFLNK)
                || (kind(&entry) == SFlag::S_IFREG && entry.st_size == 0)
        })
    })
}
