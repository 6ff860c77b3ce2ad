//! Whether one policy allows all that another does, so that a workspace's own policy can be shown to only narrow.

use std::collections::BTreeMap;

use crate::AbsPath;
use crate::policy::fs::{MissingProtected, Proc, Symlinks};
use crate::policy::{Access, Background, Entry, EnvPlan, FsPlan, Kind, Limits, NetPlan, Policy};

impl Policy {
    /// Whether `self` allows everything that `other` allows, and demands nothing more. `false` where unsure.
    ///
    /// Both are resolved against the same view; the working directory plays no part.
    pub fn covers(&self, other: &Policy) -> bool {
        self.mode >= other.mode
            && self.fs.covers(&other.fs)
            && (self.net == other.net || self.net == NetPlan::Open)
            && self.env.covers(&other.env)
            && self.limits.covers(&other.limits)
            && self.approval >= other.approval
            && self.audit >= other.audit
            && (self.nested || !other.nested)
            && self.require.without(&other.require).is_empty()
            && other.accept_missing.without(&self.accept_missing).is_empty()
    }
}

/// Whether access `more` shows and lets change all that `less` does. A private directory shows nothing of the host's,
/// so it covers no access that does.
const fn allows(more: Access, less: Access) -> bool {
    match less {
        Access::Hide => true,
        Access::Protect | Access::Read => more.shows_host(),
        Access::Scratch => matches!(more, Access::Scratch | Access::Write),
        Access::Write => matches!(more, Access::Write),
    }
}

impl FsPlan {
    fn covers(&self, other: &Self) -> bool {
        // Between listed paths neither plan changes its word, so these are all the places to compare.
        let mut places = self.entries.keys().chain(other.entries.keys()).chain(&other.precreate);
        places.all(|path| allows(self.access_at(path), other.access_at(path)))
            && other.special().all(|(path, entry)| self.lists(path, entry))
            && other.precreate.iter().all(|path| self.precreate.contains(path) || self.listed_write(path))
            && (self.proc == other.proc || other.proc == Proc::Fresh)
            && (self.symlinks == other.symlinks || other.symlinks == Symlinks::Deny)
            && self.guards(other)
    }

    /// Sockets and devices, which no directory's access stands for.
    fn special(&self) -> impl Iterator<Item = (&AbsPath, &Entry)> {
        let special = |kind| matches!(kind, Kind::Socket | Kind::Device);
        self.entries.iter().filter(move |(_, entry)| special(entry.kind) && entry.access == Access::Write)
    }

    fn lists(&self, path: &AbsPath, wanted: &Entry) -> bool {
        self.entries.get(path).is_some_and(|entry| entry.access == wanted.access && entry.kind == wanted.kind)
    }

    fn listed_write(&self, path: &AbsPath) -> bool {
        self.listed_at(path).is_some_and(|(_, entry)| entry.access == Access::Write)
    }

    /// Whether `other` keeps every guard of `self` that it has a use for.
    fn guards(&self, other: &Self) -> bool {
        let missing =
            self.missing.iter().all(|path| other.missing.contains(path) || !other.listed_write(path));
        let placeholders = subset(&self.placeholders, &other.placeholders, |path| !other.listed_write(path));
        let mut links = self.protected_links.iter();
        let links = links.all(|link| other.protected_links.contains(link) || !other.listed_write(&link.path));
        let mode = self.missing_protected == other.missing_protected
            || other.missing_protected == MissingProtected::Refuse;
        missing && placeholders && links && mode
    }
}

/// Whether every entry of `less` is in `more`, or needless there.
fn subset<V: PartialEq>(
    less: &BTreeMap<AbsPath, V>,
    more: &BTreeMap<AbsPath, V>,
    needless: impl Fn(&AbsPath) -> bool,
) -> bool {
    less.iter().all(|(path, value)| more.get(path) == Some(value) || needless(path))
}

impl EnvPlan {
    fn covers(&self, other: &Self) -> bool {
        let passes = |name: &String| self.pass.iter().any(|pattern| includes(pattern, name));
        // What one sets replaces what the other would have passed or left out.
        other.pass.iter().all(passes) && other.set == self.set
    }
}

/// Whether the names that `less` stands for are among those of `more`.
fn includes(more: &str, less: &str) -> bool {
    match more.strip_suffix('*') {
        Some(prefix) => less.strip_suffix('*').unwrap_or(less).starts_with(prefix),
        None => more == less,
    }
}

impl Limits {
    fn covers(&self, other: &Self) -> bool {
        within(self.time, other.time)
            && within(self.memory, other.memory)
            && within(self.processes, other.processes)
            && within(self.cpu, other.cpu)
            && within(self.file_size, other.file_size)
            && within(self.open_files, other.open_files)
            && (self.background == other.background || other.background == Background::Deny)
    }
}

fn within<T: PartialOrd>(bound: Option<T>, limit: Option<T>) -> bool {
    match (bound, limit) {
        (None, _) => true,
        (Some(bound), Some(limit)) => limit <= bound,
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests;
