//! Which file a command names, in the view and under the domain: execve(2)'s errors alone do not tell found from not
//! found (a missing interpreter is ENOENT too, an unreadable directory on PATH turns "not found" into EACCES).
//!
//! Runs inside the Landlock domain and before the filter. stat(2) and access(2) are not governed by Landlock and
//! open(2) is, so that a file which ordinary permissions let one read and the domain does not is outside the view: not
//! found, with EACCES. A file that may be executed but not read (mode 0111) is left for execve(2) to judge.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::{AccessFlags, access};

use crate::status::Record;

/// What execvp(3) searches without PATH.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// How many links the kernel follows.
const MAX_LINKS: usize = 40;

/// Why there is nothing to execute, in the order in which a search prefers to tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// Nothing by that name, or no way to look (a search goes on and says so no more).
    Absent(i32),
    /// A link that leads nowhere in the view.
    Dangling,
    /// The domain denies it.
    OutOfView,
    /// Not a regular file, or nobody may execute it.
    Forbidden,
}

/// Nothing to execute.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    reason: Reason,
    program: PathBuf,
}

impl Miss {
    pub(crate) fn record(&self) -> Record {
        let (found, errno) = match self.reason {
            Reason::Absent(errno) => (false, errno),
            Reason::Dangling => (false, libc::ENOENT),
            Reason::OutOfView => (false, libc::EACCES),
            Reason::Forbidden => (true, libc::EACCES),
        };
        Record::ExecFailed { found, errno, program: self.program.as_os_str().as_bytes().to_vec() }
    }
}

/// The file to execute: `program` itself where it has a slash, else the first executable one on `path`.
pub(crate) fn find(program: &OsStr, path: Option<&OsStr>) -> Result<CString, Miss> {
    let found = search(program, path)?;
    let bytes = found.into_os_string().into_vec();
    CString::new(bytes).map_err(|_| Miss { reason: Reason::Absent(libc::ENOENT), program: program.into() })
}

fn search(program: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, Miss> {
    if program.as_bytes().contains(&b'/') {
        return examine(Path::new(program));
    }
    let mut best = Miss { reason: Reason::Absent(libc::ENOENT), program: program.into() };
    if program.is_empty() {
        return Err(best);
    }
    for directory in path.unwrap_or(OsStr::new(DEFAULT_PATH)).as_bytes().split(|byte| *byte == b':') {
        let directory = if directory.is_empty() { b"." } else { directory };
        match examine(&Path::new(OsStr::from_bytes(directory)).join(program)) {
            Ok(found) => return Ok(found),
            Err(miss) if matches!(miss.reason, Reason::Absent(_)) || miss.program.is_dir() => {}
            Err(miss) if miss.reason > best.reason => best = miss,
            Err(_) => {}
        }
    }
    Err(best)
}

fn examine(path: &Path) -> Result<PathBuf, Miss> {
    let miss = |reason, program| Err(Miss { reason, program });
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::ENOENT);
            let dangling = errno == libc::ENOENT && path.is_symlink();
            return miss(if dangling { Reason::Dangling } else { Reason::Absent(errno) }, resolve(path));
        }
    };
    if !metadata.is_file() || access(path, AccessFlags::X_OK).is_err() {
        return miss(Reason::Forbidden, path.into());
    }
    if is_out_of_view(path) {
        return miss(Reason::OutOfView, resolve(path));
    }
    Ok(path.into())
}

/// Whether permissions would let the file be read, and yet it cannot be opened.
fn is_out_of_view(path: &Path) -> bool {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    access(path, AccessFlags::R_OK).is_ok()
        && open(path, flags, Mode::empty()).is_err_and(|errno| errno == Errno::EACCES)
}

/// The path with its links followed as far as they lead, also where they lead nowhere.
fn resolve(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    let mut rest: Vec<OsString> = components(path);
    let mut links = 0;
    while let Some(component) = rest.pop() {
        let next = resolved.join(&component);
        match next.read_link() {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                rest.extend(components(&target));
            }
            _ if component == ".." => drop(resolved.pop()),
            _ => resolved = next,
        }
    }
    resolved
}

/// The last one first; an absolute path's root is one of them, and joining it starts anew.
fn components(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|component| component.as_os_str().to_owned()).collect()
}
