//! Repositories that the index of another one names: the host's `git status` at the top runs git in each, with the
//! settings that it finds there. Those that had a `.git` at the launch are protected; any other may be the run's own.
//!
//! A report, not a protection, and of a killed run too: what the index names is compared after the tree is dead.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use confine_core::AbsPath;
use confine_core::policy::git::index;
use confine_core::policy::{Access, Policy};

use super::owed::is_guarded;
use crate::beneath::{Identity, Spot};
use crate::journal::Tree;
use crate::view::{open_regular, read_whole};

const GIT: &str = ".git";
/// Longer than any path.
const POINTER: u64 = 4096;

/// The working trees of which the policy protects the `.git`, or something in it.
pub(super) fn trees(policy: &Policy) -> Vec<Tree> {
    let protected = policy.fs.entries.iter().filter(|(_, entry)| entry.access == Access::Protect);
    let whole = protected.map(|(path, _)| path);
    let settings = policy.fs.repositories.iter().filter(|git| is_guarded(policy, git));
    let dot_gits: BTreeSet<&AbsPath> =
        whole.chain(settings).filter(|path| path.as_path().file_name() == Some(GIT.as_ref())).collect();
    dot_gits.into_iter().filter_map(tree).collect()
}

fn tree(dot_git: &AbsPath) -> Option<Tree> {
    let path = dot_git.parent()?;
    let index = directory(&path).and_then(|git| Ok(git.join("index").metadata()?.len())).unwrap_or(0);
    Some(Tree { identity: identity(dot_git)?, path, index })
}

/// Every `.git` of theirs, of the gitlinks of theirs, and of those of what was made, that is another one than at the
/// launch.
pub(super) fn changed(trees: &[Tree]) -> BTreeSet<AbsPath> {
    let known: BTreeMap<AbsPath, Identity> =
        trees.iter().filter_map(|tree| Some((tree.path.join(GIT).ok()?, tree.identity))).collect();
    let mut changed: BTreeSet<AbsPath> =
        known.keys().filter(|path| is_another(path, &known)).cloned().collect();
    let mut waiting: Vec<AbsPath> = trees.iter().map(|tree| tree.path.clone()).collect();
    while let Some(tree) = waiting.pop() {
        let long = trees.iter().any(|one| one.path == tree && one.index > index::BOUND);
        match gitlinks(&tree) {
            Ok(paths) => {
                for dot_git in paths.into_iter().filter(|path| is_another(path, &known)) {
                    waiting.extend(dot_git.parent().filter(|_| changed.insert(dot_git)));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge && !long => {
                changed.extend(tree.join(GIT));
            }
            // git cannot read it either.
            Err(_) => {}
        }
    }
    changed
}

fn is_another(dot_git: &AbsPath, known: &BTreeMap<AbsPath, Identity>) -> bool {
    identity(dot_git).is_some_and(|now| known.get(dot_git) != Some(&now))
}

/// Where the `.git` of each gitlink of a working tree is, or would be.
fn gitlinks(tree: &AbsPath) -> io::Result<Vec<AbsPath>> {
    let git = directory(tree)?;
    let read = |name: &str| read_whole(&git.join(name).canonicalize()?, index::BOUND);
    let paths = index::of(read)?;
    Ok(paths.iter().filter_map(|path| tree.join(path.join(GIT)).ok()).collect())
}

/// The git directory of a working tree.
fn directory(tree: &AbsPath) -> io::Result<PathBuf> {
    let dot_git = tree.as_path().join(GIT);
    if dot_git.is_dir() {
        return Ok(dot_git);
    }
    let mut text = Vec::new();
    open_regular(&dot_git)?.take(POINTER).read_to_end(&mut text)?;
    let target = text.strip_prefix(b"gitdir: ").ok_or(io::ErrorKind::InvalidData)?;
    tree.as_path().join(Path::new(std::ffi::OsStr::from_bytes(target.trim_ascii_end()))).canonicalize()
}

/// `None` where there is nothing, or a link on the way: git goes through none.
fn identity(dot_git: &AbsPath) -> Option<Identity> {
    Spot::of(dot_git).ok()?.stat().ok()?.map(|stat| Identity::from(&stat))
}
