//! Descriptors: what the spawner left open is closed, and 0 to 2 must not be a way out of the view.
//!
//! A directory on standard input reaches masked files by `/proc/self/fd/0/…`, a block device reaches all of them. And
//! changing the mode or the times of a file needs no more than a descriptor (fchmod(2), futimens(3)), whatever it is open
//! for, so the plain devices are those of the sandbox's own `/dev`.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::sys::stat::{Mode, SFlag, fstat, major, minor};
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, dup3};

use crate::failure::Failure;
use crate::status::Step;
use crate::sys;

/// The major number of the devices below.
const MEMORY: u64 = 1;
/// Devices that are the same in every `/dev`, by their minor numbers.
const SAME_EVERYWHERE: [(u64, &str); 5] =
    [(3, "/dev/null"), (5, "/dev/zero"), (7, "/dev/full"), (8, "/dev/random"), (9, "/dev/urandom")];

/// Closes every descriptor above 2 but `kept`. Linux 5.9.
pub(crate) fn close_all_but(kept: &[Option<&OwnedFd>]) -> Result<(), Failure> {
    let mut kept: Vec<u32> =
        kept.iter().flatten().filter_map(|fd| u32::try_from(fd.as_raw_fd()).ok()).collect();
    kept.sort_unstable();
    let mut first = 3;
    for fd in kept {
        close(first, fd.checked_sub(1))?;
        first = fd.saturating_add(1);
    }
    close(first, Some(u32::MAX))
}

/// Opens what is closed of 0 to 2 on `/dev/null`, opens plain devices again, and refuses what reaches beyond the view.
pub(crate) fn check(stderr: Option<&mut OwnedFd>) -> Result<(), Failure> {
    for (number, name) in (0..).zip(["standard input", "standard output", "standard error"]) {
        let fd = sys::borrow(number);
        if let Some(device) = check_one(fd, name)? {
            let device = reopen(fd, device)?;
            put(&device, number).map_err(Failure::of(Step::Stdio, name))?;
        }
    }
    let Some(stderr) = stderr else { return Ok(()) };
    let name = "the program's standard error";
    let Some(device) = check_one(stderr.as_fd(), name)? else { return Ok(()) };
    let device = reopen(stderr.as_fd(), device)?;
    dup3(&device, stderr, OFlag::O_CLOEXEC).map_err(Failure::of(Step::Stdio, name))
}

/// Lets go of the program's standard input and output, so that their other ends see the program's end.
pub(crate) fn release() {
    if let Ok(null) = open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty()) {
        let _ = dup2_stdin(&null);
        let _ = dup2_stdout(&null);
    }
}

/// Whether the descriptor was opened for writing.
pub(crate) fn is_writable(fd: BorrowedFd<'_>) -> bool {
    fcntl(fd, FcntlArg::F_GETFL).is_ok_and(|flags| {
        let mode = OFlag::from_bits_truncate(flags) & OFlag::O_ACCMODE;
        mode == OFlag::O_WRONLY || mode == OFlag::O_RDWR
    })
}

/// The type bits of the file behind a descriptor.
pub(crate) fn file_type(fd: BorrowedFd<'_>) -> nix::Result<SFlag> {
    fstat(fd).map(|stat| SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT)
}

fn close(first: u32, last: Option<u32>) -> Result<(), Failure> {
    match last {
        Some(last) if first <= last => {
            sys::close_range(first, last).map_err(Failure::of(Step::Stdio, "close what was left open"))
        }
        _ => Ok(()),
    }
}

/// The device that is to be opened again, where it is one.
fn check_one(fd: BorrowedFd<'_>, name: &str) -> Result<Option<&'static str>, Failure> {
    let stat = match fstat(fd) {
        Err(Errno::EBADF) => return null(fd.as_raw_fd()).map(|()| None),
        stat => stat.map_err(Failure::of(Step::Stdio, name))?,
    };
    let kind = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT;
    let refused = if kind == SFlag::S_IFDIR {
        "is a directory"
    } else if kind == SFlag::S_IFBLK {
        "is a block device"
    } else if fcntl(fd, FcntlArg::F_GETFL).is_ok_and(|flags| flags & libc::O_PATH == libc::O_PATH) {
        "is a bare path"
    } else if kind == SFlag::S_IFCHR {
        return Ok(same_everywhere(stat.st_rdev));
    } else {
        return Ok(None);
    };
    Err(Failure::words(Step::Stdio, &format!("{name} {refused}")))
}

fn same_everywhere(device: libc::dev_t) -> Option<&'static str> {
    let known = SAME_EVERYWHERE.iter().find(|(number, _)| *number == minor(device));
    known.filter(|_| major(device) == MEMORY).map(|(_, path)| *path)
}

/// With the same access mode.
fn reopen(fd: BorrowedFd<'_>, device: &str) -> Result<OwnedFd, Failure> {
    let failed = || Failure::of(Step::Stdio, device);
    let flags = OFlag::from_bits_truncate(fcntl(fd, FcntlArg::F_GETFL).map_err(failed())?);
    let kept = flags & (OFlag::O_ACCMODE | OFlag::O_NONBLOCK);
    open(device, kept | OFlag::O_NOCTTY | OFlag::O_CLOEXEC, Mode::empty()).map_err(failed())
}

fn null(number: i32) -> Result<(), Failure> {
    let failed = || Failure::of(Step::Stdio, "/dev/null");
    let null = open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, Mode::empty()).map_err(failed())?;
    put(&null, number).map_err(failed())?;
    if null.as_raw_fd() <= 2 {
        // It is the very descriptor that was closed, now in its place for good.
        sys::keep_open(null);
    }
    Ok(())
}

fn put(fd: &OwnedFd, number: i32) -> nix::Result<()> {
    match number {
        0 => dup2_stdin(fd),
        1 => dup2_stdout(fd),
        _ => dup2_stderr(fd),
    }
}
