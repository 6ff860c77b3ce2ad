//! The checks after the tree is dead.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::SystemTime;

use confine_core::policy::fs::Placeholder;
use confine_core::report::Violation;
use confine_core::{AbsPath, Text};
use nix::fcntl::readlinkat;
use nix::sys::stat::SFlag;

use super::Aftermath;
use super::arrival::arrival;
use super::{clones, gitlinks, inheritance, todo};
use crate::beneath::{self, Identity, Spot, Walk, kind};
use crate::journal::{Account, Link, Mask, Name, Repository, Stand, Tree};
use crate::placeholder::{self, Standing};
use crate::places::Place;
use crate::quarantine;

/// What makes a `.git` a repository for git.
const HEAD: &str = "HEAD";

/// Collects what it finds.
pub(super) struct Check<'a> {
    /// Where what appeared is moved to; without one it is renamed in place.
    state: Option<&'a Place>,
    run: &'a str,
    held: &'a BTreeMap<AbsPath, OwnedFd>,
    /// Runs that are alive.
    others: &'a [Account],
    /// So far.
    pub(super) aftermath: Aftermath,
}

impl<'a> Check<'a> {
    pub(super) fn new(
        state: Option<&'a Place>,
        run: &'a str,
        held: &'a BTreeMap<AbsPath, OwnedFd>,
        others: &'a [Account],
    ) -> Self {
        Self { state, run, held, others, aftermath: Aftermath::default() }
    }

    /// Protected names that did not exist: by the directory that was held open, wherever it is now, and by their path.
    pub(super) fn names(&mut self, names: &[Name]) {
        let mut walk = Walk::default();
        for Name { path, grant } in names {
            let below = |above: &AbsPath| path.as_path().strip_prefix(above).ok();
            let held = nearest(self.held, path).and_then(|(above, fd)| arrival(fd, below(&above)?, path));
            self.name(path, held);
            let directory = walk.directory(grant).ok();
            self.name(path, directory.and_then(|directory| arrival(directory, below(grant)?, path)));
        }
    }

    fn name(&mut self, path: &AbsPath, found: Option<Spot>) {
        let Some(spot) = found else { return };
        if is_repository(path, &spot) {
            if !self.aftermath.new_repositories.contains(path) {
                self.aftermath.new_repositories.push(path.clone());
            }
            return;
        }
        self.remove(&spot, path, Violation::ProtectedAppeared { path: path.clone() });
    }

    /// Repositories that the run made in a directory of the workspace.
    pub(super) fn clones(&mut self, names: &[Name], started: Option<SystemTime>) {
        let made = started.map(|started| clones::made(names, started)).unwrap_or_default();
        self.aftermath.new_repositories.extend(made);
    }

    /// Repositories that the run made, or made another one of, where the index of one names them.
    pub(super) fn gitlinks(&mut self, trees: &[Tree]) {
        let known: BTreeSet<AbsPath> = self.aftermath.new_repositories.iter().cloned().collect();
        let changed = gitlinks::changed(trees);
        self.aftermath.new_repositories.extend(changed.difference(&known).cloned());
    }

    /// Protected links: what is there now, if it is not the link that was.
    pub(super) fn links(&mut self, links: &[Link]) {
        for link in links {
            let Ok(spot) = Spot::of(&link.path) else {
                self.aftermath.violations.push(Violation::LinkReplaced { path: link.path.clone() });
                continue;
            };
            let target = readlinkat(&spot.parent, spot.name.as_os_str());
            if target.is_ok_and(|target| Text::from(target) == link.target) {
                continue;
            }
            self.remove(&spot, &link.path, Violation::LinkReplaced { path: link.path.clone() });
        }
    }

    /// Git operations that the run began or changed and that run commands.
    pub(super) fn todos(&mut self, repositories: &[Repository]) {
        for repository in repositories {
            for (path, spot) in todo::planted(&repository.path, &repository.todos) {
                self.remove(&spot, &path, Violation::GitTodo { path: path.clone() });
            }
        }
    }

    /// What took the place of a file that a mount stood on.
    pub(super) fn masks(&mut self, masks: &[Mask]) {
        for mask in inheritance::replaced(masks) {
            let Ok(spot) = Spot::of(&mask.path) else { continue };
            self.remove(&spot, &mask.path, Violation::MaskLost { path: mask.path.clone() });
        }
    }

    /// Names that appeared during another run, which told of them: they go, unless that run, of `all` that owe
    /// something, is still to look.
    pub(super) fn inherited(&mut self, names: &[Name], all: &[Account]) {
        for Name { path, .. } in names {
            let Ok(spot) = Spot::of(path) else { continue };
            let there = spot.stat().is_ok_and(|stat| stat.is_some());
            let left = inheritance::is_watched(path, all) || inheritance::is_left(path, self.others);
            if there && !left && !is_repository(path, &spot) {
                self.remove(&spot, path, Violation::ProtectedAppeared { path: path.clone() });
            }
        }
    }

    /// Precreated files that nothing was written to go; others stay as the program's result.
    pub(super) fn precreated(&mut self, paths: &[AbsPath], made: &BTreeMap<AbsPath, Identity>) {
        for path in paths {
            let Ok(spot) = Spot::of(path) else { continue };
            let standing = placeholder::standing(&spot, Placeholder::Empty, made.get(path).copied());
            if standing == Standing::Unchanged {
                // One that cannot be removed is an empty file that the policy asked for.
                let _ = placeholder::remove(&spot, Placeholder::Empty);
            }
        }
    }

    /// Placeholders go, the deepest first, unless another run stands on them; what took the place of one is moved
    /// away. A directory that was made to hold another placeholder stays if git put something in it.
    pub(super) fn placeholders(&mut self, stands: &[Stand], made: &BTreeMap<AbsPath, Identity>) {
        let used = |path: &AbsPath| {
            let mut others = self.others.iter().flat_map(|account| &account.entry.placeholders);
            others.any(|one| one.path.is_within(path))
        };
        for Stand { path, placeholder } in stands.iter().rev().filter(|stand| !used(&stand.path)) {
            let Ok(spot) = Spot::of(path) else { continue };
            let identity = made.get(path).copied();
            let standing = placeholder::standing(&spot, *placeholder, identity);
            if standing == Standing::Gone {
                continue;
            }
            if standing == Standing::Unchanged && placeholder::remove(&spot, *placeholder).is_ok() {
                continue;
            }
            let holds_another = stands.iter().any(|one| one.path != *path && one.path.is_within(path));
            if !(holds_another && placeholder::is_same(&spot, identity)) {
                self.remove(&spot, path, Violation::ProtectedAppeared { path: path.clone() });
            }
        }
    }

    /// Moves it away, unless another run has to; if that fails the violation is still told. A name that is gone is a
    /// violation only for links.
    fn remove(&mut self, spot: &Spot, path: &AbsPath, violation: Violation) {
        let there = spot.stat().is_ok_and(|stat| stat.is_some()) && !inheritance::is_left(path, self.others);
        let take = || match self.state {
            Some(state) => quarantine::take(state, spot, path, self.run).ok(),
            None => quarantine::set_aside(spot, path, self.run).ok(),
        };
        if there && let Some(moved) = take() {
            self.aftermath.quarantined.push(moved);
        }
        if !self.aftermath.violations.contains(&violation) {
            self.aftermath.violations.push(violation);
        }
    }
}

/// The nearest directory above `path` that is held open.
fn nearest<'a>(held: &'a BTreeMap<AbsPath, OwnedFd>, path: &AbsPath) -> Option<(AbsPath, BorrowedFd<'a>)> {
    let mut above = path.ancestors().skip(1);
    above.find_map(|above| held.get(&above).map(|fd| (above, fd.as_fd())))
}

/// A directory called `.git` that git takes for one. What looks like it and is none has no business there.
fn is_repository(path: &AbsPath, spot: &Spot) -> bool {
    if path.as_path().file_name() != Some(".git".as_ref()) || spot.name != ".git" {
        return false;
    }
    let is_directory = spot.stat().is_ok_and(|stat| stat.is_some_and(|stat| kind(&stat) == SFlag::S_IFDIR));
    let head = || beneath::stat(beneath::below(&spot.parent, &spot.name).ok()?, HEAD.as_ref()).ok()?;
    is_directory && head().is_some()
}
