//! The paths of gitlinks in an index, and nothing else of it (gitformat-index(5), versions 2 to 4).
//!
//! A gitlink is an entry for another repository: `git status` at the top runs git in it, with its settings. Whoever
//! writes the index may have written anything, so the aim is to see every gitlink that git sees. What git would refuse
//! ends the list: git does nothing with such an index. Checksums are not looked at, as git looks at none.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

/// The longest index that is read, in bytes: about 600,000 files.
pub const BOUND: u64 = 64 * 1024 * 1024;

const SIGNATURE: &[u8] = b"DIRC";
/// Where an entry's mode is.
const MODE: usize = 24;
/// Where an entry's object name is, whose length the index does not tell: SHA-1 or SHA-256.
const OBJECT: usize = 40;
const OBJECTS: &[usize] = &[20, 32];
/// An entry's type and permissions (S_IFGITLINK).
const GITLINK: u32 = 0o160_000;
const TYPE: u32 = 0o170_000;
/// In an entry's flags: two more bytes of them follow; and the length of its path, at most.
const EXTENDED: u16 = 0x4000;
const LENGTH: u16 = 0x0fff;

/// What an index says about gitlinks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gitlinks {
    /// Relative to the top of the working tree, as bytes. Nothing says that these are decent paths.
    pub paths: BTreeSet<Vec<u8>>,
    /// The base of a split index, by what its name may be: `sharedindex.` and one of these, beside it. What is in the
    /// base counts as well.
    pub bases: BTreeSet<String>,
    /// Whether gitlinks take the place of entries of the base, so that any path of it may be one.
    pub replaces: bool,
}

/// The decent paths of all gitlinks of a git directory, whose file of a name `read` reads: of its index, and of the base
/// where that is split.
///
/// # Errors
/// As `read`, but for files that do not exist.
pub fn of(read: impl Fn(&str) -> io::Result<Vec<u8>>) -> io::Result<BTreeSet<PathBuf>> {
    let read = |name: &str| match read(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other,
    };
    let mut links = gitlinks(&read("index")?);
    for base in std::mem::take(&mut links.bases) {
        let base = read(&format!("sharedindex.{base}"))?;
        links.paths.extend(if links.replaces { paths(&base) } else { gitlinks(&base).paths });
    }
    let paths = links.paths.into_iter().map(|path| PathBuf::from(OsString::from_vec(path)));
    Ok(paths.filter(|path| is_decent(path)).collect())
}

/// What git takes (verify_path of its read-cache.c): names only, and no `.git`.
fn is_decent(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().contains(&0)
        && path.components().all(|name| matches!(name, Component::Normal(name) if name != ".git"))
}

/// What `index` says. Never fails: what is no index says nothing.
pub fn gitlinks(index: &[u8]) -> Gitlinks {
    let mut links = Gitlinks::default();
    OBJECTS.iter().for_each(|length| read(index, *length, Entries::Gitlinks, &mut links));
    links
}

/// Every path in `index`: of the base of a split one, where any may be a gitlink.
pub fn paths(index: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut links = Gitlinks::default();
    OBJECTS.iter().for_each(|length| read(index, *length, Entries::All, &mut links));
    links.paths
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Entries {
    Gitlinks,
    All,
}

/// With object names of `length` bytes. With the wrong length an entry is taken for another, which adds paths at worst.
fn read(index: &[u8], length: usize, wanted: Entries, links: &mut Gitlinks) {
    let Some((version, count, mut rest)) = header(index) else { return };
    let mut path = Vec::new();
    for _ in 0..count {
        let Some((mode, after)) = entry(rest, version, length, &mut path) else { return };
        rest = after;
        if mode & TYPE == GITLINK && path.is_empty() {
            links.replaces = true;
        } else if (wanted == Entries::All || mode & TYPE == GITLINK) && !path.is_empty() {
            links.paths.insert(path.clone());
        }
    }
    links.bases.extend(base(rest, length));
}

fn header(index: &[u8]) -> Option<(u32, u32, &[u8])> {
    let (version, rest) = number(index.strip_prefix(SIGNATURE)?)?;
    let (count, rest) = number(rest)?;
    (2..=4).contains(&version).then_some((version, count, rest))
}

/// One entry: its mode, its path in the place of the one before, and what follows it.
fn entry<'a>(entry: &'a [u8], version: u32, length: usize, path: &mut Vec<u8>) -> Option<(u32, &'a [u8])> {
    let (mode, _) = number(entry.get(MODE..)?)?;
    let flags = entry.get(OBJECT + length..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))?;
    let head = OBJECT + length + if flags & EXTENDED == 0 { 2 } else { 4 };
    let name = entry.get(head..)?;
    if version == 4 {
        let (strip, name) = varint(name)?;
        path.truncate(path.len().checked_sub(strip)?);
        let end = name.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(name.get(..end)?);
        return Some((mode, name.get(end + 1..)?));
    }
    let end = match flags & LENGTH {
        LENGTH => name.iter().position(|byte| *byte == 0)?,
        short => usize::from(short),
    };
    path.clear();
    path.extend_from_slice(name.get(..end)?);
    // Padded with 1 to 8 NUL to a multiple of eight bytes.
    Some((mode, entry.get((head + end + 8) & !7..)?))
}

/// The number of bytes to take off the path before, in git's own encoding of numbers.
fn varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, mut rest) = bytes.split_first()?;
    let mut value = usize::from(first & 0x7f);
    let mut more = first & 0x80 != 0;
    while more {
        let (byte, after) = rest.split_first()?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        more = byte & 0x80 != 0;
        rest = after;
    }
    Some((value, rest))
}

/// The base that the extension `link` names, as git spells the file's name.
fn base(mut extensions: &[u8], length: usize) -> Option<String> {
    while let Some((signature, rest)) = extensions.split_first_chunk::<4>() {
        let (size, rest) = number(rest)?;
        let (body, after) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        if signature == b"link" {
            let object = body.get(..length)?;
            let is_none = object.iter().all(|byte| *byte == 0);
            return (!is_none).then(|| object.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        extensions = after;
    }
    None
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

#[cfg(test)]
pub(super) mod tests;
