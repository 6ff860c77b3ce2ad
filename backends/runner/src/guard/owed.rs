//! What a policy owes, from the policy and a look at what is under way.

use std::collections::BTreeSet;

use confine_core::policy::fs::MissingProtected;
use confine_core::policy::{Access, Policy, Source};
use confine_core::{AbsPath, Effect, LaunchFault, LaunchStage, Text};

use super::{gitlinks, todo};
use crate::beneath::{Identity, Walk};
use crate::journal::{self, Account, Entry, Link, Made, Name, Repository, Stand};
use crate::placeholder;
use crate::places::Place;

/// Its appearance at the top of a workspace is a repository made by the run, or something that passes for one.
const GIT: &str = ".git";

/// Everything but what other runs share.
///
/// # Errors
/// A protected name that is missing, where the policy says `missing-protected = "refuse"`.
pub(super) fn entry(policy: &Policy, run: &str) -> Result<Entry, LaunchFault> {
    let fs = &policy.fs;
    let mut entry = Entry::of(run);
    entry.names = fs.missing.iter().filter_map(|path| name(policy, path)).collect();
    if let (MissingProtected::Refuse, Some(name)) = (fs.missing_protected, entry.names.first()) {
        let text = format!("protect `{}`: it does not exist", name.path);
        let fault = fault(text, &name.path);
        return Err(fault.help("create it, or use `missing-protected = \"watch\"`"));
    }
    let links = fs.protected_links.iter().filter(|link| writable_around(policy, &link.path));
    entry.links = links
        .map(|link| Link { path: link.path.clone(), target: Text::from(link.target.as_os_str()) })
        .collect();
    let repositories = fs.repositories.iter().filter(|path| is_guarded(policy, path));
    entry.repositories =
        repositories.map(|path| Repository { path: path.clone(), todos: todo::snapshot(path) }).collect();
    entry.trees = gitlinks::trees(policy);
    entry.placeholders = fs
        .placeholders
        .iter()
        .map(|(path, placeholder)| Stand { path: path.clone(), placeholder: *placeholder })
        .collect();
    entry.precreated = fs.precreate.iter().cloned().collect();
    let git = fs.workspaces.iter().filter_map(|workspace| workspace.join(GIT).ok());
    entry.names.extend(git.filter(is_absent).filter_map(|path| name(policy, &path)));
    Ok(entry)
}

/// Whether the policy has git's rules for a repository: `git = "open"` asks for nothing, `git = "protect"` for no check.
pub(super) fn is_guarded(policy: &Policy, repository: &AbsPath) -> bool {
    let below = |path: &AbsPath| path != repository && path.is_within(repository);
    policy.fs.access_at(repository) == Access::Write
        && policy.fs.entries.keys().chain(policy.fs.placeholders.keys()).any(below)
}

fn is_absent(path: &AbsPath) -> bool {
    path.as_path().symlink_metadata().is_err()
}

/// A missing name that the program could create: one in a write grant.
fn name(policy: &Policy, path: &AbsPath) -> Option<Name> {
    let (grant, listed) = policy.fs.listed_at(path)?;
    (listed.access == Access::Write).then(|| Name { path: path.clone(), grant })
}

/// A link is an entry of its directory.
fn writable_around(policy: &Policy, path: &AbsPath) -> bool {
    path.parent().is_some_and(|parent| policy.fs.access_at(&parent) == Access::Write)
}

/// Joins the placeholders of other runs that this policy took for real, and makes those again that went between the
/// look and now: their removal would take the mount above them away. To be called under the lock.
pub(super) fn adopt(policy: &Policy, state: &Place, entry: &mut Entry) -> Vec<Made> {
    let used = used(&journal::all(state));
    let own: BTreeSet<AbsPath> = entry.placeholders.iter().map(|stand| stand.path.clone()).collect();
    let carved: BTreeSet<AbsPath> = policy
        .fs
        .entries
        .iter()
        .filter(|(_, entry)| entry.access == Access::Protect && entry.source == Source::Git)
        .map(|(path, _)| path.clone())
        .collect();
    let below = |path: &AbsPath| carved.iter().chain(&own).any(|one| one.is_within(path));
    let shared: Vec<&(Stand, Identity)> = used.iter().filter(|(stand, _)| below(&stand.path)).collect();
    let gone = carved.iter().filter(|path| placeholder::at(path).is_none());
    let again =
        gone.filter_map(|path| Some(Stand { path: path.clone(), placeholder: placeholder::by_name(path)? }));
    entry.placeholders.extend(again);
    let joined = shared.iter().map(|(stand, _)| stand).filter(|stand| !own.contains(&stand.path));
    entry.placeholders.extend(joined.cloned());
    entry.placeholders.sort_by(|one, other| one.path.cmp(&other.path));
    entry.placeholders.dedup_by(|one, other| one.path == other.path);
    shared.iter().map(|(stand, identity)| Made { path: stand.path.clone(), identity: *identity }).collect()
}

/// The placeholders that others use and that are still what they were.
fn used(others: &[Account]) -> Vec<(Stand, Identity)> {
    let made = others.iter().flat_map(|account| account.made.iter().map(move |made| (account, made)));
    let unchanged = made.filter(|(_, made)| placeholder::at(&made.path) == Some(made.identity));
    unchanged
        .filter_map(|(account, made)| {
            let stand = account.entry.placeholders.iter().find(|stand| stand.path == made.path)?;
            Some((stand.clone(), made.identity))
        })
        .collect()
}

/// Whether the world is still what the policy was resolved against: a name that appeared since has no protection.
///
/// # Errors
/// The first name that is there now.
pub(super) fn still_missing(entry: &Entry) -> Result<(), LaunchFault> {
    let mut walk = Walk::default();
    for Name { path, .. } in &entry.names {
        let is_absent = match walk.stat(path) {
            Ok(found) => found.is_none(),
            Err(_) => is_absent(path),
        };
        if !is_absent {
            let text = format!("protect `{path}`: it appeared while the run was being prepared");
            return Err(fault(text, path).help("start again"));
        }
    }
    Ok(())
}

fn fault(text: String, path: &AbsPath) -> LaunchFault {
    let mut fault = LaunchFault::new(LaunchStage::Policy, text);
    fault.effect = Some(Effect::FsCarveOutNew);
    fault.path = Some(path.clone());
    fault
}
