//! Which path a program may have meant by what it printed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::{Incident, Permissions, Sandbox};
use crate::AbsPath;

/// How many directories of a command are looked at.
const DIRECTORIES: usize = 8;
/// As many links as path_resolution(7) follows.
const LINKS: usize = 40;

/// Where a relative path may start, the likeliest first: where the program did, and where its command goes.
pub(super) fn directories(incident: &Incident<'_>) -> Vec<PathBuf> {
    let Some(cwd) = incident.cwd else { return Vec::new() };
    let mut directories = vec![cwd.as_path().to_owned()];
    for word in named(incident) {
        let directory = cwd.as_path().join(OsStr::from_bytes(word));
        if !directories.contains(&directory) {
            directories.push(directory);
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

/// The place that `printed` names, starting at `directory`: clean, with links resolved as far as the program sees them.
pub(super) fn place(
    directory: &Path,
    printed: &OsStr,
    sandbox: Option<&Sandbox<'_>>,
    permissions: &dyn Permissions,
) -> Option<AbsPath> {
    let path = clean(&directory.join(printed))?;
    let Some(sandbox) = sandbox else { return Some(path) };
    let path = known(path, sandbox)?;
    Some(permissions.located(&path, &|path| sandbox.shows(path)))
}

/// With the links that the policy crossed.
fn known(path: AbsPath, sandbox: &Sandbox<'_>) -> Option<AbsPath> {
    let links = &sandbox.policy.fs.links;
    let mut path = path;
    for _ in 0..LINKS {
        let Some(link) = path.ancestors().filter(|above| links.contains_key(above)).last() else {
            return Some(path);
        };
        let rest = path.as_path().strip_prefix(link.as_path()).ok()?;
        path = clean(&link.parent()?.as_path().join(links.get(&link)?).join(rest))?;
    }
    None
}

/// Without `.` and `..`, as words.
fn clean(path: &Path) -> Option<AbsPath> {
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
