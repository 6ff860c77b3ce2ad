//! Where repositories are below a workspace root.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;

use crate::AbsPath;
use crate::policy::View;
use crate::policy::view::FileType;

/// How many directory entries are looked at below one root; those that say themselves that they are no directory do not
/// count.
pub(super) const ENTRIES: usize = 20_000;
/// How deep: a repository at `root/a/b/c` is found.
const DEPTH: usize = 3;
/// Directories with very many entries and no work of the user's.
const SKIPPED: &[&str] = &[".git", "node_modules", "target"];

/// What a scan found.
pub(super) struct Trees {
    /// Directories with a `.git`, nearer ones first.
    pub(super) found: Vec<AbsPath>,
    /// Whether everything within the depth was looked at.
    pub(super) complete: bool,
    /// Directories of the caller's own that may not be listed: the program could open them again.
    pub(super) closed: Vec<AbsPath>,
}

/// Whether a directory that cannot be listed is the caller's own.
pub(super) fn is_closed(view: &dyn View, directory: &AbsPath, error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
        && view.stat(directory).is_ok_and(|stat| stat.uid == view.uid())
}

/// Directories at or below `root` that hold a `.git`, by breadth. Links are not followed.
pub(super) fn trees(root: &AbsPath, view: &dyn View) -> Trees {
    let mut trees = Trees { found: Vec::new(), complete: true, closed: Vec::new() };
    let mut queue = VecDeque::from([(root.clone(), None, 0)]);
    let mut left = ENTRIES;
    while let Some((here, file, depth)) = queue.pop_front() {
        if depth == DEPTH && file == Some(FileType::Directory) {
            // Below it nothing is of interest, and one look is cheaper than a list.
            if here.join(".git").is_ok_and(|dot_git| view.stat(&dot_git).is_ok()) {
                trees.found.push(here);
            }
            continue;
        }
        // Where the type is unknown, listing fails as fast as looking would tell, and follows no link.
        let mut entries = match view.list_types(&here) {
            Ok(entries) => entries,
            Err(error) => {
                if is_closed(view, &here, &error) {
                    trees.closed.push(here);
                }
                continue;
            }
        };
        if entries.iter().any(|(name, _)| name == ".git") {
            trees.found.push(here.clone());
        }
        if depth == DEPTH {
            continue;
        }
        entries.retain(|(name, file)| may_hold(name, *file));
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        trees.complete &= entries.len() <= left;
        entries.truncate(left);
        left -= entries.len();
        let below = entries.iter().filter_map(|(name, file)| Some((here.join(name).ok()?, *file, depth + 1)));
        queue.extend(below);
    }
    trees
}

fn may_hold(name: &OsStr, file: Option<FileType>) -> bool {
    matches!(file, None | Some(FileType::Directory)) && !SKIPPED.iter().any(|skipped| name == *skipped)
}
