//! The plan while it is being made: listed paths with their ranks, and the last pass that leaves only what says
//! something.

use std::collections::BTreeMap;
use std::path::Path;

use crate::AbsPath;
use crate::policy::{Access, Entry, Kind, Source};

/// The layers that no one wrote, in the order in which later ones replace earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::policy) enum Layer {
    BuiltIn,
    Git,
    Workspace,
    Listening,
    Alias,
    /// The layers of the request, by their place in it.
    Written(usize),
    /// What confine keeps for itself; nothing replaces it.
    Own,
}

/// An entry, and what it takes to replace it.
#[derive(Clone, Debug)]
pub(in crate::policy) struct Listed {
    pub(in crate::policy) entry: Entry,
    pub(in crate::policy) layer: Layer,
}

impl Listed {
    fn rank(&self) -> (Layer, u8) {
        (self.layer, weight(self.entry.access))
    }
}

/// Within one layer hide > protect > write > read.
const fn weight(access: Access) -> u8 {
    match access {
        Access::Read => 0,
        Access::Scratch => 1,
        Access::Write => 2,
        Access::Protect => 3,
        Access::Hide => 4,
    }
}

/// Listed paths.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct Draft {
    entries: BTreeMap<AbsPath, Listed>,
}

impl Draft {
    /// Lists `path`, unless what is listed there outranks it.
    pub(in crate::policy) fn list(&mut self, path: AbsPath, entry: Entry, layer: Layer) {
        let listed = Listed { entry, layer };
        match self.entries.get(path.as_path()) {
            Some(known) if known.rank() >= listed.rank() => {}
            _ => {
                self.entries.insert(path, listed);
            }
        }
    }

    pub(in crate::policy) fn at(&self, path: &Path) -> Option<&Listed> {
        self.entries.get(path)
    }

    pub(in crate::policy) fn iter(&self) -> impl Iterator<Item = (&AbsPath, &Listed)> {
        self.entries.iter()
    }

    pub(in crate::policy) fn remove(&mut self, path: &AbsPath) {
        self.entries.remove(path);
    }

    /// The nearest listed ancestor of `path`, or itself.
    pub(in crate::policy) fn nearest(&self, path: &Path) -> Option<(&AbsPath, &Listed)> {
        path.ancestors().find_map(|above| self.entries.get_key_value(above))
    }

    pub(in crate::policy) fn access_at(&self, path: &AbsPath) -> Access {
        self.nearest(path.as_path()).map_or(Access::Hide, |(_, listed)| listed.entry.access)
    }

    /// What is left when every entry that says what its nearest ancestor says is gone.
    ///
    /// An entry below another of the same kind would cost a mount, and make renames across it fail. Ancestors come
    /// first in the order of paths, so one pass sees each entry's final ancestor.
    pub(in crate::policy) fn prune(self) -> BTreeMap<AbsPath, Entry> {
        let mut kept: BTreeMap<AbsPath, Entry> = BTreeMap::new();
        for (path, Listed { mut entry, .. }) in self.entries {
            let above =
                path.as_path().ancestors().find_map(|above| kept.get(above)).map(|entry| entry.access);
            let Some(above) = above else {
                kept.insert(path, entry);
                continue;
            };
            if let Some(access) = settled(&entry, above) {
                entry.access = access;
                kept.insert(path, entry);
            }
        }
        kept
    }
}

/// The access of `entry` below a place with access `above`; `None` where it says nothing new.
fn settled(entry: &Entry, above: Access) -> Option<Access> {
    if entry.access == Access::Write && matches!(entry.kind, Kind::Socket | Kind::Device) {
        return Some(Access::Write);
    }
    match (entry.access, above) {
        // Where nothing can be written there is nothing to protect, and below a hidden place it would show it.
        (Access::Protect, above) => (above == Access::Write).then_some(Access::Protect),
        // Read-only inside a write grant is what protecting is.
        (Access::Read, Access::Write) => Some(Access::Protect),
        (Access::Read, Access::Protect) => None,
        // The host's files are out of sight there already.
        (Access::Hide, Access::Scratch) => is_chosen(&entry.source).then_some(Access::Hide),
        (access, above) => (access != above).then_some(access),
    }
}

fn is_chosen(source: &Source) -> bool {
    matches!(source, Source::File(_) | Source::CommandLine | Source::Grant)
}
