//! Loads policies as written: what the caller names, what it extends, and what a workspace brings along.

mod error;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use confine_core::policy::file::Syntax;
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{PolicyFile, Source, View};
use confine_core::{AbsPath, Policy, Text};
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

use crate::beneath::Spot;
use crate::places::Places;
use crate::view::reopen_regular;

pub use error::PoliciesError;

/// The policy without a `--policy`.
const DEFAULT: &str = "workspace-write";
/// The user's own, in the configuration directory; the workspace's, in `.confine`.
const OWN: &str = "policy.toml";
const PROJECT: &str = ".confine";
/// How many files may extend one another.
const DEPTH: usize = 8;
/// The longest file that is read.
const LONGEST: u64 = 1024 * 1024;

/// What to load.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    /// A built-in name or a file (a word with `/`, `.toml` or `.json`); without it `workspace-write`, extended by the
    /// user's `policy.toml` where there is one.
    pub policy: Option<&'a OsStr>,
    /// What a relative file is relative to.
    pub cwd: &'a AbsPath,
    /// Where to look for `.confine/policy.toml`.
    pub workspaces: &'a [AbsPath],
    /// Where the user's own policy is.
    pub places: &'a Places,
}

/// What was loaded.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// In order: later ones replace earlier ones.
    pub layers: Vec<Written>,
    /// Those of the workspaces. They come last and may only narrow, which [`Loaded::resolve`] proves.
    pub projects: Vec<Written>,
    /// The files named or extended, for [`own_files`](confine_core::policy::resolve::Request::own_files).
    pub files: Vec<AbsPath>,
}

/// Loads what `choice` says.
///
/// # Errors
/// The first file or name that is wrong, with the line where one is known. Nothing is ever skipped, but a user's or a
/// workspace's policy that does not exist.
pub fn load(choice: &Choice<'_>) -> Result<Loaded, PoliciesError> {
    let mut loaded = Loaded::default();
    match choice.policy {
        None => loaded.default_layers(choice)?,
        Some(word) => loaded.add(word, choice.cwd.as_path(), choice.cwd)?,
    }
    for workspace in choice.workspaces {
        loaded.projects.extend(project(workspace)?);
    }
    Ok(loaded)
}

impl Loaded {
    /// Resolves what was loaded, with the caller's own layers (the command line) after it. Each workspace's policy is
    /// added in its turn and has to be covered by what is there without it: a program of an earlier run, or whoever
    /// wrote the repository, may have written it.
    ///
    /// # Errors
    /// As [`resolve`]; a workspace's policy that would allow more than the caller has.
    pub fn resolve(&self, request: &Request, view: &dyn View) -> Result<Policy, PoliciesError> {
        let mut request = request.clone();
        request.layers = self.layers.iter().chain(&request.layers).cloned().collect();
        request.own_files.extend(self.files.iter().cloned());
        let mut narrowed = resolve(&request, view)?;
        for project in &self.projects {
            request.layers.push(project.clone());
            let next = resolve(&request, view)?;
            if !narrowed.covers(&next) {
                return Err(PoliciesError::ProjectWidens(file(project)));
            }
            narrowed = next;
        }
        Ok(narrowed)
    }

    fn default_layers(&mut self, choice: &Choice<'_>) -> Result<(), PoliciesError> {
        let own = choice.places.configuration.as_ref().and_then(|place| place.join(OWN).ok());
        let Some(own) = own.filter(|own| own.as_path().symlink_metadata().is_ok()) else {
            return self.add(OsStr::new(DEFAULT), choice.cwd.as_path(), choice.cwd);
        };
        let before = self.layers.len();
        self.add(own.as_path().as_os_str(), choice.cwd.as_path(), choice.cwd)?;
        let extends = |layer: &Written| layer.file.extends.is_some();
        if !self.layers.iter().skip(before).any(extends) {
            self.layers.insert(before, builtin(DEFAULT, choice.cwd)?);
        }
        Ok(())
    }

    /// Adds what `word` names, after what that extends.
    fn add(&mut self, word: &OsStr, base: &Path, cwd: &AbsPath) -> Result<(), PoliciesError> {
        let mut chain = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = Some((word.to_owned(), base.to_owned()));
        while let Some((word, base)) = next.take() {
            if !names_a_file(&word) {
                chain.push(builtin(&word.to_string_lossy(), cwd)?);
                continue;
            }
            let path = located(&base.join(&word))?;
            if !seen.insert(path.clone()) {
                return Err(PoliciesError::Cycle(path));
            }
            if seen.len() > DEPTH {
                return Err(PoliciesError::TooDeep { path, bound: DEPTH });
            }
            let written = read(&path)?;
            next = written.file.extends.as_ref().map(|word| (word.into(), written.base.as_path().to_owned()));
            chain.push(written);
            self.files.push(path);
        }
        self.layers.extend(chain.into_iter().rev());
        Ok(())
    }
}

/// Where it is written.
fn file(written: &Written) -> AbsPath {
    match &written.source {
        Source::File(path) => path.clone(),
        _ => written.base.clone(),
    }
}

fn names_a_file(word: &OsStr) -> bool {
    let word = word.as_encoded_bytes();
    word.contains(&b'/') || word.ends_with(b".toml") || word.ends_with(b".json")
}

fn builtin(name: &str, base: &AbsPath) -> Result<Written, PoliciesError> {
    let file = PolicyFile::builtin(name).ok_or_else(|| PoliciesError::Unknown(Text::from(name)))?;
    Ok(Written { file, base: base.clone(), source: Source::BuiltIn })
}

/// The file's own name in its canonical directory: the directory may be reached through links, the file may be none.
fn located(path: &Path) -> Result<AbsPath, PoliciesError> {
    let unreadable = |source| PoliciesError::Unreadable { path: Text::from(path.as_os_str()), source };
    let nameless = || unreadable(Errno::EISDIR.into());
    let name = path.file_name().ok_or_else(nameless)?;
    let directory = path.parent().ok_or_else(nameless)?.canonicalize().map_err(unreadable)?;
    AbsPath::new(directory.join(name)).map_err(|_| nameless())
}

fn read(path: &AbsPath) -> Result<Written, PoliciesError> {
    let found = open_place(path)?;
    let absent = || PoliciesError::Unreadable {
        path: Text::from(path.as_path().as_os_str()),
        source: Errno::ENOENT.into(),
    };
    written(path, &found.ok_or_else(absent)?)
}

/// A workspace's own policy. It extends nothing: it narrows what the caller has.
fn project(workspace: &AbsPath) -> Result<Option<Written>, PoliciesError> {
    let place = workspace.as_path().join(PROJECT).symlink_metadata();
    if place.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let canonical = workspace.as_path().canonicalize().unwrap_or_else(|_| PathBuf::from(workspace.as_path()));
    let Ok(path) = AbsPath::new(canonical.join(PROJECT).join(OWN)) else { return Ok(None) };
    let Some(place) = open_place(&path)? else { return Ok(None) };
    let written = written(&path, &place)?;
    if written.file.extends.is_some() {
        return Err(PoliciesError::ProjectExtends(path));
    }
    Ok(Some(written))
}

/// A descriptor that only stands for the file; `None` where there is none. No link is followed, at no level.
fn open_place(path: &AbsPath) -> Result<Option<OwnedFd>, PoliciesError> {
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    match Spot::of(path).and_then(|spot| openat(&spot.parent, spot.name.as_os_str(), flags, Mode::empty())) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::ENOENT) => Ok(None),
        Err(Errno::ELOOP | Errno::ENOTDIR) => Err(PoliciesError::Special(path.clone())),
        Err(errno) => Err(PoliciesError::Unreadable {
            path: Text::from(path.as_path().as_os_str()),
            source: errno.into(),
        }),
    }
}

fn written(path: &AbsPath, place: &OwnedFd) -> Result<Written, PoliciesError> {
    let text = text(path, reopen_regular(place))?;
    let json = path.as_path().extension() == Some(OsStr::new("json"));
    let syntax = if json { Syntax::Json } else { Syntax::Toml };
    let file = PolicyFile::parse(&text, syntax)
        .map_err(|source| PoliciesError::Parse { path: path.clone(), source })?;
    let base = path.parent().unwrap_or_else(AbsPath::root);
    Ok(Written { file, base, source: Source::File(path.clone()) })
}

fn text(path: &AbsPath, opened: std::io::Result<File>) -> Result<String, PoliciesError> {
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::InvalidInput => PoliciesError::Special(path.clone()),
        _ => PoliciesError::Unreadable { path: Text::from(path.as_path().as_os_str()), source },
    };
    let mut bytes = Vec::new();
    opened.map_err(failed)?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LONGEST) {
        return Err(PoliciesError::TooLarge { path: path.clone(), bound: LONGEST });
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        let line = before.filter(|byte| **byte == b'\n').count() + 1;
        PoliciesError::NotText { path: path.clone(), line }
    })
}

#[cfg(test)]
mod tests;
