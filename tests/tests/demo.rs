//! The demo shows what it says it shows, and notices when it does not.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use confine_tests::{Finished, installation, needs, scene::Temporary};

fn demo(confine: &Path) -> Finished {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../demo/run"));
    command.arg(confine).env("LC_ALL", "C");
    Finished::of(command, &[])
}

#[test]
fn every_attempt_of_the_demo_fails() {
    needs!(bwrap, landlock = 3, git, cc);
    let shown = demo(&installation::confine()).exits(0);
    let table = shown.stdout.lines().filter(|line| line.contains("succeeds   fails"));
    assert_eq!(table.count(), 5, "{shown}");
}

#[test]
fn a_confine_that_confines_nothing_fails_the_demo() {
    needs!(bwrap, git, cc);
    let place = Temporary::new("/var/tmp/confine-fake-");
    let fake = place.path().join("confine");
    std::fs::write(&fake, FAKE).expect("a fresh directory is writable");
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    demo(&fake).exits(1).says("an attempt succeeded inside");
}

/// Runs whatever follows `--`.
const FAKE: &str =
    "#!/bin/sh\nwhile [ $# -gt 0 ] && [ \"$1\" != -- ]; do shift; done\nshift && exec \"$@\"\n";
