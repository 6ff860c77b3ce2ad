//! One question at a time on a terminal, whoever asks: a key answers the question that is seen.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock, major, minor};
use rustix::termios::isatty;
use tokio::time::{Instant, sleep};

use super::device::PLACE;

/// How often a terminal that is taken is tried again.
const STEP: Duration = Duration::from_millis(50);

/// The terminal, for one question. Dropped, it is the next one's.
///
/// It is a lock (flock(2)) on the terminal itself, which is the same one for every user and from every directory.
pub(crate) struct Claim {
    _file: File,
}

impl Claim {
    /// Waits until no other question has the controlling terminal; `None` where one still has it after `at_most`.
    /// Cancel-safe, inside a runtime.
    ///
    /// # Errors
    /// ENXIO without a controlling terminal, and as flock(2).
    pub(crate) async fn wait(at_most: Duration) -> io::Result<Option<Self>> {
        let (file, began) = (open()?, Instant::now());
        loop {
            forget_inherited();
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { _file: file })),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if began.elapsed() >= at_most => return Ok(None),
                Err(TryLockError::WouldBlock) => sleep(STEP).await,
            }
        }
    }
}

/// A lock belongs to an open file, and the program that ran had ours as its streams: one that it left there would keep
/// everybody from asking. A question's own lock is on a file of its own, so it is never this one.
fn forget_inherited() {
    fn forget(stream: impl AsFd) {
        if isatty(&stream) {
            let _ = flock(&stream, FlockOperation::Unlock);
        }
    }
    forget(io::stdin());
    forget(io::stdout());
    forget(io::stderr());
}

/// The terminal itself: `/dev/tty` is the same file for every terminal of the host. Where nothing else leads to the
/// terminal, it is that file all the same, and questions wait that need not.
fn open() -> io::Result<File> {
    let device = controlling(&std::fs::read("/proc/self/stat")?);
    let named = device.and_then(|device| names(device).into_iter().find_map(|name| open_as(&name, device)));
    named.map_or_else(|| open_plain(Path::new(PLACE)), Ok)
}

/// The places where it may be: a stream of ours, or one of the names that terminals have.
fn names((_, minor): Device) -> Vec<PathBuf> {
    let streams = (0..3).map(|stream| format!("/proc/self/fd/{stream}"));
    let others = [format!("/dev/pts/{minor}"), format!("/dev/tty{minor}"), "/dev/console".to_owned()];
    streams.chain(others).map(PathBuf::from).collect()
}

fn open_as(name: &Path, device: Device) -> Option<File> {
    let is = |metadata: std::fs::Metadata| {
        let number = metadata.rdev();
        metadata.file_type().is_char_device() && (major(number), minor(number)) == device
    };
    std::fs::metadata(name).is_ok_and(is).then(|| open_plain(name).ok()).flatten()
}

fn open_plain(name: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(name)
}

/// Its major and minor number.
type Device = (u32, u32);

/// The controlling terminal by proc_pid_stat(5): the fifth field after the program's name, which ends with the last `)`.
fn controlling(stat: &[u8]) -> Option<Device> {
    let fields = stat.rsplit(|byte| *byte == b')').next()?;
    let number = std::str::from_utf8(fields).ok()?.split_ascii_whitespace().nth(4)?;
    let number = number.parse::<i32>().ok()?.cast_unsigned();
    (number != 0).then_some(((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xf_ff00)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controlling_terminal_is_found_behind_any_name() {
        assert_eq!(controlling(b"42 (a) b (c)) S 1 2 3 34819 3 0"), Some((136, 3)));
        assert_eq!(controlling(b"42 (a) S 1 2 3 1083396 3 0"), Some((136, 260)));
        assert_eq!(controlling(b"42 (a) S 1 2 3 0 -1 0"), None);
        assert_eq!(controlling(b""), None);
    }
}
