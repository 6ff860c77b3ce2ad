//! The system calls that the safe wrappers lack. The runner's only unsafe code.
#![allow(unsafe_code)]

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::SigSet;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::unistd::Pid;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{Group, Request};

/// Above every target number, so that no dup2(2) overwrites a source that is still needed.
const ABOVE_TARGETS: RawFd = 16;
/// The first number that has no meaning of its own.
const ABOVE_STANDARD: RawFd = 3;

/// posix_spawn(3): every signal at its default, none blocked, exactly the asked descriptors and environment.
pub(super) fn spawn(request: &Request) -> io::Result<Pid> {
    let mut actions = PosixSpawnFileActions::init()?;
    let mut lifted = Vec::with_capacity(request.descriptors.len());
    for (target, source) in &request.descriptors {
        if source.as_raw_fd() >= ABOVE_TARGETS {
            actions.add_dup2(source.as_raw_fd(), *target)?;
            continue;
        }
        let source = lift(source)?;
        actions.add_dup2(source.as_raw_fd(), *target)?;
        lifted.push(source);
    }
    let attributes = attributes(request.group)?;
    let pid =
        posix_spawn(request.program.as_c_str(), &actions, &attributes, &request.argv, &request.environment)?;
    Ok(pid)
}

fn attributes(group: Group) -> Result<PosixSpawnAttr, Errno> {
    let mut attributes = PosixSpawnAttr::init()?;
    let mut flags = PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
    if group == Group::Own {
        flags |= PosixSpawnFlags::POSIX_SPAWN_SETPGROUP;
        attributes.set_pgroup(Pid::from_raw(0))?;
    }
    attributes.set_flags(flags)?;
    attributes.set_sigdefault(&SigSet::all())?;
    attributes.set_sigmask(&SigSet::empty())?;
    Ok(attributes)
}

fn lift(descriptor: &OwnedFd) -> io::Result<OwnedFd> {
    let raw = fcntl(descriptor, FcntlArg::F_DUPFD_CLOEXEC(ABOVE_TARGETS))?;
    // SAFETY: fcntl(2) has just made this descriptor, and nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// A close-on-exec duplicate of a descriptor that whoever started this process left open by that number: the very open
/// file, whoever owns it, where opening it anew through `/proc` asks for permission again and starts at the beginning.
///
/// # Errors
/// `EBADF` where nothing is open by that number, and as fcntl(2).
pub fn adopt(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC takes any number, touches no memory of ours, and leaves the descriptor itself as it is.
    let raw = Errno::result(unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, ABOVE_STANDARD) })?;
    // SAFETY: fcntl(2) has just made this descriptor, and nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// pidfd_open(2), Linux 5.3: close-on-exec. `pid` is an unreaped child, so it cannot be another process.
pub(super) fn pidfd(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two integers and touches no memory of ours.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    let raw = Errno::result(raw)?;
    let raw = RawFd::try_from(raw).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made this descriptor, and nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// recvmsg(2) without waiting: the length of the message, 0 at the end of file, and the descriptors that came with it,
/// close-on-exec.
pub(crate) fn receive(socket: BorrowedFd<'_>, message: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = nix::cmsg_space!([RawFd; 4]);
    let mut parts = [IoSliceMut::new(message)];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
    let received = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let mut descriptors = Vec::new();
    for control in received.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = control {
            // SAFETY: the kernel has just installed these descriptors for us, and nobody else knows their numbers.
            descriptors.extend(raw.into_iter().map(|raw| unsafe { OwnedFd::from_raw_fd(raw) }));
        }
    }
    Ok((received.bytes, descriptors))
}

/// A descriptor that the runtime watches for reading. Inside a tokio runtime with I/O.
pub(crate) fn watched(descriptor: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    register(descriptor, Interest::READABLE)
}

/// Likewise for writing.
pub(crate) fn watched_for_room(descriptor: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    register(descriptor, Interest::WRITABLE)
}

fn register(descriptor: Arc<OwnedFd>, interest: Interest) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: the shared owner keeps the descriptor open and gives the same number for as long as it lives, and the
    // `AsyncFd` holds one of its owners.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, interest) }?)
}
