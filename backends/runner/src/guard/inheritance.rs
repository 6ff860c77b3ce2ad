//! Names that appeared while one run watched them and that another run's mounts stand on since: moving such a file away
//! would take the other's mount with it, so the last of them moves it.
//!
//! Who starts writes down what it inherits before its mounts stand, and who ends looks at what is written down, both
//! under the lock. So a kill at any moment leaves the debt with an entry that somebody pays.

use std::collections::BTreeMap;

use confine_core::AbsPath;

use crate::beneath::Walk;
use crate::journal::{Account, Entry, Link, Mask, Name};

/// What the run of `entry` inherits from the others.
pub(super) fn inherit(entry: &Entry, others: &[Account]) -> Vec<Name> {
    let owed = others.iter().flat_map(|other| owed(&other.entry));
    let own = owed.filter(|name| stands_on(entry, &name.path));
    let names: BTreeMap<AbsPath, Name> = own.map(|name| (name.path.clone(), name)).collect();
    names.into_values().collect()
}

/// Whether a live run has to move `path` away, and no other may: its mounts stand on it.
pub(super) fn is_left(path: &AbsPath, alive: &[Account]) -> bool {
    let inherits = |entry: &Entry| entry.inherited.iter().any(|name| name.path == *path);
    alive.iter().any(|other| inherits(&other.entry) && stands_on(&other.entry, path))
}

/// Whether the run that watched `path` is still to make its checks.
pub(super) fn is_watched(path: &AbsPath, others: &[Account]) -> bool {
    let watches = |entry: &Entry| {
        entry.names.iter().any(|name| name.path == *path) || entry.links.iter().any(|link| link.path == *path)
    };
    others.iter().any(|other| watches(&other.entry))
}

/// The masks that another file is in the place of since launch.
pub(super) fn replaced(masks: &[Mask]) -> impl Iterator<Item = &Mask> {
    let mut walk = Walk::default();
    masks.iter().filter(move |mask| {
        mask.identity.is_some_and(|stood| walk.identity(&mask.path).is_some_and(|stands| stands != stood))
    })
}

fn stands_on(entry: &Entry, path: &AbsPath) -> bool {
    entry.masks.iter().any(|mask| mask.path.is_within(path))
}

fn owed(entry: &Entry) -> Vec<Name> {
    let around = |path: &AbsPath| Some(Name { path: path.clone(), grant: path.parent()? });
    let links = entry.links.iter().filter_map(|Link { path, .. }| around(path));
    let replaced = replaced(&entry.masks).filter_map(|mask| around(&mask.path));
    entry.names.iter().chain(&entry.inherited).cloned().chain(links).chain(replaced).collect()
}
