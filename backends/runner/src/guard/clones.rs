//! Repositories that a run made, one level below a write grant: where clones go.
//!
//! A report, not a protection: what lies deeper is not looked for, and a repository that was moved there is not new.

use std::collections::BTreeSet;
use std::time::SystemTime;

use confine_core::AbsPath;
use nix::sys::stat::SFlag;

use crate::beneath::{directory as directory_of, kind, stat};
use crate::journal::Name;

/// How many directories of a grant are looked at.
const BOUND: usize = 1_000;
/// What git looks for in a directory that is not called `.git`.
const BARE: [&str; 3] = ["HEAD", "objects", "refs"];

/// The git directories that were made since `started`, as far as the file system remembers (statx(2), `btime`): those
/// called `.git`, and bare ones, which git takes for repositories by their layout.
pub(super) fn made(names: &[Name], started: SystemTime) -> Vec<AbsPath> {
    let grants: BTreeSet<&AbsPath> = names.iter().map(|name| &name.grant).collect();
    grants.into_iter().flat_map(below).flat_map(|directory| git_directories(&directory, started)).collect()
}

fn below(grant: &AbsPath) -> Vec<AbsPath> {
    let entries = std::fs::read_dir(grant).into_iter().flatten().flatten().take(BOUND);
    // A grant's own `.git` is a name that was missing, or no new repository.
    let directories = entries
        .filter(|entry| entry.file_name() != ".git" && entry.file_type().is_ok_and(|file| file.is_dir()));
    let mut found: Vec<AbsPath> =
        directories.filter_map(|entry| grant.join(entry.file_name()).ok()).collect();
    found.sort();
    found
}

fn git_directories(directory: &AbsPath, started: SystemTime) -> impl Iterator<Item = AbsPath> + use<> {
    let is_git = |git: &AbsPath| has(git, "HEAD") || leads_to_one(git);
    let git = directory.join(".git").ok().filter(|git| is_git(git) && is_newer(git, started));
    // git never makes `objects` again, and the directory itself may be older than its layout.
    let is_made = || directory.join("objects").is_ok_and(|objects| is_newer(&objects, started));
    let is_bare = BARE.iter().all(|name| has(directory, name)) && is_made();
    git.into_iter().chain(is_bare.then(|| directory.clone()))
}

/// `HEAD` is a file or a link, the others are directories or links to one.
fn has(directory: &AbsPath, name: &str) -> bool {
    let Ok(opened) = directory_of(directory) else { return false };
    let found = stat(&opened, name.as_ref()).ok().flatten();
    found.is_some_and(|found| name != "HEAD" || kind(&found) != SFlag::S_IFDIR)
}

/// A file that says where the git directory is, or a link to it.
fn leads_to_one(git: &AbsPath) -> bool {
    git.as_path().symlink_metadata().is_ok_and(|metadata| !metadata.is_dir())
}

fn is_newer(path: &AbsPath, started: SystemTime) -> bool {
    let created = path.as_path().symlink_metadata().and_then(|metadata| metadata.created());
    created.is_ok_and(|created| created >= started)
}
