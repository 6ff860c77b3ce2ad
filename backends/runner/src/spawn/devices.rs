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
use std::os::fd::{AsFd as _, BorrowedFd};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::chdir;

/// What bwrap puts into a `/dev` (`--dev`).
const NODES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The calling thread's mount namespace: the host's, or one with read-only nodes.
#[derive(Default)]
pub(super) struct Devices {
    /// While the thread is in a namespace of its own.
    host: Option<Host>,
}

/// The way back.
struct Host {
    namespace: File,
    /// `/proc/thread-self/mountinfo`, which tells poll(2) of each change (proc_pid_mounts(5)).
    mounts: File,
}

impl Devices {
    /// Gives the calling thread, and what it spawns, a mount namespace of its own with read-only nodes, which follows the
    /// host's. A root without CAP_SYS_ADMIN, or one whose root directory is no mount point, keeps what there is.
    ///
    /// # Errors
    /// unshare(2)'s, setns(2)'s and mount(2)'s; `/proc` cannot be read.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        if self.host.as_ref().is_some_and(|host| !host.is_changed()) {
            return Ok(());
        }
        self.leave()?;
        let host = Host::of_this_thread()?;
        match unshare(CloneFlags::CLONE_NEWNS) {
            Err(Errno::EPERM) => return Ok(()),
            parted => parted?,
        }
        self.host = Some(host);
        // Half a protection is none: the next call must not take it for a whole one.
        protect().or_else(|errno| {
            self.leave()?;
            if errno == Errno::EINVAL { Ok(()) } else { Err(errno.into()) }
        })
    }

    /// Back into the host's namespace; the other one ends.
    ///
    /// # Errors
    /// setns(2)'s.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        if let Some(host) = &self.host {
            setns(&host.namespace, CloneFlags::CLONE_NEWNS)?;
        }
        self.host = None;
        Ok(())
    }

    /// What poll(2) calls exceptional (`POLLPRI`) once the host's mounts have changed.
    pub(super) fn watched(&self) -> Option<BorrowedFd<'_>> {
        self.host.as_ref().map(|host| host.mounts.as_fd())
    }
}

impl Host {
    fn of_this_thread() -> io::Result<Self> {
        let open = |name: &str| File::open(format!("/proc/thread-self/{name}"));
        Ok(Self { namespace: open("ns/mnt")?, mounts: open("mountinfo")? })
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
    NODES.iter().try_for_each(|node| match read_only(node) {
        // bwrap itself says what it misses.
        Err(Errno::ENOENT) => Ok(()),
        made => made,
    })
}

fn read_only(node: &str) -> nix::Result<()> {
    let nothing: Option<&str> = None;
    mount(Some(node), node, nothing, MsFlags::MS_BIND, nothing)?;
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    mount(nothing, node, nothing, flags | MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, nothing)
}
