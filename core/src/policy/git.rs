//! Git repositories in the workspace: what of them is protected, so that nothing planted in one runs on the host.
//!
//! A repository is a directory with a `.git`: each workspace root, what a bounded scan finds below one, and the gitlinks of
//! each. Its parents are not searched: a repository above the workspace stays readable and gets no grant.

pub mod index;
mod links;
mod pointer;
mod scan;

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::policy::fs::Placeholder;
use crate::policy::resolve::{Assembly, Layer, ResolveError, protect, protect_names};
use crate::policy::view::FileType;
use crate::policy::{Access, Source};
use crate::{AbsPath, Text};

/// `[filesystem] git`: how repositories at or below a workspace root are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Git {
    /// Committing works; what runs code on the host's next git command is protected.
    #[default]
    Work,
    /// The whole of `.git` is read-only.
    Protect,
    /// Nothing special.
    Open,
}

/// What of a git directory is protected, and what stands in for it while it is missing. Each stand-in changes nothing
/// for git (measured: commit, gc, worktree, stash, fsck).
const NAMES: &[(&str, Placeholder)] = &[
    ("hooks", Placeholder::Directory),
    ("config", Placeholder::Empty),
    ("config.worktree", Placeholder::Empty),
    ("commondir", Placeholder::Dot),
    ("info/attributes", Placeholder::Empty),
];

/// What of a linked worktree's own directory is protected. Without its two pointers git does not take it for a
/// worktree, so a stand-in would make one.
const WORKTREE: &[(&str, Option<Placeholder>)] =
    &[("gitdir", None), ("commondir", None), ("config.worktree", Some(Placeholder::Empty))];

/// How many directories are looked at below `modules` and `worktrees`, and how deep.
const DIRECTORIES: usize = 2_000;
const DEPTH: usize = 8;

/// The rules for every repository at or below a workspace root that may be written.
///
/// # Errors
/// Where a bound is reached before everything was looked at: what was not found would not be protected.
pub(super) fn list(assembly: &mut Assembly<'_>) -> Result<(), ResolveError> {
    for root in assembly.places.workspaces.clone() {
        let may_write = assembly.draft.access_at(&root) == Access::Write;
        let below = |path: &AbsPath| path.is_within(&root);
        if !may_write
            && !assembly.draft.iter().any(|(path, one)| one.entry.access == Access::Write && below(path))
        {
            continue;
        }
        let trees = scan::trees(&root, assembly.host.view);
        if !trees.complete {
            overflow(assembly, &root, scan::ENTRIES)?;
        }
        close(assembly, &trees.closed);
        let mut seen: BTreeSet<AbsPath> = trees.found.iter().cloned().collect();
        let mut waiting = VecDeque::from(trees.found);
        while let Some(tree) = waiting.pop_front() {
            let below = visit(assembly, &root, &tree)?;
            waiting.extend(below.into_iter().filter(|tree| seen.insert(tree.clone())));
        }
    }
    Ok(())
}

/// One directory with a `.git`. Answers others that git goes into from there.
fn visit(assembly: &mut Assembly<'_>, root: &AbsPath, tree: &AbsPath) -> Result<Vec<AbsPath>, ResolveError> {
    let is_writable = assembly.draft.access_at(tree) == Access::Write;
    if is_writable && tree != root {
        protect_names(assembly, tree);
    }
    let mut rules = Rules { assembly, left: DIRECTORIES, overflow: None };
    if is_writable {
        rules.tree(tree);
    }
    let below =
        if rules.assembly.settings.git == Git::Open { Vec::new() } else { links::below(&mut rules, tree)? };
    if let Some(place) = rules.overflow {
        overflow(assembly, &place, DIRECTORIES)?;
    }
    Ok(below)
}

/// What cannot be looked into is protected as a whole: it may hold a repository, and stays as it is.
fn close(assembly: &mut Assembly<'_>, closed: &[AbsPath]) {
    for directory in closed {
        if assembly.settings.git != Git::Open && assembly.draft.access_at(directory) == Access::Write {
            protect(assembly, directory, Source::Git, Layer::Git);
        }
    }
}

/// With `git = "open"` nothing of git is protected anyway.
fn overflow(assembly: &mut Assembly<'_>, place: &AbsPath, bound: usize) -> Result<(), ResolveError> {
    if assembly.settings.git != Git::Open {
        return Err(ResolveError::TooManyDirectories { place: place.clone(), bound });
    }
    note(assembly, place, format!("only {bound} directories were looked at"));
    Ok(())
}

fn note(assembly: &mut Assembly<'_>, path: &AbsPath, why: impl Into<String>) {
    assembly.not_granted(&Text::from(path.to_os_string()), why);
}

/// Takes back what lies at or below an entry of the user's own inside a git directory.
pub(super) fn yield_to_user(assembly: &mut Assembly<'_>) {
    let Assembly { draft, repositories, placeholders, .. } = assembly;
    let is_users = |path: &AbsPath| {
        let inside = path
            .as_path()
            .ancestors()
            .take_while(|above| above.ancestors().any(|directory| repositories.contains(directory)));
        inside.filter_map(|above| draft.at(above)).any(|listed| matches!(listed.layer, Layer::Written(_)))
    };
    let ours = draft.iter().filter(|(_, listed)| listed.layer == Layer::Git).map(|(path, _)| path);
    let yielded: Vec<AbsPath> = ours.filter(|path| is_users(path)).cloned().collect();
    placeholders.retain(|path, _| !is_users(path));
    yielded.iter().for_each(|path| draft.remove(path));
}

/// The rules at work, with what is left of their bound.
struct Rules<'a, 'b> {
    assembly: &'a mut Assembly<'b>,
    left: usize,
    /// Where there are more.
    overflow: Option<AbsPath>,
}

impl Rules<'_, '_> {
    /// A directory with a `.git`.
    fn tree(&mut self, tree: &AbsPath) {
        let Ok(dot_git) = tree.join(".git") else { return };
        let Ok(stat) = self.assembly.host.stat(&dot_git) else { return };
        let mode = self.assembly.settings.git;
        match (stat.file, mode) {
            (FileType::Directory, _) => self.directory(&dot_git),
            (FileType::File, Git::Work) => {
                self.protect(&dot_git);
                if let Err(ignored) = pointer::follow(self, tree, &dot_git) {
                    note(self.assembly, &dot_git, ignored.to_string());
                }
            }
            (FileType::File | FileType::Link, Git::Work | Git::Protect) => self.protect(&dot_git),
            _ => {}
        }
    }

    /// A git directory.
    fn directory(&mut self, git: &AbsPath) {
        if !self.assembly.repositories.insert(git.clone()) {
            return;
        }
        match self.assembly.settings.git {
            Git::Open => {}
            Git::Protect => self.protect(git),
            Git::Work => {
                for (name, placeholder) in NAMES {
                    self.name(git, name, Some(*placeholder));
                }
                self.modules(git);
                self.worktrees(git);
            }
        }
    }

    /// A linked worktree's own directory.
    fn worktree(&mut self, directory: &AbsPath) {
        for (name, placeholder) in WORKTREE {
            self.name(directory, name, *placeholder);
        }
        self.modules(directory);
    }

    fn modules(&mut self, git: &AbsPath) {
        let mut level = self.directories(git, "modules");
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for module in level {
                if self.exists(&module, "HEAD") {
                    self.directory(&module);
                } else {
                    next.extend(self.unborn(&module));
                }
            }
            level = next;
        }
    }

    /// A directory below `modules` that is no git directory, but lacks only a `HEAD` to become one: its settings and
    /// hooks are protected as they stand, unless they are a submodule's directory of that name. Answers the rest.
    fn unborn(&mut self, module: &AbsPath) -> Vec<AbsPath> {
        let settings: Vec<AbsPath> = ["config", "hooks"]
            .iter()
            .filter_map(|name| module.join(name).ok())
            .filter(|path| self.assembly.host.stat(path).is_ok() && !self.exists(path, "HEAD"))
            .collect();
        settings.iter().for_each(|path| self.protect(path));
        let mut rest = self.directories(module, "");
        rest.retain(|path| !settings.contains(path));
        rest
    }

    fn worktrees(&mut self, git: &AbsPath) {
        for worktree in self.directories(git, "worktrees") {
            self.worktree(&worktree);
        }
    }

    /// The directories, not links to any, in `parent/name`.
    fn directories(&mut self, parent: &AbsPath, name: &str) -> Vec<AbsPath> {
        let Ok(place) = parent.join(name) else { return Vec::new() };
        if !self.assembly.host.is_directory(&place) {
            return Vec::new();
        }
        let view = self.assembly.host.view;
        let mut names = match view.list(&place) {
            Ok(names) => names,
            Err(error) => {
                if scan::is_closed(view, &place, &error) {
                    self.protect(&place);
                }
                return Vec::new();
            }
        };
        names.sort_unstable();
        if names.len() > self.left {
            names.truncate(self.left);
            self.overflow.get_or_insert_with(|| place.clone());
        }
        self.left -= names.len();
        let paths = names.iter().filter_map(|name| place.join(name).ok());
        paths.filter(|path| self.assembly.host.is_directory(path)).collect()
    }

    fn exists(&self, directory: &AbsPath, name: &str) -> bool {
        directory.join(name).is_ok_and(|path| self.assembly.host.stat(&path).is_ok())
    }

    /// Protects `directory/name`, or has something stand in for it. A parent that is missing gets a stand-in too; one
    /// that is a link gets nothing, since it may lead anywhere. Where nobody can create a stand-in, nobody can create the
    /// name: the directory is protected instead, so that it cannot be replaced.
    fn name(&mut self, directory: &AbsPath, name: &str, placeholder: Option<Placeholder>) {
        let Ok(path) = directory.join(name) else { return };
        if self.assembly.host.stat(&path).is_ok() {
            return self.protect(&path);
        }
        let Some(parent) = path.parent() else { return };
        if let Some(closed) = placeholder.and_then(|_| self.closed(&path)) {
            return self.protect(&closed);
        }
        match (self.assembly.host.stat(&parent), placeholder) {
            (Ok(stat), Some(placeholder)) if stat.file == FileType::Directory => {
                self.assembly.placeholders.insert(path, placeholder);
            }
            (Err(_), Some(placeholder)) => {
                self.assembly.placeholders.insert(parent, Placeholder::Directory);
                self.assembly.placeholders.insert(path, placeholder);
            }
            _ => {
                self.assembly.miss(path.as_path());
            }
        }
    }

    /// The nearest directory above `path` that is there, if this user can create nothing in it.
    fn closed(&mut self, path: &AbsPath) -> Option<AbsPath> {
        let nearest = path.ancestors().skip(1).find(|above| self.assembly.host.stat(above).is_ok())?;
        let is_granted = self.assembly.draft.access_at(&nearest) == Access::Write;
        let is_there = is_granted && self.assembly.host.is_directory(&nearest);
        (is_there && self.assembly.host.view.is_closed(&nearest)).then_some(nearest)
    }

    fn protect(&mut self, path: &AbsPath) {
        protect(self.assembly, path, Source::Git, Layer::Git);
    }
}

#[cfg(test)]
mod tests;
