//! What one call may take.

use std::ops::RangeInclusive;
use std::time::Duration;

/// How long a reply may be, in bytes.
pub const REPLY_BYTES: RangeInclusive<u64> = 1..=64 * 1024 * 1024;
/// How long a call may take, in milliseconds.
pub const TIMEOUT: RangeInclusive<u64> = 1..=10 * 60 * 1000;

/// What one call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest reply, in bytes: within [`REPLY_BYTES`].
    pub reply_bytes: u64,
    /// The longest call, in milliseconds: within [`TIMEOUT`].
    pub timeout_ms: u64,
}

impl Limits {
    /// The longest call.
    pub const fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}
