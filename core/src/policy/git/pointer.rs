//! The `.git` file of a submodule or a linked worktree. What it says may come from an earlier run, so it is believed
//! only where the other end points back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Rules;
use crate::AbsPath;
use crate::policy::resolve::{Layer, kind};
use crate::policy::view::FileType;
use crate::policy::{Access, Source};

/// Why a pointer gives nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Ignored {
    #[error("ignored: it does not hold `gitdir: ` and a path")]
    Malformed,
    #[error("ignored: it names no git directory")]
    Nowhere,
    #[error("ignored: it leads out of the workspace, and not to a linked worktree")]
    NoWorktree,
    #[error("ignored: the worktree directory does not point back")]
    NoBackReference,
    #[error("ignored: the common directory is no repository of the caller's")]
    Foreign,
    #[error("ignored: it leads to a hidden place")]
    Hidden,
}

/// What of the common directory a commit in a linked worktree writes.
const COMMON: &[(&str, FileType)] = &[
    ("objects", FileType::Directory),
    ("refs", FileType::Directory),
    ("logs", FileType::Directory),
    ("packed-refs", FileType::File),
];

/// Applies the rules to where the pointer `dot_git` in `tree` leads.
pub(super) fn follow(rules: &mut Rules<'_, '_>, tree: &AbsPath, dot_git: &AbsPath) -> Result<(), Ignored> {
    let directory = target(rules, tree, dot_git)?;
    if !rules.assembly.places.workspaces.iter().any(|root| directory.is_within(root)) {
        return linked(rules, dot_git, &directory);
    }
    match common(&directory) {
        Some(common) if rules.exists(&directory, "gitdir") => {
            rules.worktree(&directory);
            rules.directory(&common);
        }
        _ => rules.directory(&directory),
    }
    Ok(())
}

/// The git directory that `dot_git` names.
pub(super) fn target(rules: &Rules<'_, '_>, tree: &AbsPath, dot_git: &AbsPath) -> Result<AbsPath, Ignored> {
    let text = rules.assembly.host.view.read(dot_git).map_err(|_| Ignored::Malformed)?;
    let target = text.strip_prefix(b"gitdir: ").ok_or(Ignored::Malformed)?;
    let directory = canonical(rules, tree, target).ok_or(Ignored::Nowhere)?;
    if rules.exists(&directory, "HEAD") { Ok(directory) } else { Err(Ignored::Nowhere) }
}

/// The common directory, by the place of a linked worktree's own one.
fn common(directory: &AbsPath) -> Option<AbsPath> {
    let above = directory.parent()?;
    if above.as_path().file_name()? == "worktrees" { above.parent() } else { None }
}

/// The canonical directory that the path in `line` means, relative to `base`.
fn canonical(rules: &Rules<'_, '_>, base: &AbsPath, line: &[u8]) -> Option<AbsPath> {
    let found = rules.assembly.host.realpath(&base.as_path().join(path(line)?)).ok()?;
    (found.stat.file == FileType::Directory).then_some(found.path)
}

/// The path in a line of git's: up to the end of the line.
fn path(line: &[u8]) -> Option<&Path> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let is_path = !line.is_empty() && !line.contains(&0) && !line.contains(&b'\n');
    is_path.then(|| Path::new(OsStr::from_bytes(line)))
}

/// A worktree whose repository lies outside of every workspace root.
fn linked(rules: &mut Rules<'_, '_>, dot_git: &AbsPath, directory: &AbsPath) -> Result<(), Ignored> {
    let common = common(directory).ok_or(Ignored::NoWorktree)?;
    points_back(rules, dot_git, directory, &common)?;
    if !is_callers_repository(rules, directory, &common) {
        return Err(Ignored::Foreign);
    }
    let hides = |path: &AbsPath| rules.assembly.draft.access_at(path) == Access::Hide;
    if hides(&common) || hides(directory) {
        return Err(Ignored::Hidden);
    }
    grant(rules, directory, common);
    Ok(())
}

fn points_back(
    rules: &Rules<'_, '_>,
    dot_git: &AbsPath,
    directory: &AbsPath,
    common: &AbsPath,
) -> Result<(), Ignored> {
    let read = |name: &str| rules.assembly.host.view.read(&directory.join(name).ok()?).ok();
    let back = read("gitdir").ok_or(Ignored::NoBackReference)?;
    let back = path(&back).ok_or(Ignored::NoBackReference)?;
    let back = rules.assembly.host.realpath(&directory.as_path().join(back));
    if !back.is_ok_and(|back| back.path == *dot_git) {
        return Err(Ignored::NoBackReference);
    }
    let named = read("commondir").and_then(|line| canonical(rules, directory, &line));
    if named.as_ref() == Some(common) { Ok(()) } else { Err(Ignored::NoBackReference) }
}

fn is_callers_repository(rules: &Rules<'_, '_>, directory: &AbsPath, common: &AbsPath) -> bool {
    let host = rules.assembly.host;
    let uid = host.view.uid();
    let is_callers = |path: &AbsPath| host.stat(path).is_ok_and(|stat| stat.uid == uid);
    let holds = |name: &str| common.join(name).is_ok_and(|path| host.is_directory(&path));
    is_callers(common)
        && is_callers(directory)
        && rules.exists(common, "HEAD")
        && holds("objects")
        && holds("refs")
}

/// Its own directory and what a commit writes of the common one are write grants; the rest of it is read-only, also
/// inside a wider grant.
fn grant(rules: &mut Rules<'_, '_>, directory: &AbsPath, common: AbsPath) {
    let mut list = |path: AbsPath, access: Access, file: FileType| {
        rules.assembly.list(path, access, kind(file), Source::Git, Layer::Git);
    };
    list(common.clone(), Access::Read, FileType::Directory);
    list(directory.clone(), Access::Write, FileType::Directory);
    for (name, file) in COMMON {
        let Ok(path) = common.join(name) else { continue };
        if rules.assembly.host.stat(&path).is_ok_and(|stat| stat.file == *file) {
            rules.assembly.list(path, Access::Write, kind(*file), Source::Git, Layer::Git);
        }
    }
    rules.assembly.repositories.insert(common);
    rules.worktree(directory);
}
