//! The end of a supervisor's descent: everything that came of it is stopped first and killed then, so that nothing can
//! fork its way out between the two.
//!
//! A fork(2) with a signal pending does not happen, so a process that was sent SIGSTOP has no new children; a round that
//! finds nobody new has stopped all. What they orphan comes to the supervisor, which is their subreaper.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use crate::{processes, sys};

/// Returns when no descendant is left.
pub(crate) fn end() {
    loop {
        for pid in stop() {
            let _ = sys::kill(pid, libc::SIGKILL);
        }
        if !reap() {
            return;
        }
        sleep(Duration::from_millis(1));
    }
}

fn stop() -> BTreeSet<i32> {
    let mut stopped = BTreeSet::new();
    loop {
        let found = processes::descent().unwrap_or_default();
        let new: Vec<_> = found.difference(&stopped).copied().collect();
        if new.is_empty() {
            return found;
        }
        for pid in new {
            let _ = sys::kill(pid, libc::SIGSTOP);
            stopped.insert(pid);
        }
    }
}

/// Whether children are left that have not ended.
fn reap() -> bool {
    loop {
        match sys::reap() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
