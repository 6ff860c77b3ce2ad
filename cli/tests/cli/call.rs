//! Calls of the built binary, with everything that a caller's environment could change taken away.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

/// A call of `confine`, in `directory`, with a home of its own elsewhere: a workspace may not be above it.
pub(crate) fn confine(directory: &Path) -> Command {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("home");
    std::fs::create_dir_all(&home).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_confine"));
    command
        .current_dir(directory)
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C");
    command
}

/// What a call with these words answers, in a throwaway directory.
pub(crate) fn answer(words: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    confine(directory.path()).args(words).output().unwrap()
}

/// As text.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Compares with a file kept in the repository; `CONFINE_GOLDEN=write` writes it instead.
pub(crate) fn matches_file(path: impl AsRef<Path>, actual: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("CONFINE_GOLDEN").as_deref() == Some(OsStr::new("write")) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
    }
    let kept = std::fs::read(&path).unwrap_or_default();
    assert!(
        kept == actual,
        "{} is not what the code says; look at the difference, then run with CONFINE_GOLDEN=write",
        path.display()
    );
}
