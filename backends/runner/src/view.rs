//! The host, as policy resolution sees it: core's `View` over the real file system.
//!
//! Nothing here follows a final link, and nothing but directories and regular files is ever opened.

pub(crate) mod mountinfo;
mod search;
mod sockets;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use confine_core::AbsPath;
use confine_core::policy::View;
use confine_core::policy::view::{FileType, Mount, Stat};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::{AccessFlags, Uid, User, eaccess};
use rustix::fs::Dir;

/// How long patterns may be expanded.
const TIME: Duration = Duration::from_secs(2);
/// How much of a small file is read.
const SMALL: u64 = 4096;
/// Room for most files of `/proc`, which the kernel makes anew for every read.
const TABLE: usize = 16 * 1024;

/// The real host. Made for one resolution: its clock starts with it.
#[derive(Clone, Debug)]
pub struct HostView {
    variables: BTreeMap<OsString, OsString>,
    uid: Uid,
    started: Instant,
}

impl HostView {
    /// With this process's own environment.
    pub fn here() -> Self {
        Self::with(std::env::vars_os())
    }

    /// With the environment of the caller.
    pub fn with(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect(), uid: Uid::effective(), started: Instant::now() }
    }
}

/// `$HOME`, else what the user database says; `None` where neither is an absolute path.
pub(crate) fn home(variable: Option<&OsStr>, uid: Uid) -> Option<AbsPath> {
    variable.and_then(|home| AbsPath::new(home).ok()).or_else(|| {
        let user = User::from_uid(uid).ok().flatten()?;
        AbsPath::new(user.dir).ok()
    })
}

/// Opens a regular file for reading, and nothing else: not a link, and never a special file, whose opening may block
/// or do something.
///
/// # Errors
/// As open(2); `InvalidInput` for what is not a regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let place = open(path, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())?;
    reopen_regular(&place)
}

/// As [`open_regular`], for what `place` (an `O_PATH` descriptor) stands for.
pub(crate) fn reopen_regular(place: &OwnedFd) -> io::Result<File> {
    let itself = format!("/proc/self/fd/{}", place.as_raw_fd());
    if !std::fs::metadata(&itself)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(File::from(open(itself.as_str(), OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?))
}

/// The whole of a regular file.
///
/// # Errors
/// As [`open_regular`]; `FileTooLarge` for more than `bound` bytes.
pub(crate) fn read_whole(path: &Path, bound: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    if length > bound {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut text = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(bound).read_to_end(&mut text)?;
    Ok(text)
}

/// A file of `/proc` in as few reads as can be; empty where it cannot be read.
pub(crate) fn table(path: &str) -> Vec<u8> {
    let mut text = Vec::with_capacity(TABLE);
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut text));
    if read.is_ok() { text } else { Vec::new() }
}

/// What a file's type is; the file systems that Linux has know no other.
fn file_type(file: std::fs::FileType) -> FileType {
    if file.is_dir() {
        FileType::Directory
    } else if file.is_symlink() {
        FileType::Link
    } else if file.is_socket() {
        FileType::Socket
    } else if file.is_fifo() {
        FileType::Fifo
    } else if file.is_block_device() || file.is_char_device() {
        FileType::Device
    } else {
        FileType::File
    }
}

/// As the directory itself tells it, without a look at the file.
fn listed_type(file: rustix::fs::FileType) -> Option<FileType> {
    use rustix::fs::FileType as Type;
    match file {
        Type::Directory => Some(FileType::Directory),
        Type::Symlink => Some(FileType::Link),
        Type::Socket => Some(FileType::Socket),
        Type::Fifo => Some(FileType::Fifo),
        Type::BlockDevice | Type::CharacterDevice => Some(FileType::Device),
        Type::RegularFile => Some(FileType::File),
        Type::Unknown => None,
    }
}

impl View for HostView {
    fn stat(&self, path: &AbsPath) -> io::Result<Stat> {
        let metadata = path.as_path().symlink_metadata()?;
        Ok(Stat {
            file: file_type(metadata.file_type()),
            device: metadata.dev(),
            inode: metadata.ino(),
            uid: metadata.uid(),
        })
    }

    fn read_link(&self, path: &AbsPath) -> io::Result<PathBuf> {
        path.as_path().read_link()
    }

    fn list(&self, path: &AbsPath) -> io::Result<Vec<OsString>> {
        Ok(self.list_types(path)?.into_iter().map(|(name, _)| name).collect())
    }

    fn list_types(&self, path: &AbsPath) -> io::Result<Vec<(OsString, Option<FileType>)>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut entries = Vec::new();
        // Not the C library's reader, which maps and unmaps a buffer for each directory.
        for entry in Dir::new(open(path.as_path(), flags, Mode::empty())?)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                entries.push((OsString::from_vec(name.to_vec()), listed_type(entry.file_type())));
            }
        }
        Ok(entries)
    }

    fn read(&self, path: &AbsPath) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        open_regular(path.as_path())?.take(SMALL).read_to_end(&mut text)?;
        Ok(text)
    }

    fn read_whole(&self, path: &AbsPath, bound: u64) -> io::Result<Vec<u8>> {
        read_whole(path.as_path(), bound)
    }

    fn is_reachable(&self, path: &AbsPath) -> bool {
        path.ancestors().skip(1).all(|directory| search::may_pass(directory.as_path(), self.uid))
    }

    fn is_closed(&self, directory: &AbsPath) -> bool {
        let is_own = || self.stat(directory).is_ok_and(|stat| stat.uid == self.uid.as_raw());
        match eaccess(directory.as_path(), AccessFlags::W_OK | AccessFlags::X_OK) {
            Err(Errno::EROFS) => true,
            Err(Errno::EACCES | Errno::EPERM) => !is_own(),
            _ => false,
        }
    }

    fn mounts(&self) -> Vec<Mount> {
        mountinfo::parse(&table("/proc/self/mountinfo")).collect()
    }

    fn listening(&self) -> Vec<AbsPath> {
        let is_socket = |path: &AbsPath| self.stat(path).is_ok_and(|stat| stat.file == FileType::Socket);
        sockets::parse(&table("/proc/net/unix")).into_iter().filter(is_socket).collect()
    }

    fn home(&self) -> Option<AbsPath> {
        home(self.variables.get(OsStr::new("HOME")).map(OsString::as_os_str), self.uid)
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.get(OsStr::new(name)).cloned()
    }

    fn uid(&self) -> u32 {
        self.uid.as_raw()
    }

    fn out_of_time(&self) -> bool {
        self.started.elapsed() > TIME
    }
}

#[cfg(test)]
mod tests;
