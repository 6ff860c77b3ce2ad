//! The system calls for which there is no safe wrapper: the unsafe code of the stage.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use nix::errno::Errno;
use nix::unistd::{ForkResult, Pid};

use crate::plan::TerminalSize;
use crate::status::Record;

/// The process's words, as the C library passes them to `main`: without Rust's runtime nobody else keeps them.
///
/// # Safety
/// `words` are `count` pointers to texts that end with a NUL and live as long as the process.
pub unsafe fn words(count: c_int, words: *const *const c_char) -> impl Iterator<Item = OsString> {
    // SAFETY: the caller's promise; the pointers are never null, and lie one after the other.
    let words = unsafe { std::slice::from_raw_parts(words, usize::try_from(count).unwrap_or(0)) };
    words.iter().map(|word| {
        // SAFETY: the caller's promise.
        let word = unsafe { CStr::from_ptr(*word) };
        OsStr::from_bytes(word.to_bytes()).to_owned()
    })
}

/// Lets a broken pipe be an error of the call that meets it, as Rust's runtime does.
pub(crate) fn ignore_broken_pipes() {
    // SAFETY: SIG_IGN installs no code.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// A descriptor that the spawner passed by number: now ours, and close-on-exec.
///
/// # Errors
/// EBADF where it is not open.
pub(crate) fn adopt(number: i32) -> nix::Result<OwnedFd> {
    // SAFETY: F_SETFD takes an int and touches no memory of ours.
    Errno::result(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: the descriptor is open, above 2, and named once in the plan, so that nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// One of the standard descriptors.
pub(crate) fn borrow(number: i32) -> BorrowedFd<'static> {
    // SAFETY: not -1; 0 to 2 are never closed by the stage, only replaced.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// Leaves a descriptor open for the life of the process.
pub(crate) fn keep_open(fd: OwnedFd) {
    let number = fd.into_raw_fd();
    // SAFETY: F_SETFD takes an int and touches no memory of ours.
    unsafe { libc::fcntl(number, libc::F_SETFD, 0) };
}

/// close_range(2), Linux 5.9. Must not hit an `OwnedFd` that is used later; the caller keeps those out of the range.
pub(crate) fn close_range(first: u32, last: u32) -> nix::Result<()> {
    // SAFETY: takes three integers and touches no memory of ours.
    Errno::result(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0_u32) }).map(drop)
}

/// fork(2). The stage has one thread, so the child may allocate.
pub(crate) fn fork() -> nix::Result<ForkResult> {
    // SAFETY: the process is single-threaded.
    unsafe { nix::unistd::fork() }
}

/// Ends the process without the destructors that are its parent's business.
pub(crate) fn exit_now(code: u8) -> ! {
    // SAFETY: _exit(2) has no precondition.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Every signal's disposition back to the default: an ignored one would stay ignored across execve(2).
///
/// By the bare system call, since the C library refuses the two or three signals that it keeps to itself.
pub(crate) fn default_signals() {
    (1..=64).for_each(default_signal);
}

/// One signal's disposition back to the default.
pub(crate) fn default_signal(signal: i32) {
    // The kernel's `struct sigaction` is all zero for SIG_DFL, and nowhere larger than this.
    let default = [0_u64; 20];
    let previous: *mut u64 = std::ptr::null_mut();
    // SAFETY: the kernel reads one of its sigactions from a larger array; SIG_DFL installs no code. KILL and STOP answer
    // EINVAL, which is right.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), previous, size_of::<u64>()) };
}

/// A child that ended.
pub(crate) struct Reaped {
    pub(crate) pid: Pid,
    pub(crate) status: i32,
    /// User time in microseconds.
    pub(crate) user_us: u64,
    /// System time in microseconds.
    pub(crate) sys_us: u64,
    /// Largest resident size in bytes.
    pub(crate) max_rss_bytes: u64,
}

impl Reaped {
    pub(crate) fn record(&self) -> Record {
        let Self { status, user_us, sys_us, max_rss_bytes, .. } = *self;
        Record::Ended { status, user_us, sys_us, max_rss_bytes }
    }
}

/// One child that ended, without waiting; `None` where none has. ECHILD where there is no child at all.
pub(crate) fn reap() -> nix::Result<Option<Reaped>> {
    let mut status = 0;
    // SAFETY: rusage is plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // __WALL: a clone(2) without SIGCHLD is a child like any other.
    // SAFETY: both pointers are to live, writable values of the right types.
    let pid = unsafe { libc::wait4(-1, &mut status, libc::WNOHANG | libc::__WALL, &mut usage) };
    if Errno::result(pid)? == 0 {
        return Ok(None);
    }
    Ok(Some(Reaped {
        pid: Pid::from_raw(pid),
        status,
        user_us: microseconds(usage.ru_utime),
        sys_us: microseconds(usage.ru_stime),
        max_rss_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
    }))
}

fn microseconds(time: libc::timeval) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000).saturating_add(u64::try_from(time.tv_usec).unwrap_or(0))
}

/// kill(2) with any signal number, real-time ones included; a negative `pid` is a process group.
pub(crate) fn kill(pid: i32, signal: i32) -> nix::Result<()> {
    // SAFETY: takes two integers and touches no memory of ours.
    Errno::result(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Unlocks the slave of a pseudo-terminal, sets its size, and opens it. Linux 4.13.
pub(crate) fn open_slave(master: &OwnedFd, size: TerminalSize) -> nix::Result<OwnedFd> {
    let unlocked: libc::c_int = 0;
    // SAFETY: TIOCSPTLCK reads one int.
    Errno::result(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked) })?;
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCSWINSZ reads one winsize.
    Errno::result(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) })?;
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: TIOCGPTPEER takes open flags by value.
    let slave = Errno::result(unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags) })?;
    // SAFETY: the call has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(slave) })
}

/// Makes the terminal on standard input the controlling one of the session that the process leads.
pub(crate) fn control_terminal() -> nix::Result<()> {
    // SAFETY: TIOCSCTTY takes an int by value.
    Errno::result(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) }).map(drop)
}

/// prctl(2) with plain numbers.
pub(crate) fn prctl(option: libc::c_int, values: [libc::c_ulong; 2]) -> nix::Result<i32> {
    let zero: libc::c_ulong = 0;
    let [second, third] = values;
    // SAFETY: only options whose arguments are numbers are used here; none of them touches memory.
    Errno::result(unsafe { libc::prctl(option, second, third, zero, zero) })
}

/// `struct __user_cap_header_struct`.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

/// `struct __user_cap_data_struct`, of which version 3 takes two.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CapabilitySets {
    pub(crate) effective: u32,
    pub(crate) permitted: u32,
    pub(crate) inheritable: u32,
}

/// `_LINUX_CAPABILITY_VERSION_3`.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// capget(2) of this process.
pub(crate) fn capabilities() -> nix::Result<[CapabilitySets; 2]> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    let mut sets = [CapabilitySets::default(); 2];
    // SAFETY: version 3 writes the header and two data records, and both live here.
    Errno::result(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) })?;
    Ok(sets)
}

/// capset(2) of this process.
pub(crate) fn set_capabilities(sets: [CapabilitySets; 2]) -> nix::Result<()> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    // SAFETY: version 3 reads the header and two data records, and both live here.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) }).map(drop)
}

/// seccomp(2), SECCOMP_SET_MODE_FILTER; needs no_new_privs.
pub(crate) fn install_filter(program: &mut [libc::sock_filter]) -> nix::Result<()> {
    let len = u16::try_from(program.len()).map_err(|_| Errno::EINVAL)?;
    let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
    let zero: libc::c_uint = 0;
    // SAFETY: the program points to `len` live records, which the kernel copies and checks.
    let done =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, zero, &raw const program) };
    Errno::result(done).map(drop)
}
