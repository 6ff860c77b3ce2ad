//! Where repositories are below a workspace root.

use std::collections::VecDeque;

use crate::AbsPath;
use crate::policy::View;

/// How many directory entries are looked at below one root.
pub(super) const ENTRIES: usize = 2_000;
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
}

/// Directories at or below `root` that hold a `.git`, by breadth. Links are not followed.
pub(super) fn trees(root: &AbsPath, view: &dyn View) -> Trees {
    let mut trees = Trees { found: Vec::new(), complete: true };
    let mut queue = VecDeque::from([(root.clone(), 0)]);
    let mut left = ENTRIES;
    while let Some((here, depth)) = queue.pop_front() {
        // Listing what is no directory fails as fast as looking at it would tell.
        let Ok(mut names) = view.list(&here) else { continue };
        if names.iter().any(|name| name == ".git") {
            trees.found.push(here.clone());
        }
        if depth == DEPTH {
            continue;
        }
        names.retain(|name| !SKIPPED.iter().any(|skipped| name == skipped));
        names.sort_unstable();
        trees.complete &= names.len() <= left;
        names.truncate(left);
        left -= names.len();
        queue.extend(names.iter().filter_map(|name| Some((here.join(name).ok()?, depth + 1))));
    }
    trees
}
