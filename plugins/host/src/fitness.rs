//! Whether the process is as it was before a call.
//!
//! A plugin can always hide what it does here. What this finds is what would spoil the next call of an honest one: the
//! helper then answers and ends, and the next call gets a new one.

use std::fs;

use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::lane::Lane;
use crate::loader;

/// How many descriptors a call may leave open.
const DESCRIPTORS: i32 = 32;
/// How many threads a call may leave running: a pool is no mess.
const THREADS: u64 = 16;
/// What of /proc/self/status is compared as it is: the signals that are blocked, ignored and caught.
const SIGNALS: [&str; 3] = ["SigBlk:", "SigIgn:", "SigCgt:"];

/// How the process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fitness {
    lowest_free: i32,
    threads: u64,
    signals: [Option<String>; 3],
}

impl Fitness {
    /// As it is now; `None` where it is in no state for another call.
    pub(crate) fn now(lane: &Lane) -> Option<Self> {
        if loader::stop_alarm() || has_children() {
            return None;
        }
        let lowest_free = lane.socket().borrow().lowest_free()?;
        let status = fs::read_to_string("/proc/thread-self/status").ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let threads = field("Threads:")?.parse().ok()?;
        Some(Self { lowest_free, threads, signals: SIGNALS.map(|name| field(name).map(str::to_owned)) })
    }

    /// Whether it is still good for a call, after it was `before`.
    pub(crate) fn is_like(&self, before: &Self) -> bool {
        self.signals == before.signals
            && self.threads <= before.threads.saturating_add(THREADS)
            && self.lowest_free <= before.lowest_free.saturating_add(DESCRIPTORS)
    }
}

/// As a subreaper this process is the parent of whatever was left, at any depth. ECHILD is the only proof of none.
fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::All, options) {
            // One that has ended by itself is no child any more.
            Ok(Some(_)) => {}
            Err(rustix::io::Errno::CHILD) => return false,
            Ok(None) | Err(_) => return true,
        }
    }
}
