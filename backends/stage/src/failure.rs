//! Why the stage failed before the program started.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::errno::Errno;

use crate::status::{Record, Step};

/// A step that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    /// 0 where the system has no part in it.
    pub(crate) errno: i32,
    /// A path, or a few words.
    pub(crate) detail: Vec<u8>,
}

impl Failure {
    pub(crate) fn words(step: Step, words: &str) -> Self {
        Self { step, errno: 0, detail: words.into() }
    }

    pub(crate) fn at(step: Step, path: impl AsRef<Path>, errno: Errno) -> Self {
        let detail = path.as_ref().as_os_str().as_bytes().to_vec();
        Self { step, errno: number(errno), detail }
    }

    /// For `map_err`: what was tried, in a few words.
    pub(crate) fn of(step: Step, words: &str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self { step, errno: number(errno), detail: words.into() }
    }

    pub(crate) fn record(&self) -> Record {
        Record::Failed { step: self.step, errno: self.errno, detail: self.detail.clone() }
    }
}

/// nix numbers its errors as the system does.
#[expect(clippy::as_conversions, reason = "a fieldless enum with the system's own discriminants")]
pub(crate) const fn number(errno: Errno) -> i32 {
    errno as i32
}
