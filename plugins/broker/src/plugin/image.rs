//! A plugin's file as it is used: a sealed copy in memory, which is what is hashed, read and loaded.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use confine_core::AbsPath;
use confine_runner::sealed;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

/// The longest plugin, in bytes.
pub const LONGEST: u64 = 64 * 1024 * 1024;

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It cannot be opened or read.
    #[error("`{path}` cannot be read: {source}")]
    Unreadable {
        /// Which file.
        path: AbsPath,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A link, a directory, a device, a pipe.
    #[error("`{0}` is not a regular file")]
    Special(AbsPath),
    /// It is too long.
    #[error("`{0}` is longer than {LONGEST} bytes")]
    TooLong(AbsPath),
}

/// A copy that nobody can change.
#[derive(Debug)]
pub(crate) struct Image {
    /// The sealed copy.
    pub(crate) memory: OwnedFd,
    /// What is in it.
    pub(crate) bytes: Vec<u8>,
}

impl Image {
    /// Of a file that is opened once, without following a link at its end and without waiting. Whatever happens to the path
    /// after that does not matter.
    ///
    /// # Errors
    /// See [`ImageError`].
    pub(crate) fn of(path: &AbsPath) -> Result<Self, ImageError> {
        let unreadable = |source| ImageError::Unreadable { path: path.clone(), source };
        let flags =
            OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let file = match open(path.as_path(), flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(nix::errno::Errno::ELOOP | nix::errno::Errno::ENXIO) => {
                return Err(ImageError::Special(path.clone()));
            }
            Err(errno) => return Err(unreadable(errno.into())),
        };
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(ImageError::Special(path.clone()));
        }
        let mut read = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut read).map_err(unreadable)?;
        if u64::try_from(read.len()).is_ok_and(|length| length > LONGEST) {
            return Err(ImageError::TooLong(path.clone()));
        }
        let memory = File::from(sealed::data(&read).map_err(unreadable)?);
        // What is judged is what is in the copy, not what was meant to be.
        memory.read_exact_at(&mut read, 0).map_err(unreadable)?;
        Ok(Self { memory: memory.into(), bytes: read })
    }
}
