//! The system calls of attempts and of their surroundings that no crate has a safe function for.
#![allow(unsafe_code, reason = "raw system calls, see the module's first line")]

use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU8, Ordering};

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

/// A page of System V shared memory, as attached here.
pub(super) struct Segment {
    id: libc::c_int,
    byte: &'static AtomicU8,
}

impl Segment {
    /// A fresh one that nobody finds by a key. It is removed at once, so it goes with the last process that is attached
    /// to it, however that ends; on Linux it can be attached to by its number until then (shmctl(2)).
    pub(super) fn new() -> nix::Result<Self> {
        // SAFETY: shmget(2) takes no pointer.
        let id = Errno::result(unsafe { libc::shmget(libc::IPC_PRIVATE, 1, 0o600) })?;
        let attached = Self::attach(id);
        // SAFETY: with IPC_RMID, shmctl(2) reads nothing through its pointer.
        let removed = unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
        Errno::result(removed)?;
        attached
    }

    /// One that is there already.
    pub(super) fn attach(id: libc::c_int) -> nix::Result<Self> {
        // SAFETY: with no address given, the kernel maps the segment where nothing is.
        let memory = unsafe { libc::shmat(id, std::ptr::null(), 0) };
        if memory.addr() == usize::MAX {
            return Err(Errno::last());
        }
        // SAFETY: a page is mapped there until this value is dropped, and the reference never leaves it; processes share
        // it, so it is only ever accessed atomically.
        let byte = unsafe { AtomicU8::from_ptr(memory.cast()) };
        Ok(Self { id, byte })
    }

    /// Its number.
    pub(super) fn id(&self) -> libc::c_int {
        self.id
    }

    /// Its first byte; 0 at first.
    pub(super) fn value(&self) -> u8 {
        self.byte.load(Ordering::SeqCst)
    }

    /// Changes that byte.
    pub(super) fn set(&self, value: u8) {
        self.byte.store(value, Ordering::SeqCst);
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: what shmat(2) mapped there; nothing uses it any more.
        unsafe { libc::shmdt(std::ptr::from_ref(self.byte).cast()) };
    }
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
