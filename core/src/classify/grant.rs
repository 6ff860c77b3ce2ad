//! The smallest grant that would let an act pass.

use super::Permissions;
use super::sandbox::{Block, Sandbox};
use crate::denial::{Attempt, Target};
use crate::policy::{Access, Source};
use crate::{AbsPath, Effect};

/// What of a git directory stays protected where committing works.
const SETTINGS: &[&str] = &["hooks", "config", "config.worktree", "commondir", "info/attributes"];
/// Where the kernel itself is read and set: nothing there is offered but a device as such.
const KERNEL: &[&str] = &["/proc", "/sys", "/dev"];

/// The smallest grant that would let `attempt` at `path` pass what `block` says; `None` where none would, which is so
/// for every hidden path and for everything below `/proc`, `/sys` and `/dev` that is no device.
pub fn smallest(
    sandbox: &Sandbox<'_>,
    block: &Block,
    path: &AbsPath,
    attempt: Attempt,
    permissions: &dyn Permissions,
) -> Option<Target> {
    let grant = of_block(sandbox, block, path, attempt, permissions)?;
    let helps = |at: &AbsPath| !sandbox.shows(at) || permissions.needs_no_privilege(at, attempt);
    let is_enough = match &grant {
        Target::Read(at) | Target::Write(at) | Target::Socket(at) | Target::Device(at) => helps(at),
        _ => true,
    };
    (is_enough && !is_of_kernel(&grant)).then_some(grant)
}

fn is_of_kernel(grant: &Target) -> bool {
    let (Target::Read(path) | Target::Write(path) | Target::Precreate(path) | Target::Socket(path)) = grant
    else {
        return false;
    };
    KERNEL.iter().any(|top| path.as_path().starts_with(top))
}

fn of_block(
    sandbox: &Sandbox<'_>,
    block: &Block,
    path: &AbsPath,
    attempt: Attempt,
    permissions: &dyn Permissions,
) -> Option<Target> {
    let rule = block.rule.as_ref();
    let source = rule.map(|rule| &rule.source);
    let hides = rule.is_some_and(|rule| {
        rule.access == Access::Hide && rule.path != AbsPath::root() && rule.source != Source::Listening
    });
    match block.effect {
        _ if hides => None,
        Effect::ProcSysctl | Effect::FsSetid | Effect::FsSymlink | Effect::ProcNamespace => None,
        Effect::NetUnixPath => Some(Target::Socket(path.clone())),
        Effect::FsDevice => Some(Target::Device(path.clone())),
        Effect::FsRead | Effect::FsHide => Some(Target::Read(path.clone())),
        Effect::FsCarveOutNew => Some(Target::Git("open".to_owned())),
        Effect::FsCarveOut if source == Some(&Source::Git) => Some(Target::Git(git(sandbox, block, path))),
        // Who protects a name by name does not grant it beside that; and what lies below holds its directory.
        Effect::FsCarveOut if source != Some(&Source::BuiltIn) => None,
        Effect::FsCarveOut => {
            rule.filter(|rule| path.is_within(&rule.path)).map(|rule| Target::Write(rule.path.clone()))
        }
        _ => written(sandbox, path, attempt, permissions),
    }
}

/// Where the whole directory is protected, committing may be all that is wanted.
fn git(sandbox: &Sandbox<'_>, block: &Block, path: &AbsPath) -> String {
    let directory = block.rule.as_ref().map(|rule| &rule.path);
    let whole = directory.filter(|directory| sandbox.policy.fs.repositories.contains(*directory));
    let is_setting = |directory: &AbsPath| {
        SETTINGS.iter().filter_map(|name| directory.join(name).ok()).any(|name| path.is_within(&name))
    };
    let word = if whole.is_some_and(|directory| !is_setting(directory)) { "work" } else { "open" };
    word.to_owned()
}

fn written(
    sandbox: &Sandbox<'_>,
    path: &AbsPath,
    attempt: Attempt,
    permissions: &dyn Permissions,
) -> Option<Target> {
    // A grant of one form or another would tell what is out of view.
    let exists = |path: &AbsPath| if sandbox.shows(path) { permissions.exists(path) } else { None };
    let is_there = exists(path);
    match attempt {
        // A name is made and removed in its directory.
        Attempt::MakeDirectory | Attempt::Make | Attempt::Rename | Attempt::Link | Attempt::Remove => {
            directory(path, exists)
        }
        Attempt::Create if is_there.is_none() => Some(Target::Precreate(path.clone())),
        _ if is_there == Some(false) => {
            let parent = path.parent()?;
            let has_place = exists(&parent) != Some(false);
            if has_place { Some(Target::Precreate(path.clone())) } else { directory(path, exists) }
        }
        _ => Some(Target::Write(path.clone())),
    }
}

/// The nearest directory above that is there, unless that is everything.
fn directory(path: &AbsPath, exists: impl Fn(&AbsPath) -> Option<bool>) -> Option<Target> {
    let mut above = path.ancestors().skip(1);
    let place = above.find(|above| exists(above) != Some(false))?;
    (place != AbsPath::root()).then_some(Target::Write(place))
}
