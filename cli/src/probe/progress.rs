//! One line on a terminal while attempts are made, gone when they are through.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};

use confine_core::BackendId;

/// Back to the line's start, and nothing on it.
const CLEAR: &str = "\r\x1b[K";

/// What is being tried.
pub(super) struct Progress {
    under_way: Mutex<BTreeSet<BackendId>>,
    shown: bool,
}

impl Progress {
    /// On stderr, where that is a terminal.
    pub(super) fn begin(backends: &[BackendId]) -> Self {
        let progress = Self {
            under_way: Mutex::new(backends.iter().cloned().collect()),
            shown: std::io::stderr().is_terminal(),
        };
        progress.show(&progress.under_way.lock().unwrap_or_else(PoisonError::into_inner));
        progress
    }

    /// One backend is through.
    pub(super) fn done(&self, id: &BackendId) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.remove(id);
        self.show(&under_way);
    }

    fn show(&self, under_way: &BTreeSet<BackendId>) {
        if !self.shown || under_way.is_empty() {
            return;
        }
        let names: Vec<&str> = under_way.iter().map(BackendId::as_str).collect();
        self.write(&format!("{CLEAR}trying {} …", names.join(" and ")));
    }

    /// Nothing is to be done where stderr is gone.
    fn write(&self, text: &str) {
        if self.shown {
            let _ = std::io::stderr().lock().write_all(text.as_bytes());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.write(CLEAR);
    }
}
