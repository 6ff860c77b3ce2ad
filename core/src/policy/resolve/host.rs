//! The host behind a [`View`], asked at most once about each path, and the resolution of symbolic links.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::AbsPath;
use crate::policy::view::{FileType, Stat};
use crate::policy::{Kind, View};

/// As many links as the kernel follows in one look-up (path_resolution(7)).
const LINKS: usize = 40;

/// A symbolic link on the way to something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) struct Crossed {
    /// Where it is.
    pub(in crate::policy) place: AbsPath,
    /// What it holds.
    pub(in crate::policy) target: PathBuf,
}

/// Something that exists, by its canonical path.
#[derive(Clone, Debug)]
pub(in crate::policy) struct Found {
    pub(in crate::policy) path: AbsPath,
    pub(in crate::policy) stat: Stat,
    /// Every link on the way, in the order they were met.
    pub(in crate::policy) crossed: Vec<Crossed>,
}

/// Why there is nothing at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy) enum Absent {
    /// It does not exist, or what is above it is no directory.
    Missing,
    /// More links than the kernel follows.
    Loop,
    /// It cannot be looked at.
    Unopenable(ErrorKind),
}

/// A view with a memory.
pub(in crate::policy) struct Host<'a> {
    pub(in crate::policy) view: &'a dyn View,
    seen: RefCell<HashMap<OsString, Result<Stat, Absent>>>,
    /// What [`Host::realpath`] made of a path: most paths of a policy share what is above them.
    known: RefCell<HashMap<OsString, Result<Found, Absent>>>,
}

impl<'a> Host<'a> {
    pub(in crate::policy) fn new(view: &'a dyn View) -> Self {
        Self { view, seen: RefCell::default(), known: RefCell::default() }
    }

    /// lstat(2).
    pub(in crate::policy) fn stat(&self, path: &AbsPath) -> Result<Stat, Absent> {
        if let Some(known) = self.seen.borrow().get(path.as_path().as_os_str()) {
            return known.clone();
        }
        let stat = self.view.stat(path).map_err(|error| absent(error.kind()));
        self.seen.borrow_mut().insert(path.to_os_string(), stat.clone());
        stat
    }

    /// Whether there is a directory, not a link to one.
    pub(in crate::policy) fn is_directory(&self, path: &AbsPath) -> bool {
        self.stat(path).is_ok_and(|stat| stat.file == FileType::Directory)
    }

    /// realpath(3) of an absolute path, which may hold `..`.
    pub(in crate::policy) fn realpath(&self, path: &Path) -> Result<Found, Absent> {
        self.remembered(path, || {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return self.look_up(path);
            };
            let above = self.remembered(parent, || self.look_up(parent))?;
            match above.stat.file {
                FileType::Directory => self.walk(above.path, vec![name.to_owned()], above.crossed),
                _ => Err(Absent::Missing),
            }
        })
    }

    fn remembered(&self, path: &Path, find: impl FnOnce() -> Result<Found, Absent>) -> Result<Found, Absent> {
        if let Some(known) = self.known.borrow().get(path.as_os_str()) {
            return known.clone();
        }
        let found = find();
        self.known.borrow_mut().insert(path.as_os_str().to_owned(), found.clone());
        found
    }

    /// However long it is: a policy may be a stranger's.
    fn look_up(&self, path: &Path) -> Result<Found, Absent> {
        let mut rest = Vec::new();
        push(&mut rest, path);
        self.walk(AbsPath::root(), rest, Vec::new())
    }

    /// On from a directory by `rest`, whose last is the next.
    fn walk(
        &self,
        mut here: AbsPath,
        mut rest: Vec<OsString>,
        mut crossed: Vec<Crossed>,
    ) -> Result<Found, Absent> {
        while let Some(name) = rest.pop() {
            if name == ".." {
                here = here.parent().unwrap_or_else(AbsPath::root);
                continue;
            }
            let next = here.join(&name).map_err(|_| Absent::Missing)?;
            match self.stat(&next)?.file {
                FileType::Link => {
                    let target = self.cross(&next, &mut crossed)?;
                    if target.is_absolute() {
                        here = AbsPath::root();
                    }
                    push(&mut rest, &target);
                }
                FileType::Directory => here = next,
                _ if rest.is_empty() => here = next,
                _ => return Err(Absent::Missing),
            }
        }
        Ok(Found { stat: self.stat(&here)?, path: here, crossed })
    }

    /// The canonical place of what is, or may come to be, at `path`: links in its parent are followed, a final one is
    /// not.
    pub(in crate::policy) fn place(&self, path: &Path) -> Result<(AbsPath, Vec<Crossed>), Absent> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return self.realpath(path).map(|found| (found.path, found.crossed));
        };
        let above = self.realpath(parent)?;
        match above.stat.file {
            FileType::Directory => Ok((above.path.join(name).map_err(|_| Absent::Missing)?, above.crossed)),
            _ => Err(Absent::Missing),
        }
    }

    fn cross(&self, link: &AbsPath, crossed: &mut Vec<Crossed>) -> Result<PathBuf, Absent> {
        if crossed.len() >= LINKS {
            return Err(Absent::Loop);
        }
        let target = self.view.read_link(link).map_err(|error| absent(error.kind()))?;
        crossed.push(Crossed { place: link.clone(), target: target.clone() });
        Ok(target)
    }
}

/// What resolution makes of a file's type.
pub(in crate::policy) fn kind(file: FileType) -> Kind {
    match file {
        FileType::Directory => Kind::Directory,
        FileType::Socket => Kind::Socket,
        FileType::Device => Kind::Device,
        FileType::File | FileType::Fifo | FileType::Link => Kind::File,
    }
}

fn absent(kind: ErrorKind) -> Absent {
    match kind {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Absent::Missing,
        kind => Absent::Unopenable(kind),
    }
}

/// The names of `path`, the first on top.
fn push(rest: &mut Vec<OsString>, path: &Path) {
    rest.extend(path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    }));
}
