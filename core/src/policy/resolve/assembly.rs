//! Everything that a resolution gathers on its way to a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::draft::{Draft, Layer};
use super::host::{Crossed, Host};
use super::places::Places;
use super::settings::Settings;
use super::{EntryFault, Request, ResolveError};
use crate::policy::fs::{NotGranted, Placeholder, ProtectedLink};
use crate::policy::view::FileType;
use crate::policy::{Access, Entry, FsPlan, Kind, Source};
use crate::{AbsPath, Text};

/// What an entry leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy) enum Target {
    Existing(Kind),
    /// A file that is made before the run.
    New,
}

/// An entry of the user's, at its canonical path.
#[derive(Clone, Debug)]
pub(in crate::policy) struct Wanted {
    pub(super) key: &'static str,
    pub(super) word: Text,
    pub(super) path: AbsPath,
    pub(super) access: Access,
    pub(super) target: Target,
    pub(super) source: Source,
    pub(super) layer: Layer,
    /// Whether it is the command line's or a grant's, where nothing is ignored.
    pub(super) literal: bool,
    pub(super) crossed: Vec<Crossed>,
}

impl Wanted {
    pub(super) fn error(&self, fault: EntryFault) -> ResolveError {
        ResolveError::Entry { key: self.key, entry: self.word.clone(), source_of: self.source.clone(), fault }
    }
}

/// A plan in the making.
pub(in crate::policy) struct Assembly<'a> {
    pub(in crate::policy) request: &'a Request,
    pub(in crate::policy) host: &'a Host<'a>,
    pub(in crate::policy) settings: &'a Settings,
    pub(in crate::policy) places: Places,
    pub(in crate::policy) draft: Draft,
    pub(in crate::policy) wanted: Vec<Wanted>,
    pub(in crate::policy) links: BTreeMap<AbsPath, PathBuf>,
    pub(in crate::policy) missing: BTreeSet<AbsPath>,
    pub(in crate::policy) placeholders: BTreeMap<AbsPath, Placeholder>,
    pub(in crate::policy) protected_links: BTreeMap<AbsPath, PathBuf>,
    pub(in crate::policy) repositories: BTreeSet<AbsPath>,
    pub(in crate::policy) precreate: BTreeSet<AbsPath>,
    pub(in crate::policy) not_granted: Vec<NotGranted>,
}

impl<'a> Assembly<'a> {
    pub(super) fn new(
        request: &'a Request,
        host: &'a Host<'a>,
        settings: &'a Settings,
        places: Places,
    ) -> Self {
        Self {
            request,
            host,
            settings,
            places,
            draft: Draft::default(),
            wanted: Vec::new(),
            links: BTreeMap::new(),
            missing: BTreeSet::new(),
            placeholders: BTreeMap::new(),
            protected_links: BTreeMap::new(),
            repositories: BTreeSet::new(),
            precreate: BTreeSet::new(),
            not_granted: Vec::new(),
        }
    }

    /// Lists an entry that no one wrote.
    pub(in crate::policy) fn list(
        &mut self,
        path: AbsPath,
        access: Access,
        kind: Kind,
        source: Source,
        layer: Layer,
    ) {
        self.draft.list(path, Entry { access, kind, source }, layer);
    }

    pub(in crate::policy) fn not_granted(&mut self, entry: &Text, why: impl Into<String>) {
        self.not_granted.push(NotGranted { entry: entry.clone(), reason: why.into().into() });
    }

    /// Links that a protected or hidden name leads through; those that the program could replace are kept at the end.
    pub(in crate::policy) fn protect_links(&mut self, crossed: &[Crossed]) {
        self.protected_links.extend(crossed.iter().map(|link| (link.place.clone(), link.target.clone())));
    }

    /// Takes note of a protected name with nothing there: a dangling link, or missing. `false` where not even its
    /// directory exists.
    pub(in crate::policy) fn miss(&mut self, path: &Path) -> bool {
        let Ok((place, crossed)) = self.host.place(path) else { return false };
        self.protect_links(&crossed);
        if !self.host.stat(&place).is_ok_and(|stat| stat.file == FileType::Link) {
            self.missing.insert(place);
            return true;
        }
        if let Ok(target) = self.host.view.read_link(&place) {
            self.protected_links.insert(place, target);
        }
        true
    }

    /// The plan: whatever says nothing is gone.
    pub(super) fn finish(mut self) -> FsPlan {
        let entries = std::mem::take(&mut self.draft).prune();
        let is_writable = |path: &AbsPath| {
            let nearest = path.as_path().ancestors().find_map(|above| entries.get(above));
            nearest.is_some_and(|entry| entry.access == Access::Write)
        };
        let protected_links = self.protected_links.into_iter().filter(|(path, _)| is_writable(path));
        FsPlan {
            missing: self.missing.into_iter().filter(is_writable).collect(),
            placeholders: self.placeholders.into_iter().filter(|(path, _)| is_writable(path)).collect(),
            protected_links: protected_links.map(|(path, target)| ProtectedLink { path, target }).collect(),
            links: self.links,
            repositories: self.repositories,
            workspaces: self.places.workspaces,
            precreate: self.precreate,
            not_granted: self.not_granted,
            tmp: self.settings.tmp,
            proc: self.settings.proc,
            symlinks: self.settings.symlinks,
            missing_protected: self.settings.missing_protected,
            entries,
        }
    }
}
