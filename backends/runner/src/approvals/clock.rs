//! The clock of sessions: every process of one boot reads the same.

use std::io;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::stamp;

const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Since the machine's boot, by a clock that never goes back and that stands still while the machine sleeps, as tokio's.
pub(super) fn now() -> Duration {
    // It fails for clocks that do not exist only.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}

/// Which boot this is, as the kernel names it. Where it does not, one that nobody else has: nothing is gone on with then.
///
/// # Errors
/// No random numbers to make one.
pub(super) fn boot() -> io::Result<String> {
    let named = std::fs::read_to_string(BOOT).map(|name| name.trim().to_owned());
    named.ok().filter(|name| !name.is_empty()).map_or_else(stamp::fresh, Ok)
}
