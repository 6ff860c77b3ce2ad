//! What the program cannot reach needs no mask: a directory above it lets the caller's user not pass.
//!
//! Nothing inside has a capability over it, and neither has what would mount the mask: in its user namespace root owns
//! nothing of an unmapped user's (user_namespaces(7)), so such a mask would fail every run.

use std::collections::BTreeMap;

use super::assembly::Assembly;
use crate::AbsPath;
use crate::policy::Access;

pub(super) fn forgo(assembly: &mut Assembly<'_>) {
    let hidden = assembly.draft.iter().filter(|(_, listed)| listed.entry.access == Access::Hide);
    let mut known: BTreeMap<AbsPath, bool> = BTreeMap::new();
    let mut is_reachable = |path: &AbsPath| {
        let Some(parent) = path.parent() else { return true };
        *known.entry(parent).or_insert_with(|| assembly.host.view.is_reachable(path))
    };
    let beyond: Vec<AbsPath> =
        hidden.map(|(path, _)| path).filter(|path| !is_reachable(path)).cloned().collect();
    beyond.iter().for_each(|path| assembly.draft.remove(path));
}
