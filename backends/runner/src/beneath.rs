//! Reaches names by directory descriptors, without ever following a link.
//!
//! The program under guard may swap a directory for a link at any moment; a path that is walked one component at a
//! time with `O_NOFOLLOW` cannot lead anywhere else (openat2(2) with `RESOLVE_NO_SYMLINKS` is the same in one call, but
//! is refused inside a sandbox of ours).

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use confine_core::AbsPath;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat};
use serde::{Deserialize, Serialize};

/// A descriptor that only stands for a directory: it needs no read permission.
const DIRECTORY: OFlag =
    OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// Which file, as long as it exists: numbers are given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl From<&FileStat> for Identity {
    fn from(stat: &FileStat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// A name in an open directory. There may be nothing by that name.
#[derive(Debug)]
pub(crate) struct Spot {
    /// The directory.
    pub(crate) parent: OwnedFd,
    /// The name in it.
    pub(crate) name: OsString,
}

impl Spot {
    /// The last component of `path`, in its directory.
    ///
    /// # Errors
    /// `ENOTDIR` or `ELOOP` where a link is on the way, and as openat(2); `EISDIR` for `/`.
    pub(crate) fn of(path: &AbsPath) -> nix::Result<Self> {
        let name = path.as_path().file_name().ok_or(Errno::EISDIR)?.to_owned();
        let parent = path.parent().ok_or(Errno::EISDIR)?;
        Ok(Self { parent: directory(&parent)?, name })
    }

    /// lstat(2), `None` where there is nothing.
    ///
    /// # Errors
    /// As fstatat(2).
    pub(crate) fn stat(&self) -> nix::Result<Option<FileStat>> {
        stat(&self.parent, &self.name)
    }
}

/// Looks up one path after another, and keeps the directories of the last one open for its neighbours: sorted paths cost
/// an openat(2) for each directory, and not for each component.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    root: Option<OwnedFd>,
    steps: Vec<(OsString, OwnedFd)>,
}

impl Walk {
    /// A directory, open until the next path is looked up.
    ///
    /// # Errors
    /// As [`Spot::of`].
    pub(crate) fn directory(&mut self, path: &AbsPath) -> nix::Result<BorrowedFd<'_>> {
        let root = match self.root.take() {
            Some(root) => root,
            None => open("/", DIRECTORY, Mode::empty())?,
        };
        let root: &OwnedFd = self.root.insert(root);
        let mut names = path.as_path().iter().skip(1).peekable();
        let is_known = |(step, _): &&(OsString, OwnedFd)| names.next_if(|name| *name == step).is_some();
        let known = self.steps.iter().take_while(is_known).count();
        self.steps.truncate(known);
        for name in names {
            let step = below(self.steps.last().map_or(root, |(_, step)| step), name)?;
            self.steps.push((name.to_owned(), step));
        }
        Ok(self.steps.last().map_or(root, |(_, step)| step).as_fd())
    }

    /// lstat(2) of a path, `None` where there is nothing.
    ///
    /// # Errors
    /// As [`Spot::of`] and fstatat(2).
    pub(crate) fn stat(&mut self, path: &AbsPath) -> nix::Result<Option<FileStat>> {
        let name = path.as_path().file_name().ok_or(Errno::EISDIR)?;
        let parent = path.parent().ok_or(Errno::EISDIR)?;
        stat(self.directory(&parent)?, name)
    }

    /// As [`Spot::of`].
    ///
    /// # Errors
    /// As [`Spot::of`], and where no descriptor is left.
    pub(crate) fn spot(&mut self, path: &AbsPath) -> nix::Result<Spot> {
        let name = path.as_path().file_name().ok_or(Errno::EISDIR)?.to_owned();
        let parent = path.parent().ok_or(Errno::EISDIR)?;
        let parent = self.directory(&parent)?.try_clone_to_owned();
        Ok(Spot { parent: parent.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?, name })
    }

    /// Which file is at a path, if one is, and no link on the way.
    pub(crate) fn identity(&mut self, path: &AbsPath) -> Option<Identity> {
        self.stat(path).ok()?.as_ref().map(Identity::from)
    }
}

/// lstat(2) of a name in a directory, `None` where there is nothing.
///
/// # Errors
/// As fstatat(2).
pub(crate) fn stat(directory: impl AsFd, name: &OsStr) -> nix::Result<Option<FileStat>> {
    match fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Err(Errno::ENOENT) => Ok(None),
        other => other.map(Some),
    }
}

/// Opens a directory.
///
/// # Errors
/// As [`Spot::of`].
pub(crate) fn directory(path: &AbsPath) -> nix::Result<OwnedFd> {
    let root = open("/", DIRECTORY, Mode::empty())?;
    path.as_path().iter().skip(1).try_fold(root, |above, name| below(&above, name))
}

/// Opens a directory in a directory.
///
/// # Errors
/// As [`Spot::of`].
pub(crate) fn below(directory: impl AsFd, name: &OsStr) -> nix::Result<OwnedFd> {
    openat(directory, name, DIRECTORY, Mode::empty())
}

/// What kind of file `stat` is about.
pub(crate) fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_on_the_way_is_never_followed() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().canonicalize().unwrap();
        std::fs::create_dir_all(path.join("real/below")).unwrap();
        std::fs::write(path.join("real/below/file"), "").unwrap();
        symlink("real", path.join("link")).unwrap();
        let spot = |name: &str| Spot::of(&AbsPath::new(path.join(name)).unwrap());
        assert!(spot("real/below/file").unwrap().stat().unwrap().is_some());
        assert!(spot("real/below/nothing").unwrap().stat().unwrap().is_none());
        assert!(matches!(spot("link/below/file"), Err(Errno::ENOTDIR | Errno::ELOOP)));
        assert_eq!(kind(&spot("link").unwrap().stat().unwrap().unwrap()), SFlag::S_IFLNK);
    }

    #[test]
    fn a_walk_finds_what_single_looks_find_in_any_order() {
        let top = tempfile::tempdir().unwrap();
        let path = AbsPath::new(top.path().canonicalize().unwrap()).unwrap();
        std::fs::create_dir_all(path.as_path().join("a/b/c")).unwrap();
        std::fs::create_dir_all(path.as_path().join("a/bb")).unwrap();
        symlink("a", path.as_path().join("link")).unwrap();
        let names =
            ["a/b/c", "a/b", "a/bb", "a/b/c/none", "link", "link/b", "none/b", "a", "a/b/c", "link/b/c"];
        let mut walk = Walk::default();
        for name in names.iter().chain(names.iter().rev()) {
            let path = path.join(name).unwrap();
            let alone = Spot::of(&path).and_then(|spot| spot.stat());
            let identity =
                |found: nix::Result<Option<FileStat>>| found.map(|stat| stat.as_ref().map(Identity::from));
            assert_eq!(identity(walk.stat(&path)), identity(alone), "{path}");
        }
        assert!(walk.stat(&AbsPath::root()).is_err());
    }

    #[test]
    fn a_walk_stays_in_the_directories_that_it_has_open() {
        let top = tempfile::tempdir().unwrap();
        let path = AbsPath::new(top.path().canonicalize().unwrap()).unwrap();
        std::fs::create_dir(path.as_path().join("a")).unwrap();
        let mut walk = Walk::default();
        assert!(walk.identity(&path.join("a/file").unwrap()).is_none());
        std::fs::rename(path.as_path().join("a"), path.as_path().join("b")).unwrap();
        symlink("/etc", path.as_path().join("a")).unwrap();
        assert!(walk.identity(&path.join("a/passwd").unwrap()).is_none());
        assert!(walk.identity(&path.join("b").unwrap()).is_some());
        assert!(walk.directory(&path.join("a").unwrap()).is_err());
    }
}
