//! The state of the world after a run: files and processes.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The content of a file; `None` where there is none.
///
/// # Panics
/// When it is there and cannot be read.
pub fn content(path: &Path) -> Option<String> {
    match fs::read(path) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("cannot read `{}`: {error}", path.display()),
    }
}

/// Whether something is at `path`, a dangling link included.
pub fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The names in a directory, sorted.
///
/// # Panics
/// When it cannot be listed.
pub fn names(directory: &Path) -> Vec<String> {
    let listing = fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("cannot list `{}`: {error}", directory.display()));
    let mut names: Vec<_> =
        listing.map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A number of seconds, about a day, that no other process has in its argv: `sleep MARKER` is found again by it.
pub fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("98765.{}{count:03}", std::process::id())
}

/// The processes with `marker` in their argv, as `PID ARGV`.
pub fn living(marker: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let lines = processes.filter_map(|process| {
        let pid = process.file_name().to_str()?.parse::<u32>().ok()?;
        // A process that has just ended has no argv any more, and neither has a zombie.
        let argv = fs::read(process.path().join("cmdline")).ok()?;
        let argv = String::from_utf8_lossy(&argv).replace('\0', " ");
        argv.contains(marker).then(|| format!("{pid} {argv}"))
    });
    lines.collect()
}

/// Fails unless every process with `marker` is gone within `patience`.
///
/// # Panics
/// With the processes that are left.
#[track_caller]
pub fn assert_gone(marker: &str, patience: Duration) {
    let gone = within(patience, || living(marker).is_empty());
    assert!(gone, "still alive after {patience:?}:\n{}", living(marker).join("\n"));
}

/// Waits for something to become true.
pub fn within(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
