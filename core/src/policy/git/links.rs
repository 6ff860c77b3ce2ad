//! Repositories that the index of another one names: git runs in them from the top, at any depth.

use std::io::{self, ErrorKind};
use std::path::Path;

use super::{DIRECTORIES, Rules, index, note, pointer};
use crate::AbsPath;
use crate::policy::resolve::ResolveError;
use crate::policy::view::FileType;

/// The working trees of gitlinks of the one at `tree`, as far as they have a `.git`.
///
/// # Errors
/// Where the index is too long to be read, and the repository has submodules: theirs would not be protected.
pub(super) fn below(rules: &mut Rules<'_, '_>, tree: &AbsPath) -> Result<Vec<AbsPath>, ResolveError> {
    let Some(git) = directory(rules, tree) else { return Ok(Vec::new()) };
    let paths = match index::of(|name| read(rules, &git, name)) {
        Ok(paths) => paths,
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            too_large(rules, tree, &git)?;
            return Ok(Vec::new());
        }
        // git cannot read it either.
        Err(_) => return Ok(Vec::new()),
    };
    let mut trees: Vec<AbsPath> = paths.iter().filter_map(|path| submodule(rules, tree, path)).collect();
    if trees.len() > DIRECTORIES {
        trees.truncate(DIRECTORIES);
        rules.overflow.get_or_insert_with(|| tree.clone());
    }
    Ok(trees)
}

/// The git directory of a working tree.
fn directory(rules: &Rules<'_, '_>, tree: &AbsPath) -> Option<AbsPath> {
    let dot_git = tree.join(".git").ok()?;
    match rules.assembly.host.stat(&dot_git).ok()?.file {
        FileType::Directory => Some(dot_git),
        FileType::File => pointer::target(rules, tree, &dot_git).ok(),
        _ => None,
    }
}

/// git follows links to it.
fn read(rules: &Rules<'_, '_>, git: &AbsPath, name: &str) -> io::Result<Vec<u8>> {
    let place = git.as_path().join(name);
    let found = rules.assembly.host.realpath(&place).map_err(|_| ErrorKind::NotFound)?;
    rules.assembly.host.view.read_whole(&found.path, index::BOUND)
}

fn too_large(rules: &mut Rules<'_, '_>, tree: &AbsPath, git: &AbsPath) -> Result<(), ResolveError> {
    let Ok(path) = git.join("index") else { return Ok(()) };
    if rules.exists(tree, ".gitmodules") || rules.exists(git, "modules") {
        return Err(ResolveError::LargeIndex { path, bound: index::BOUND });
    }
    note(rules.assembly, &path, format!("not read for submodules: it is longer than {} bytes", index::BOUND));
    Ok(())
}

/// git does not go through a link to a gitlink.
fn submodule(rules: &Rules<'_, '_>, tree: &AbsPath, path: &Path) -> Option<AbsPath> {
    let mut here = tree.clone();
    for name in path {
        here = here.join(name).ok()?;
        if !rules.assembly.host.is_directory(&here) {
            return None;
        }
    }
    rules.exists(&here, ".git").then_some(here)
}
