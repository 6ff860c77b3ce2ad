//! Repositories that a run made, one level below a write grant: where clones go.
//!
//! A report, not a protection: what lies deeper is not looked for, and a repository that was moved there is not new.

use std::collections::BTreeSet;
use std::time::SystemTime;

use confine_core::AbsPath;
use nix::sys::stat::SFlag;

use crate::beneath::{directory, kind, stat};
use crate::journal::Name;

/// How many directories of a grant are looked at.
const BOUND: usize = 1_000;

/// The git directories that were made since `started`, as far as the file system remembers (statx(2), `btime`).
pub(super) fn made(names: &[Name], started: SystemTime) -> Vec<AbsPath> {
    let grants: BTreeSet<&AbsPath> = names.iter().map(|name| &name.grant).collect();
    grants.into_iter().flat_map(below).filter(|git| is_repository(git) && is_newer(git, started)).collect()
}

fn below(grant: &AbsPath) -> Vec<AbsPath> {
    let entries = std::fs::read_dir(grant).into_iter().flatten().flatten().take(BOUND);
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|file| file.is_dir()));
    let mut found: Vec<AbsPath> =
        directories.filter_map(|entry| grant.join(entry.file_name()).ok()?.join(".git").ok()).collect();
    found.sort();
    found
}

fn is_repository(git: &AbsPath) -> bool {
    let Ok(opened) = directory(git) else { return false };
    stat(&opened, "HEAD".as_ref()).is_ok_and(|head| head.is_some_and(|head| kind(&head) != SFlag::S_IFDIR))
}

fn is_newer(git: &AbsPath, started: SystemTime) -> bool {
    let created = git.as_path().symlink_metadata().and_then(|metadata| metadata.created());
    created.is_ok_and(|created| created >= started)
}
