//! Device nodes that a root caller owns, read-only for the wrapper.
//!
//! bwrap shows the host's own nodes in the sandbox's `/dev`, and whoever owns a file may change its mode and its times:
//! for root that would be the host's `/dev/null`. On a read-only mount that is EROFS, while the devices themselves can
//! be read and written as ever. bwrap makes no such mount (its read-only ones open no device), but its binds inherit
//! one: so a wrapper is started in a mount namespace in which the nodes are read-only already.

use std::io;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

/// What bwrap puts into a `/dev` (`--dev`).
const NODES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Gives the calling thread, and what it spawns, a mount namespace of its own with read-only nodes. A root without
/// CAP_SYS_ADMIN, or one whose root directory is no mount point, keeps what there is.
///
/// # Errors
/// unshare(2)'s and mount(2)'s.
pub(super) fn protect() -> io::Result<()> {
    match leave() {
        Err(Errno::EPERM | Errno::EINVAL) => return Ok(()),
        left => left?,
    }
    for node in NODES {
        match read_only(node) {
            // bwrap itself says what it misses.
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Into a namespace from which nothing gets back, and which follows the host's mounts.
fn leave() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let nothing: Option<&str> = None;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_SLAVE, nothing)
}

fn read_only(node: &str) -> nix::Result<()> {
    let nothing: Option<&str> = None;
    mount(Some(node), node, nothing, MsFlags::MS_BIND, nothing)?;
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    mount(nothing, node, nothing, flags | MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, nothing)
}
