//! A bwrap that is not one: what an odd host would answer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::scene::Temporary;
use crate::user::PATH;

/// A program called `bwrap` in a directory of root's, which confine trusts.
pub struct Stub(Temporary);

impl Stub {
    /// One that answers questions like the real one, and otherwise says `line` on stderr and exits 1.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn failing(line: &str) -> Self {
        Self::script(&format!(
            "for word; do case $word in --version|--help) PATH={PATH} exec bwrap \"$word\";; esac; done\n\
             echo '{line}' >&2\nexit 1\n"
        ))
    }

    /// One that runs `script`.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn script(script: &str) -> Self {
        let place = Temporary::new("/opt/confine-stub-");
        let program = place.path().join("bwrap");
        fs::write(&program, format!("#!/bin/sh\n{script}")).expect("a stub");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
        Self(place)
    }

    /// A PATH that finds it first.
    pub fn path(&self) -> String {
        format!("{}:{PATH}", self.0.path().display())
    }
}
