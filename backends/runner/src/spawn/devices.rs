//! Device nodes that a root caller owns, read-only for the wrapper.
//!
//! bwrap shows the host's own nodes in the sandbox's `/dev`, and whoever owns a file may change its mode and its times:
//! for root that would be the host's `/dev/null`. On a read-only mount that is EROFS, while the devices themselves can
//! be read and written as ever. bwrap makes no such mount (its read-only ones open no device), but its binds inherit
//! one: so a wrapper is started in a mount namespace in which the nodes are read-only already.
//!
//! Making such a namespace and ending it costs 0.4 ms, and more where it ends with the wrapper; so one is kept, as long as
//! the host mounts nothing and takes nothing away: what is unmounted there must not live on here.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::stat::Mode;
use nix::unistd::{chdir, chroot, fchdir};

/// Where the nodes lie.
const PLACE: &str = "/dev";

/// What bwrap puts into a `/dev` (`--dev`).
const NODES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The calling thread's mount namespace.
#[derive(Default)]
pub(super) enum Devices {
    /// The host's.
    #[default]
    Shared,
    /// One of its own, with read-only nodes.
    Apart(Host),
    /// Neither for sure: the way back failed.
    Lost,
}

/// The way back.
pub(super) struct Host {
    namespace: File,
    /// setns(2) leads to the root of a namespace, which is another directory after chroot(2).
    root: OwnedFd,
    /// `/proc/thread-self/mountinfo`, which tells poll(2) of each change (proc_pid_mounts(5)).
    mounts: File,
}

impl Devices {
    /// Gives the calling thread, and what it spawns, a mount namespace of its own with read-only nodes, which follows the
    /// host's. A root without CAP_SYS_ADMIN, or one whose root directory is no mount point, keeps what there is.
    ///
    /// # Errors
    /// unshare(2)'s, setns(2)'s and mount(2)'s; `/proc` cannot be read; an earlier way back failed.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        match self {
            Self::Apart(host) if !host.is_changed() => return Ok(()),
            Self::Lost => {
                return Err(io::Error::other("the spawning thread cannot get back into its mount namespace"));
            }
            Self::Apart(_) | Self::Shared => self.leave()?,
        }
        let host = Host::of_this_thread()?;
        match unshare(CloneFlags::CLONE_NEWNS) {
            Err(Errno::EPERM) => return Ok(()),
            parted => parted?,
        }
        *self = Self::Apart(host);
        // Half a protection is none.
        protect().or_else(|errno| {
            self.leave()?;
            if errno == Errno::EINVAL { Ok(()) } else { Err(errno.into()) }
        })
    }

    /// Back into the host's namespace; the other one ends.
    ///
    /// # Errors
    /// setns(2)'s and chroot(2)'s; nothing can be started any more then.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        *self = match std::mem::replace(self, Self::Lost) {
            Self::Apart(host) => {
                host.enter()?;
                Self::Shared
            }
            other => other,
        };
        Ok(())
    }

    /// What poll(2) calls exceptional (`POLLPRI`) once the host's mounts have changed.
    pub(super) fn watched(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Apart(host) => Some(host.mounts.as_fd()),
            Self::Shared | Self::Lost => None,
        }
    }
}

impl Host {
    fn of_this_thread() -> io::Result<Self> {
        let file = |name: &str| File::open(format!("/proc/thread-self/{name}"));
        let root = open("/", OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        Ok(Self { namespace: file("ns/mnt")?, root, mounts: file("mountinfo")? })
    }

    fn enter(&self) -> nix::Result<()> {
        setns(&self.namespace, CloneFlags::CLONE_NEWNS)?;
        fchdir(&self.root)?;
        chroot(".")
    }

    fn is_changed(&self) -> bool {
        let mut source = [PollFd::new(self.mounts.as_fd(), PollFlags::POLLPRI)];
        poll(&mut source, PollTimeout::ZERO) != Ok(0)
    }
}

/// In a namespace from which nothing gets back, and which follows the host's mounts. The thread's directory must not keep
/// one of them busy.
fn protect() -> nix::Result<()> {
    let nothing: Option<&str> = None;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_SLAVE, nothing)?;
    chdir("/")?;
    // No policy can grant anything in `/dev` but nodes. bwrap reads the table of all mounts at each of its binds, in which
    // six nodes are twelve lines: a sixth of a launch.
    match read_only(PLACE) {
        // It is no mount point, or is not there.
        Err(Errno::EINVAL | Errno::ENOENT) => {
            NODES.iter().try_for_each(|node| match bind(node).and_then(|()| read_only(node)) {
                // bwrap itself says what it misses.
                Err(Errno::ENOENT) => Ok(()),
                made => made,
            })
        }
        made => made,
    }
}

fn bind(node: &str) -> nix::Result<()> {
    let nothing: Option<&str> = None;
    mount(Some(node), node, nothing, MsFlags::MS_BIND, nothing)
}

fn read_only(mounted: &str) -> nix::Result<()> {
    let nothing: Option<&str> = None;
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    mount(nothing, mounted, nothing, flags | MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, nothing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    const NOTHING: Option<&str> = None;

    /// In a thread with a mount namespace, and a root directory that is a mount point or is not.
    fn in_a_chroot(is_mount: bool) {
        if !nix::unistd::Uid::effective().is_root() {
            eprintln!("SKIP in_a_chroot: needs root");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        fs::create_dir(root.join("proc")).unwrap();
        let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).unwrap();
        let expected = identity(root);
        let beside = move || {
            unshare(CloneFlags::CLONE_NEWNS).unwrap();
            mount(NOTHING, "/", NOTHING, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NOTHING).unwrap();
            if is_mount {
                mount(Some(root), root, NOTHING, MsFlags::MS_BIND, NOTHING).unwrap();
            }
            mount(Some("/proc"), &root.join("proc"), NOTHING, MsFlags::MS_BIND | MsFlags::MS_REC, NOTHING)
                .unwrap();
            chroot(root).unwrap();
            chdir("/").unwrap();
            let mut devices = Devices::default();
            for _ in 0..3 {
                devices.enter().unwrap();
                assert_eq!(identity(Path::new("/")), expected, "another root, apart");
                assert_eq!(identity(Path::new(".")), expected);
                assert_eq!(matches!(devices, Devices::Apart(_)), is_mount);
                devices.leave().unwrap();
                assert_eq!(identity(Path::new("/")), expected, "another root, back");
                assert_eq!(identity(Path::new(".")), expected);
            }
        };
        std::thread::scope(|scope| scope.spawn(beside).join().unwrap());
    }

    #[test]
    fn a_root_directory_that_is_a_mount_point_stays_the_root() {
        in_a_chroot(true);
    }

    #[test]
    fn a_root_directory_that_is_none_stays_the_root_too() {
        in_a_chroot(false);
    }

    #[test]
    fn who_is_lost_starts_nothing() {
        assert!(Devices::Lost.enter().is_err());
        assert!(Devices::Lost.watched().is_none());
    }
}
