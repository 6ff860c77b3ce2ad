//! The kernel's own name for a place: a profile is asked about that one only.

use std::collections::{BTreeMap, BTreeSet};

use confine_core::AbsPath;
use confine_core::policy::fs::ProtectedLink;
use confine_core::policy::{Entry, FsPlan};

/// Links at the root of every macOS, into `/private`.
pub(super) const LINKS: [&str; 3] = ["/etc", "/tmp", "/var"];

/// The plan by the kernel's names. A plan that was resolved on macOS has them already; where two spellings of a place are
/// listed, the one that allows less stays.
pub(super) fn real(plan: &FsPlan) -> FsPlan {
    let mut entries: BTreeMap<AbsPath, Entry> = BTreeMap::new();
    for (path, entry) in &plan.entries {
        let stays = |other: &Entry| other.access <= entry.access;
        let path = named(path);
        if !entries.get(&path).is_some_and(stays) {
            entries.insert(path, entry.clone());
        }
    }
    FsPlan {
        entries,
        missing: all(&plan.missing),
        protected_links: plan.protected_links.iter().map(relinked).collect(),
        precreate: all(&plan.precreate),
        placeholders: plan.placeholders.iter().map(|(path, what)| (named(path), *what)).collect(),
        ..plan.clone()
    }
}

fn relinked(link: &ProtectedLink) -> ProtectedLink {
    ProtectedLink { path: named(&link.path), target: link.target.clone() }
}

fn all(paths: &BTreeSet<AbsPath>) -> BTreeSet<AbsPath> {
    paths.iter().map(named).collect()
}

/// `/tmp/x` is `/private/tmp/x`.
fn named(path: &AbsPath) -> AbsPath {
    let linked = LINKS.iter().any(|link| path.as_path().starts_with(link));
    let inside = path.as_path().strip_prefix("/").ok().filter(|_| linked);
    let real = inside.and_then(|inside| AbsPath::new("/private").ok()?.join(inside).ok());
    real.unwrap_or_else(|| path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_link_of_the_root_is_named_by_where_it_is() {
        let path = |path: &str| AbsPath::new(path).unwrap();
        for (written, real) in [
            ("/tmp", "/private/tmp"),
            ("/var/folders/x", "/private/var/folders/x"),
            ("/etc/ssl", "/private/etc/ssl"),
            ("/variety", "/variety"),
            ("/private/tmp/x", "/private/tmp/x"),
            ("/", "/"),
        ] {
            assert_eq!(named(&path(written)), path(real));
        }
    }
}
