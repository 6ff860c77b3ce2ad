//! A program as it is run: a sealed copy in memory, and the digest of that copy.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use confine_core::AbsPath;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

use super::error::ForeignError;
use crate::lock::Digest;
use crate::{digest, find, sealed};

/// The longest program, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;
/// How much of a script's first line the kernel looks at, in bytes.
const LINE: usize = 256;

/// A sealed copy.
#[derive(Debug)]
pub(crate) struct Image {
    /// Nobody can change it any more; at its start, and executable by `/proc/self/fd/N`.
    pub(crate) program: OwnedFd,
    /// Of its content.
    pub(crate) sha256: Digest,
}

impl Image {
    /// Of a file that only root and the user can replace. It is opened once; whatever happens to the path after that
    /// does not matter.
    ///
    /// # Errors
    /// Where it is gone, leads elsewhere, is not to be trusted, or cannot be copied.
    pub(crate) fn of(path: &AbsPath) -> Result<Self, ForeignError> {
        let found = find::tool(path.as_path());
        let tool = found.ok_or_else(|| ForeignError::Gone(path.as_path().as_os_str().into()))?;
        let to = tool.map_err(ForeignError::Untrusted)?.path;
        if to != *path {
            return Err(ForeignError::Moved { path: path.clone(), to });
        }
        let unreadable = |source| ForeignError::Unreadable { path: path.clone(), source };
        let file = opened(path).map_err(unreadable)?;
        find::owned(path, &file.metadata().map_err(unreadable)?).map_err(ForeignError::Untrusted)?;
        let copy = File::from(sealed::copy(file.take(LONGEST + 1)).map_err(unreadable)?);
        if copy.metadata().map_err(unreadable)?.len() > LONGEST {
            return Err(ForeignError::TooLarge { path: path.clone(), bound: LONGEST });
        }
        if is_interpreted_by_chance(&copy).map_err(unreadable)? {
            return Err(ForeignError::Interpreter { path: path.clone() });
        }
        let sha256 = digest::of_file(Whole { file: &copy, offset: 0 }).map_err(unreadable)?;
        let sha256 = Digest::new(sha256).map_err(|error| unreadable(io::Error::other(error)))?;
        Ok(Self { program: copy.into(), sha256 })
    }
}

/// Whether it is a script whose interpreter is found from the directory that it starts in (execve(2)).
fn is_interpreted_by_chance(copy: &File) -> io::Result<bool> {
    let mut line = [0; LINE];
    let count = copy.read_at(&mut line, 0)?;
    let script = line.get(..count).and_then(|line| line.strip_prefix(b"#!"));
    let interpreter = script.map(|line| line.iter().find(|byte| !matches!(byte, b' ' | b'\t')));
    Ok(interpreter.is_some_and(|first| first != Some(&b'/')))
}

fn opened(path: &AbsPath) -> io::Result<File> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    Ok(File::from(open(path.as_path(), flags, Mode::empty())?))
}

/// Read without moving the file's offset.
struct Whole<'a> {
    file: &'a File,
    offset: u64,
}

impl io::Read for Whole<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset = self.offset.saturating_add(u64::try_from(count).unwrap_or(0));
        Ok(count)
    }
}
