//! Which path a program may have meant by what it printed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::{Incident, Permissions, Sandbox};
use crate::AbsPath;
use crate::denial::Attempt;

/// How many directories of a command are looked at.
const DIRECTORIES: usize = 8;
/// As many links as path_resolution(7) follows.
const LINKS: usize = 40;
/// So many names are looked up on the way, links included: a path is somebody else's word, and must not cost what it likes.
const LOOKS: usize = 128;

/// Where a relative path may start, the likeliest first: where the program did, and where its command goes.
pub(super) fn directories(incident: &Incident<'_>) -> Vec<PathBuf> {
    let Some(cwd) = incident.cwd else { return Vec::new() };
    let mut directories = vec![cwd.as_path().to_owned()];
    for word in named(incident) {
        let directory = cwd.as_path().join(OsStr::from_bytes(word));
        // A shell's `cd` takes `..` from the words, everything else from the place.
        let logical = clean(&directory).map(|path| path.as_path().to_owned());
        for directory in [Some(directory), logical].into_iter().flatten() {
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
    }
    directories
}

/// What follows a `cd`, `-C` or `pushd` in the command.
fn named<'a>(incident: &Incident<'a>) -> impl Iterator<Item = &'a [u8]> {
    let separates = |byte: &u8| byte.is_ascii_whitespace() || b";&|()'\"".contains(byte);
    let words = incident.command.iter().flat_map(move |word| word.as_os_str().as_bytes().split(separates));
    let mut words = words.filter(|word| !word.is_empty());
    let mut after = false;
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            let found = std::mem::replace(&mut after, matches!(word, b"cd" | b"-C" | b"pushd"));
            if found {
                return Some(word);
            }
        }
    })
    .take(DIRECTORIES)
}

/// Whether a link in the last place is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// It is.
    Followed,
    /// It is meant itself, as what is removed, renamed or made is.
    Itself,
}

impl Last {
    /// As the system calls of an attempt have it.
    pub const fn of(attempt: Attempt) -> Self {
        match attempt {
            Attempt::Remove
            | Attempt::Rename
            | Attempt::Link
            | Attempt::Make
            | Attempt::MakeDirectory
            | Attempt::Bind => Self::Itself,
            _ => Self::Followed,
        }
    }
}

/// Where an absolute `path` leads, component by component as path_resolution(7) says: `..` is what lies above the place
/// that was reached, whatever name led there. Links are those that the policy crossed, and the host's where the program
/// sees them. `None` for a relative path, for links that lead in a circle, and for more names than anybody has.
pub fn resolve(
    path: &Path,
    last: Last,
    sandbox: &Sandbox<'_>,
    permissions: &dyn Permissions,
) -> Option<AbsPath> {
    let (mut left, mut looks) = (LINKS, LOOKS);
    let mut place = path.is_absolute().then(AbsPath::root)?;
    let mut rest: Vec<OsString> = words(path);
    while let Some(name) = rest.pop() {
        if name == ".." {
            place = place.parent().unwrap_or(place);
            continue;
        }
        looks = looks.checked_sub(1)?;
        let next = place.join(&name).ok()?;
        let is_followed = last == Last::Followed || !rest.is_empty();
        let target = if is_followed { target(&next, sandbox, permissions) } else { None };
        let Some(target) = target else {
            let turns = rest.last().is_some_and(|name| name == "..");
            // Nothing is above what is not there.
            if turns && sandbox.shows(&next) && permissions.exists(&next) == Some(false) {
                return Some(next);
            }
            place = next;
            continue;
        };
        left = left.checked_sub(1)?;
        if target.is_absolute() {
            place = AbsPath::root();
        }
        rest.extend(words(&target));
    }
    Some(place)
}

/// Where a link leads; `None` for what is none, or out of view.
fn target(path: &AbsPath, sandbox: &Sandbox<'_>, permissions: &dyn Permissions) -> Option<PathBuf> {
    let known = sandbox.policy.fs.links.get(path).cloned();
    known.or_else(|| sandbox.shows_links(path).then(|| permissions.link(path)).flatten())
}

/// The components of a path, the last first.
fn words(path: &Path) -> Vec<OsString> {
    let words = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    words.collect()
}

/// Without `.` and `..`, as words.
pub(super) fn clean(path: &Path) -> Option<AbsPath> {
    let mut clean = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::ParentDir => drop(clean.pop()),
            Component::Normal(name) => clean.push(name),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    AbsPath::new(clean).ok().filter(|_| path.is_absolute())
}
