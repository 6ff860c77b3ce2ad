//! Small C programs that a test compiles: what a shell cannot do.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::need::works;
use crate::scene::Temporary;

/// Compiles `tests/programs/NAME.c` to `directory/NAME`.
///
/// # Panics
/// When the compiler refuses it.
pub fn compile(name: &str, directory: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name).with_extension("c");
    let program = directory.join(name);
    let output = Command::new("cc").args(["-O1", "-Wall", "-o"]).arg(&program).arg(&source).output();
    let output = output.expect("`cc` starts");
    assert!(output.status.success(), "cannot compile {name}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Whether `tests/programs/NAME.c` compiles and exits 0 on this host.
pub(crate) fn runs(name: &str) -> Result<u32, String> {
    if !works(Path::new("/usr/bin/cc"), &["--version"]) {
        return Err("`cc` is not installed".into());
    }
    let place = Temporary::new("/tmp/confine-need-");
    if works(&compile(name, place.path()), &[]) { Ok(0) } else { Err(format!("`{name}` does not work here")) }
}
