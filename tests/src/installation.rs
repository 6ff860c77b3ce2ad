//! Where the programs under test are.

use std::env;
use std::path::PathBuf;

/// The directory that holds `confine`, `confine-stage` and `confine-plugin-host`: `CONFINE_TEST_BIN`, or the target directory of this test.
///
/// # Panics
/// When one of them is not there: `make test` builds them, and puts them where every user can reach them.
pub fn directory() -> PathBuf {
    let directory = match env::var_os("CONFINE_TEST_BIN") {
        Some(directory) => PathBuf::from(directory),
        None => target(),
    };
    for name in ["confine", "confine-stage", "confine-plugin-host"] {
        let program = directory.join(name);
        assert!(
            program.is_file(),
            "`{}` is missing; run `make test`, or `cargo build` first",
            program.display()
        );
    }
    directory
}

/// The `confine` under test.
pub fn confine() -> PathBuf {
    directory().join("confine")
}

/// The stage under test.
pub fn stage() -> PathBuf {
    directory().join("confine-stage")
}

/// What runs egress plugins, under test.
pub fn plugin_host() -> PathBuf {
    directory().join("confine-plugin-host")
}

/// Where cargo puts what it builds.
///
/// # Panics
/// Outside of a test.
pub fn target() -> PathBuf {
    let test = env::current_exe().expect("a test has a file");
    test.parent().and_then(|deps| deps.parent()).expect("tests are in target/PROFILE/deps").to_owned()
}
