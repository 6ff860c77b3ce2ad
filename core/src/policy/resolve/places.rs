//! Home, working directory and workspace roots, canonical.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::host::{Absent, Crossed, Found, Host};
use super::{Request, ResolveError, WorkspaceFault, base};
use crate::AbsPath;
use crate::policy::builtin;
use crate::policy::view::FileType;

/// Where the user is.
pub(in crate::policy) struct Places {
    /// As the caller spells it.
    pub(in crate::policy) home: Option<AbsPath>,
    pub(in crate::policy) workspaces: BTreeSet<AbsPath>,
    /// Canonical directories that a hidden link may not swallow: home, working directory, workspaces.
    pub(in crate::policy) kept: BTreeSet<AbsPath>,
    /// Links on the way to them.
    pub(in crate::policy) links: BTreeMap<AbsPath, PathBuf>,
}

impl Places {
    pub(in crate::policy) fn find(request: &Request, host: &Host<'_>) -> Result<Self, ResolveError> {
        let home = host.view.home();
        let found_home = home.as_ref().and_then(|home| host.realpath(home.as_path()).ok());
        let mut places =
            Self { home, workspaces: BTreeSet::new(), kept: BTreeSet::new(), links: BTreeMap::new() };
        for root in &request.workspaces {
            let found = workspace(root, host)?;
            if !request.workspaces_named {
                check(&found.path, found_home.as_ref().map(|home| &home.path), host)
                    .map_err(|fault| ResolveError::Workspace { path: root.clone(), fault })?;
            }
            places.workspaces.insert(found.path.clone());
            places.keep(found);
        }
        // A missing working directory is the launcher's to report.
        let cwd = host.realpath(request.cwd.as_path()).ok();
        cwd.into_iter().chain(found_home).for_each(|found| places.keep(found));
        Ok(places)
    }

    fn keep(&mut self, found: Found) {
        self.kept.insert(found.path);
        record(&mut self.links, found.crossed);
    }
}

/// Adds the links of one look-up.
pub(in crate::policy) fn record(links: &mut BTreeMap<AbsPath, PathBuf>, crossed: Vec<Crossed>) {
    links.extend(crossed.into_iter().map(|link| (link.place, link.target)));
}

fn workspace(root: &AbsPath, host: &Host<'_>) -> Result<Found, ResolveError> {
    let fault = match host.realpath(root.as_path()) {
        Ok(found) if found.stat.file != FileType::Directory => WorkspaceFault::NotADirectory,
        Ok(found) if base::template(&found.path).is_some() => WorkspaceFault::Template,
        Ok(found) => return Ok(found),
        Err(Absent::Missing) => WorkspaceFault::Missing,
        Err(_) => WorkspaceFault::Unopenable,
    };
    Err(ResolveError::Workspace { path: root.clone(), fault })
}

/// What a root may not be unless the user named it.
fn check(root: &AbsPath, home: Option<&AbsPath>, host: &Host<'_>) -> Result<(), WorkspaceFault> {
    if root.parent().is_none() || home.is_some_and(|home| home.is_within(root)) {
        return Err(WorkspaceFault::TooWide);
    }
    if root.as_path().iter().any(|name| name == ".git") {
        return Err(WorkspaceFault::GitDirectory);
    }
    let hidden = builtin::HIDE.iter().filter_map(|entry| builtin::hidden_path(entry, host.view));
    let mut hidden = hidden.filter_map(|path| host.realpath(&path).ok());
    if hidden.any(|hidden| root.is_within(&hidden.path)) {
        return Err(WorkspaceFault::Hidden);
    }
    Ok(())
}
