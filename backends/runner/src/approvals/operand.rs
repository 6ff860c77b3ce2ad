//! What a command would run and read, by content: the program as the sandbox would find it, and the files that its words
//! name.
//!
//! Nothing here blocks on what it looks at: a name is first opened as a place only (`O_PATH`), and read only where that is
//! a regular file, without waiting for it. It says what a file holds now. A file that the command could write, or anybody
//! else, may hold something else a moment later: what is approved is measured again right before the start.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use confine_core::approval::{Digest, Measured};
use confine_core::{AbsPath, Policy};
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::{AccessFlags, faccessat};

use crate::digest;

/// How much is read of a program, and of all files that the words name together. What is beyond that is known by which file
/// it is, and by when it last changed.
const LARGEST: u64 = 64 * 1024 * 1024;
/// What the stage searches where the program's environment has no `PATH`, as execvp(3).
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// What may stand between two names in one word.
const SEPARATORS: &[u8] = b" \t\r\n;|&<>()[]{}$`'\"!=@,:\\";
/// How far into a cluster of short options a name may begin, as in `tar -xzfNAME`.
const LETTERS: usize = 5;

/// The program that the sandbox would run for the word `program`: with its own `PATH`, and only what is in its view.
/// `None` where it would find none.
pub(super) fn program(
    program: &OsStr,
    path: Option<&OsStr>,
    cwd: &AbsPath,
    policy: &Policy,
) -> Option<Measured> {
    measure(&executable(program, path, cwd, policy)?, &mut { LARGEST })
}

fn executable(program: &OsStr, path: Option<&OsStr>, cwd: &AbsPath, policy: &Policy) -> Option<AbsPath> {
    candidates(program, path).into_iter().find_map(|candidate| {
        let resolved = std::fs::canonicalize(cwd.as_path().join(candidate)).ok()?;
        let resolved = AbsPath::new(resolved).ok()?;
        let in_view = policy.fs.access_at(&resolved).shows_host();
        let may = faccessat(AT_FDCWD, resolved.as_path(), AccessFlags::X_OK, AtFlags::AT_EACCESS);
        (in_view && may.is_ok() && resolved.as_path().is_file()).then_some(resolved)
    })
}

/// Every regular file that one of `words`, or a part of it, names, and every executable that it would find on `path`; each
/// once. Too many rather than too few: what is measured in vain costs nothing but the reading.
pub(super) fn operands(
    words: &[OsString],
    path: Option<&OsStr>,
    cwd: &AbsPath,
    policy: &Policy,
) -> (Vec<Measured>, Vec<Measured>) {
    let (mut files, mut commands, mut left) = (Vec::new(), Vec::new(), LARGEST);
    for name in words.iter().flat_map(|word| names(word)).collect::<BTreeSet<_>>() {
        add(&mut files, named(name, cwd), &mut left);
        if !name.as_bytes().contains(&b'/') {
            add(&mut commands, executable(name, path, cwd, policy), &mut left);
        }
    }
    (files, commands)
}

/// What is left to read in `file` after `offset`; `None` where it is no regular file. It blocks on nothing, and moves
/// nobody's place in the file.
pub(super) fn input(file: &File, offset: u64) -> Option<Digest> {
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    let digest = left(file, offset, &metadata);
    Some(digest.unwrap_or_else(|_| Digest::of(format!("{}:{offset}", stamp(&metadata)).as_bytes())))
}

/// # Errors
/// `FileTooLarge`, and as pread(2).
fn left(file: &File, offset: u64, metadata: &Metadata) -> io::Result<Digest> {
    if metadata.len().saturating_sub(offset) > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut rest = Rest { file, offset };
    let digest = digest::of_file(Read::by_ref(&mut rest).take(LARGEST))?;
    match rest.read(&mut [0])? {
        0 => Digest::try_from(format!("sha256:{digest}")).map_err(io::Error::other),
        _ => Err(io::ErrorKind::FileTooLarge.into()),
    }
}

/// A file that others read too, from a place of its own.
struct Rest<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for Rest<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset = self.offset.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}

/// Measures what is not yet among them.
fn add(all: &mut Vec<Measured>, found: Option<AbsPath>, left: &mut u64) {
    let fresh = found.filter(|path| !all.iter().any(|one| one.path == *path));
    all.extend(fresh.and_then(|path| measure(&path, left)));
}

fn named(name: &OsStr, cwd: &AbsPath) -> Option<AbsPath> {
    AbsPath::new(std::fs::canonicalize(cwd.as_path().join(name)).ok()?).ok()
}

fn candidates(program: &OsStr, path: Option<&OsStr>) -> Vec<PathBuf> {
    if program.is_empty() {
        return Vec::new();
    }
    if program.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(program)];
    }
    let directories = path.unwrap_or(OsStr::new(DEFAULT_PATH)).as_bytes().split(|byte| *byte == b':');
    directories.map(|directory| Path::new(OsStr::from_bytes(directory)).join(program)).collect()
}

/// The names that a word may hold: itself, the parts between what separates words, values and commands (`if=NAME`,
/// `@NAME`, a text for a shell), and what follows the letters of a short option (`-fNAME`).
fn names(word: &OsStr) -> impl Iterator<Item = &OsStr> {
    let bytes = word.as_bytes();
    let value = bytes.iter().position(|byte| *byte == b'=').and_then(|at| bytes.get(at + 1..));
    let parts = bytes.split(|byte| SEPARATORS.contains(byte));
    let whole = [Some(bytes), value].into_iter().flatten();
    let tails = |name| [Some(name)].into_iter().chain((2..=LETTERS).map(move |at| tail(name, at))).flatten();
    whole.chain(parts).flat_map(tails).filter(|name| !name.is_empty()).map(OsStr::from_bytes)
}

/// The rest of a cluster of short options.
fn tail(name: &[u8], at: usize) -> Option<&[u8]> {
    if name.starts_with(b"-") && !name.starts_with(b"--") { name.get(at..) } else { None }
}

/// `None` for what is no regular file. At most `left` bytes are read, and taken from it.
fn measure(path: &AbsPath, left: &mut u64) -> Option<Measured> {
    let place = open(path.as_path(), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).ok()?;
    let file = File::from(place);
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    let content = content(&file.into(), &metadata, left);
    let content = content.unwrap_or_else(|_| Digest::of(stamp(&metadata).as_bytes()));
    Some(Measured { path: path.clone(), content: Some(content) })
}

/// # Errors
/// `FileTooLarge`, `WouldBlock` for a file of the kernel's that has nothing to say yet, and as open(2) and read(2).
fn content(place: &OwnedFd, metadata: &Metadata, left: &mut u64) -> io::Result<Digest> {
    if metadata.len() > *left {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let itself = format!("/proc/self/fd/{}", place.as_raw_fd());
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let mut file = File::from(open(itself.as_str(), flags, Mode::empty())?);
    let mut part = Read::by_ref(&mut file).take(*left);
    let digest = digest::of_file(&mut part);
    *left = part.limit();
    let digest = digest?;
    match file.read(&mut [0])? {
        0 => Digest::try_from(format!("sha256:{digest}")).map_err(io::Error::other),
        // It grew, or it is one of the kernel's, which tell no length.
        _ => Err(io::ErrorKind::FileTooLarge.into()),
    }
}

/// What changes whenever the file is written: which it is, its length, and when it last changed.
fn stamp(metadata: &Metadata) -> String {
    let numbers = [
        i64::try_from(metadata.dev()).unwrap_or(-1),
        i64::try_from(metadata.ino()).unwrap_or(-1),
        i64::try_from(metadata.len()).unwrap_or(-1),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ];
    format!("stamp:{}", numbers.map(|number| number.to_string()).join(":"))
}

#[cfg(test)]
mod tests;
