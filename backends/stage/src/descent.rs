//! The end of what came of the program: everything is stopped first and killed then, so that nothing can fork its way
//! out between the two.
//!
//! A fork(2) with a signal pending does not happen, so a process that was sent SIGSTOP has no new children; a round that
//! finds nobody new has stopped all. What they orphan comes to the stage, which is their subreaper or process 1.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use crate::plan::Role;
use crate::{processes, sys};

/// How long a process that is ending anyway is not taken for a leftover.
const ENDING: Duration = Duration::from_millis(5);

/// Stops all and answers who is left, in order; nobody is known without `/proc`. `None` where there is nobody for sure.
pub(crate) fn leftovers(role: Role) -> Option<Vec<i32>> {
    if !reap() {
        return None;
    }
    let list = || {
        reap();
        match role {
            Role::Init => processes::others(),
            Role::Supervisor => processes::descendants(),
        }
        .unwrap_or_default()
    };
    match role {
        Role::Init => stop_namespace(),
        Role::Supervisor => drop(stop()),
    }
    let left = list();
    if left.is_empty() {
        return Some(left);
    }
    sleep(ENDING);
    Some(list())
}

/// For a supervisor: returns when no descendant is left. Process 1 need only exit.
pub(crate) fn end() {
    while reap() {
        for pid in stop() {
            let _ = sys::kill(pid, libc::SIGKILL);
        }
        sleep(Duration::from_millis(1));
    }
}

/// kill(2) with -1 is everybody but the caller, and outside a namespace of one's own that is the host.
fn stop_namespace() {
    if std::process::id() == 1 {
        let _ = sys::kill(-1, libc::SIGSTOP);
    }
}

fn stop() -> BTreeSet<i32> {
    let mut stopped = BTreeSet::new();
    loop {
        let known = stopped.len();
        let found = processes::descent(|pid| {
            if stopped.insert(pid) {
                let _ = sys::kill(pid, libc::SIGSTOP);
            }
        });
        if stopped.len() == known {
            return found.unwrap_or_default();
        }
    }
}

/// Whether children are left that have not ended.
///
/// No child at all (ECHILD) proves that there is no descendant, without a look at `/proc`: in one step the kernel makes a
/// process a zombie and hands its children on, to a thread of its own, to the nearest subreaper above it, or to process 1
/// of a namespace inside. So above whoever lives stands a child of the stage's, which wait4(2) with `__WALL` counts,
/// traced or not, and only such a one could start another. Who entered the namespace from outside is nobody's leftover.
fn reap() -> bool {
    loop {
        match sys::reap() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
