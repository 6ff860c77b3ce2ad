//! Inert things inside `.git` that a mount can stand on, so that nothing else can be created by their names.
//!
//! git reads each of them as if it were not there (measured with commit, gc, worktree, stash, fsck), and none shows
//! in `git status`.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;

use confine_core::AbsPath;
use confine_core::policy::fs::Placeholder;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, SFlag, mkdirat};
use nix::unistd::{UnlinkatFlags, linkat, unlinkat};

use crate::beneath::{Identity, Spot, kind};
use crate::view::reopen_regular;

/// What a placeholder by a name holds, for one that another run took away between this run's look and its start.
const INERT: &[(&str, Placeholder)] = &[
    ("commondir", Placeholder::Dot),
    ("hooks", Placeholder::Directory),
    ("attributes", Placeholder::Empty),
    ("config.worktree", Placeholder::Empty),
];
const DOT: &[u8] = b".\n";
/// Other users of a shared repository must be able to read it, or their git fails.
const FILE: Mode = Mode::from_bits_truncate(0o644);
const DIRECTORY: Mode = Mode::from_bits_truncate(0o755);
const PRIVATE: Mode = Mode::from_bits_truncate(0o600);
const CREATE: OFlag = OFlag::O_WRONLY
    .union(OFlag::O_CREAT)
    .union(OFlag::O_EXCL)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);
/// A file without a name (Linux 3.11; NFS and some others have none).
const UNNAMED: OFlag = OFlag::O_WRONLY.union(OFlag::O_TMPFILE).union(OFlag::O_CLOEXEC);

/// What stands where a placeholder was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing.
    Gone,
    /// The placeholder, as it was made.
    Unchanged,
    /// Something else, or something in it.
    Changed,
}

/// The placeholder that would stand at `path`, by its name.
pub(crate) fn by_name(path: &AbsPath) -> Option<Placeholder> {
    let name = path.as_path().file_name()?;
    INERT.iter().find(|(one, _)| name == OsStr::new(one)).map(|(_, placeholder)| *placeholder)
}

/// Makes it. No link is followed on the way, and nothing that exists is touched.
///
/// # Errors
/// `EEXIST` where something is there, and as openat(2) and mkdirat(2).
pub(crate) fn make(path: &AbsPath, placeholder: Placeholder) -> nix::Result<Identity> {
    let spot = Spot::of(path)?;
    match placeholder {
        Placeholder::Directory => {
            mkdirat(&spot.parent, spot.name.as_os_str(), DIRECTORY)?;
        }
        Placeholder::Empty => file(&spot, FILE, b"")?,
        Placeholder::Dot => file(&spot, FILE, DOT)?,
    }
    identity(&spot)
}

/// Makes an empty file that only the caller may read.
///
/// # Errors
/// As [`make`].
pub(crate) fn precreate(path: &AbsPath) -> nix::Result<Identity> {
    let spot = Spot::of(path)?;
    file(&spot, PRIVATE, b"")?;
    identity(&spot)
}

/// Appears complete where the file system can do that: git may read it at any moment, and whoever makes it may be
/// killed at any moment.
fn file(spot: &Spot, mode: Mode, text: &[u8]) -> nix::Result<()> {
    match unnamed(spot, mode, text) {
        Err(errno) if errno != Errno::EEXIST => named(spot, mode, text),
        appeared => appeared,
    }
}

fn unnamed(spot: &Spot, mode: Mode, text: &[u8]) -> nix::Result<()> {
    let made = openat(&spot.parent, ".", UNNAMED, mode)?;
    let itself = format!("/proc/self/fd/{}", made.as_raw_fd());
    // Keeps the file's descriptor, and so its link in /proc, until it has a name.
    let _held = complete(made, mode, text)?;
    let name = spot.name.as_os_str();
    linkat(nix::fcntl::AT_FDCWD, itself.as_str(), &spot.parent, name, AtFlags::AT_SYMLINK_FOLLOW)
}

/// A kill in between leaves it empty.
fn named(spot: &Spot, mode: Mode, text: &[u8]) -> nix::Result<()> {
    let made = openat(&spot.parent, spot.name.as_os_str(), CREATE, mode)?;
    complete(made, mode, text).map(drop).inspect_err(|_| {
        // Half a placeholder may not stay; the error is the one to tell.
        let _ = unlinkat(&spot.parent, spot.name.as_os_str(), UnlinkatFlags::NoRemoveDir);
    })
}

fn complete(made: OwnedFd, mode: Mode, text: &[u8]) -> nix::Result<File> {
    let mut file = File::from(made);
    // The caller's umask is for its own files.
    let written =
        file.set_permissions(Permissions::from_mode(mode.bits())).and_then(|()| file.write_all(text));
    let errno = |error: io::Error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO));
    written.map(|()| file).map_err(errno)
}

fn identity(spot: &Spot) -> nix::Result<Identity> {
    spot.stat()?.as_ref().map(Identity::from).ok_or(Errno::ENOENT)
}

/// Which file is at `path` now.
pub(crate) fn at(path: &AbsPath) -> Option<Identity> {
    identity(&Spot::of(path).ok()?).ok()
}

/// Whether it is still the same directory or file, whatever is in it. Without an identity it is taken for one.
pub(crate) fn is_same(spot: &Spot, made: Option<Identity>) -> bool {
    identity(spot).is_ok_and(|found| made.is_none_or(|made| made == found))
}

/// What stands there now. Without an identity (the run died between making and noting it) the content alone decides,
/// and an empty file is a placeholder that was not written yet.
pub(crate) fn standing(spot: &Spot, placeholder: Placeholder, made: Option<Identity>) -> Standing {
    let Ok(Some(stat)) = spot.stat() else { return Standing::Gone };
    if made.is_some_and(|made| made != Identity::from(&stat)) {
        return Standing::Changed;
    }
    let same = match (placeholder, kind(&stat)) {
        (Placeholder::Directory, SFlag::S_IFDIR) => is_empty(spot),
        (Placeholder::Empty, SFlag::S_IFREG) => stat.st_size == 0,
        (Placeholder::Dot, SFlag::S_IFREG) => holds(spot, DOT) || made.is_none() && stat.st_size == 0,
        _ => false,
    };
    if same { Standing::Unchanged } else { Standing::Changed }
}

/// Removes a placeholder that is unchanged. A directory that is not empty cannot be removed at all (unlinkat(2)).
pub(crate) fn remove(spot: &Spot, placeholder: Placeholder) -> nix::Result<()> {
    let flags = match placeholder {
        Placeholder::Directory => UnlinkatFlags::RemoveDir,
        Placeholder::Empty | Placeholder::Dot => UnlinkatFlags::NoRemoveDir,
    };
    unlinkat(&spot.parent, spot.name.as_os_str(), flags)
}

fn is_empty(spot: &Spot) -> bool {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened = nix::dir::Dir::openat(&spot.parent, spot.name.as_os_str(), flags, Mode::empty());
    opened.is_ok_and(|mut directory| {
        directory
            .iter()
            .all(|entry| entry.is_ok_and(|entry| matches!(entry.file_name().to_bytes(), b"." | b"..")))
    })
}

fn holds(spot: &Spot, text: &[u8]) -> bool {
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened = openat(&spot.parent, spot.name.as_os_str(), flags, Mode::empty());
    let Ok(file) = opened.map_err(Into::into).and_then(|place| reopen_regular(&place)) else { return false };
    let mut found = Vec::new();
    let limit = u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut found).is_ok() && found == text
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

    fn bench() -> (tempfile::TempDir, AbsPath) {
        let top = tempfile::tempdir().unwrap();
        let path = AbsPath::new(top.path().canonicalize().unwrap()).unwrap();
        (top, path)
    }

    #[test]
    fn each_kind_is_made_recognised_and_removed() {
        let (_keep, top) = bench();
        for placeholder in [Placeholder::Directory, Placeholder::Empty, Placeholder::Dot] {
            let path = top.join(format!("{placeholder:?}")).unwrap();
            let made = make(&path, placeholder).unwrap();
            assert_eq!(make(&path, placeholder), Err(Errno::EEXIST));
            let spot = Spot::of(&path).unwrap();
            assert_eq!(standing(&spot, placeholder, Some(made)), Standing::Unchanged);
            remove(&spot, placeholder).unwrap();
            assert_eq!(standing(&spot, placeholder, Some(made)), Standing::Gone);
        }
    }

    #[test]
    fn a_file_appears_complete() {
        let (_keep, top) = bench();
        let watch = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).unwrap();
        let seen = AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_ATTRIB;
        watch.add_watch(top.as_path(), seen).unwrap();
        make(&top.join("commondir").unwrap(), Placeholder::Dot).unwrap();
        let events = watch.read_events().unwrap();
        let named = events.iter().filter(|event| event.name.as_deref() == Some(OsStr::new("commondir")));
        assert_eq!(named.map(|event| event.mask).collect::<Vec<_>>(), [AddWatchFlags::IN_CREATE]);
    }

    #[test]
    fn where_it_cannot_a_kill_leaves_what_the_next_start_removes() {
        let (_keep, top) = bench();
        let spot = Spot::of(&top.join("commondir").unwrap()).unwrap();
        named(&spot, FILE, b"").unwrap();
        assert_eq!(standing(&spot, Placeholder::Dot, None), Standing::Unchanged);
        assert_eq!(standing(&spot, Placeholder::Dot, Some(identity(&spot).unwrap())), Standing::Changed);
        assert_eq!(named(&spot, FILE, DOT), Err(Errno::EEXIST));
    }

    #[test]
    fn another_content_or_another_file_is_a_change() {
        let (_keep, top) = bench();
        let path = top.join("commondir").unwrap();
        let made = make(&path, Placeholder::Dot).unwrap();
        let spot = Spot::of(&path).unwrap();
        std::fs::write(&path, "../evil\n").unwrap();
        assert_eq!(standing(&spot, Placeholder::Dot, Some(made)), Standing::Changed);
        std::fs::write(&path, ".\n").unwrap();
        assert_eq!(standing(&spot, Placeholder::Dot, Some(made)), Standing::Unchanged);
        let other = top.join("other").unwrap();
        std::fs::write(&other, ".\n").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(standing(&spot, Placeholder::Dot, Some(made)), Standing::Changed);
        assert_eq!(standing(&spot, Placeholder::Dot, None), Standing::Unchanged);
    }

    #[test]
    fn nothing_is_made_through_a_link() {
        let (_keep, top) = bench();
        std::fs::create_dir(top.join("real").unwrap()).unwrap();
        std::os::unix::fs::symlink("real", top.join("git").unwrap()).unwrap();
        assert!(make(&top.join("git/commondir").unwrap(), Placeholder::Dot).is_err());
        std::os::unix::fs::symlink("/nonexistent/x", top.join("dangling").unwrap()).unwrap();
        assert_eq!(make(&top.join("dangling").unwrap(), Placeholder::Empty), Err(Errno::EEXIST));
        assert_eq!(std::fs::read_dir(top.join("real").unwrap()).unwrap().count(), 0);
    }
}
