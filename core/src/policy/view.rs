//! The host as policy resolution sees it. The runner implements it; tests fake it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::AbsPath;

/// What is at a path, not following a final link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What kind of file.
    pub file: FileType,
    /// The device, to recognise the same file elsewhere.
    pub device: u64,
    /// The inode.
    pub inode: u64,
    /// The owner.
    pub uid: u32,
}

/// The kinds of files that resolution tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pathname socket.
    Socket,
    /// A character or block device node.
    Device,
    /// A FIFO.
    Fifo,
}

/// One line of mountinfo that matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted.
    pub point: AbsPath,
    /// Which directory of the file system is mounted there.
    pub root: PathBuf,
    /// `major:minor`, as the kernel writes it.
    pub device: String,
}

/// Read access to the host. Nothing here follows a final link or blocks on a special file.
pub trait View {
    /// lstat(2).
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied` and the rest of lstat(2).
    fn stat(&self, path: &AbsPath) -> io::Result<Stat>;
    /// readlink(2).
    ///
    /// # Errors
    /// As readlink(2).
    fn read_link(&self, path: &AbsPath) -> io::Result<PathBuf>;
    /// The names in a directory, unsorted.
    ///
    /// # Errors
    /// As opendir(3).
    fn list(&self, path: &AbsPath) -> io::Result<Vec<OsString>>;
    /// As [`View::list`], with each entry's type where the directory tells it by itself (`d_type` of readdir(3)). `None`
    /// is always right, and costs a look at each entry.
    ///
    /// # Errors
    /// As [`View::list`].
    fn list_types(&self, path: &AbsPath) -> io::Result<Vec<(OsString, Option<FileType>)>> {
        Ok(self.list(path)?.into_iter().map(|name| (name, None)).collect())
    }
    /// The first 4 KiB of a small regular file (git's pointer files). Never opens anything else.
    ///
    /// # Errors
    /// As open(2) with O_NOFOLLOW; `InvalidInput` for what is not a regular file.
    fn read(&self, path: &AbsPath) -> io::Result<Vec<u8>>;
    /// The whole of a regular file of at most `bound` bytes (git's index). Never opens anything else.
    ///
    /// # Errors
    /// As [`View::read`]; `FileTooLarge` for a longer file.
    fn read_whole(&self, _path: &AbsPath, _bound: u64) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Whether the caller's user, without any capability, may search every directory above `path` (path_resolution(7)),
    /// or could make it so: a directory of its own it can always open up. Where that is in doubt, `true`.
    fn is_reachable(&self, _path: &AbsPath) -> bool {
        true
    }
    /// Whether this user can create nothing in a directory and cannot change that: one of somebody else's without the
    /// write bit, or on a read-only mount. A program with the same user cannot either.
    fn is_closed(&self, _directory: &AbsPath) -> bool {
        false
    }
    /// The mounts of this mount namespace.
    fn mounts(&self) -> Vec<Mount>;
    /// Pathname sockets that are listening, as the host names them.
    fn listening(&self) -> Vec<AbsPath>;
    /// The caller's home directory, as written.
    fn home(&self) -> Option<AbsPath>;
    /// A variable of the caller's (`XDG_…`).
    fn variable(&self, name: &str) -> Option<OsString>;
    /// The effective user.
    fn uid(&self) -> u32;
    /// Whether the time for expanding patterns (2 s) is over.
    fn out_of_time(&self) -> bool;
}
