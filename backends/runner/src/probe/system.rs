//! The system calls of attempts and of their surroundings that no crate has a safe function for.
#![allow(unsafe_code, reason = "raw system calls, see the module's first line")]

use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use nix::errno::Errno;

/// `KEYCTL_GET_KEYRING_ID`, and the special id of the session's keyring (keyctl(2)).
const KEYCTL_GET_KEYRING_ID: libc::c_int = 0;
const SESSION_KEYRING: libc::c_int = -3;
/// `UFFD_USER_MODE_ONLY`: what an ordinary user may ask for (userfaultfd(2)).
const USER_MODE_ONLY: libc::c_int = 1;
/// A capability that nothing here needs (capabilities(7)).
const CAP_WAKE_ALARM: libc::c_ulong = 35;
/// `struct io_uring_params`, 120 bytes (io_uring_setup(2)).
const RING_PARAMETERS: usize = 15;

/// A set of one System V semaphore that nobody finds by a key.
pub(super) fn make_semaphore() -> nix::Result<libc::c_int> {
    // SAFETY: semget(2) takes no pointer.
    Errno::result(unsafe { libc::semget(libc::IPC_PRIVATE, 1, 0o600) })
}

/// Its value becomes `value`.
pub(super) fn set_semaphore(id: libc::c_int, value: libc::c_int) -> nix::Result<()> {
    // SAFETY: with SETVAL, semctl(2) takes an integer and no pointer.
    Errno::result(unsafe { libc::semctl(id, 0, libc::SETVAL, value) }).map(drop)
}

/// Its value.
pub(super) fn semaphore(id: libc::c_int) -> nix::Result<libc::c_int> {
    // SAFETY: with GETVAL, semctl(2) takes no pointer.
    Errno::result(unsafe { libc::semctl(id, 0, libc::GETVAL) })
}

/// Removes the set.
pub(super) fn remove_semaphore(id: libc::c_int) -> nix::Result<()> {
    // SAFETY: with IPC_RMID, semctl(2) takes no pointer.
    Errno::result(unsafe { libc::semctl(id, 0, libc::IPC_RMID) }).map(drop)
}

/// Looks the session's keyring up; none is made.
pub(super) fn find_keyring() -> nix::Result<()> {
    // SAFETY: this operation of keyctl(2) takes two integers and no pointer.
    let found = unsafe { libc::syscall(libc::SYS_keyctl, KEYCTL_GET_KEYRING_ID, SESSION_KEYRING, 0) };
    match Errno::result(found) {
        // The kernel looked, and there is none.
        Err(Errno::ENOKEY) => Ok(()),
        found => found.map(drop),
    }
}

/// A descriptor for page faults.
pub(super) fn handle_faults() -> nix::Result<OwnedFd> {
    // SAFETY: userfaultfd(2) takes flags only.
    let made = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) };
    descriptor(made)
}

/// A ring of one entry.
pub(super) fn make_ring() -> nix::Result<OwnedFd> {
    let mut parameters = [0_u64; RING_PARAMETERS];
    // SAFETY: the array has the size of `struct io_uring_params`, is aligned for it, and outlives the call.
    let made = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()) };
    descriptor(made)
}

fn descriptor(answer: libc::c_long) -> nix::Result<OwnedFd> {
    let raw = RawFd::try_from(Errno::result(answer)?).map_err(|_| Errno::ERANGE)?;
    // SAFETY: the kernel has just made this descriptor, and nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// What only a process with CAP_SETPCAP may do; it matters to nobody but this process.
pub(super) fn narrow_bounding_set() -> nix::Result<()> {
    // SAFETY: this operation of prctl(2) takes an integer and no pointer.
    Errno::result(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, CAP_WAKE_ALARM) }).map(drop)
}

/// Yama lets any process of the user trace this one.
pub(super) fn allow_tracers() -> nix::Result<()> {
    // SAFETY: this operation of prctl(2) takes an integer and no pointer.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) }).map(drop)
}

/// Takes a terminal that no session has as the controlling one of this session.
pub(super) fn take_terminal(terminal: impl AsFd) -> nix::Result<()> {
    // SAFETY: TIOCSCTTY takes an integer and no pointer.
    Errno::result(unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCSCTTY, 0) }).map(drop)
}

/// Pushes a byte into a terminal's input.
pub(super) fn push_input(terminal: impl AsFd, byte: u8) -> nix::Result<()> {
    // SAFETY: TIOCSTI reads one byte through the pointer, which outlives the call.
    let pushed = unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCSTI, &raw const byte) };
    Errno::result(pushed).map(drop)
}
