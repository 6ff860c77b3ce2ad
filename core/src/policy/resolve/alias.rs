//! Other mounts of what is hidden: the same directory must not be in sight elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::assembly::Assembly;
use super::base::template;
use super::draft::Layer;
use super::host::kind;
use crate::AbsPath;
use crate::policy::view::Mount;
use crate::policy::{Access, Source};

pub(super) fn hide(assembly: &mut Assembly<'_>) {
    let mounts = assembly.host.view.mounts();
    // Of several mounts on one point the last is in sight.
    let points: BTreeMap<&Path, &Mount> = mounts.iter().map(|mount| (mount.point.as_path(), mount)).collect();
    let mut devices: BTreeMap<&str, Vec<&Mount>> = BTreeMap::new();
    for mount in points.values() {
        devices.entry(&mount.device).or_default().push(mount);
    }
    devices.retain(|_, mounts| mounts.len() > 1);
    if devices.is_empty() {
        return;
    }
    for hidden in hidden(assembly) {
        let Some(own) = hidden.as_path().ancestors().find_map(|above| points.get(above)) else { continue };
        let Ok(below) = hidden.as_path().strip_prefix(own.point.as_path()) else { continue };
        let inside = own.root.join(below);
        let shared = devices.get(own.device.as_str()).into_iter().flatten();
        for other in shared.filter(|other| other.point != own.point) {
            list(assembly, &hidden, &inside, other);
        }
    }
}

/// Everything hidden but `/`, which is only not listed.
fn hidden(assembly: &Assembly<'_>) -> Vec<AbsPath> {
    let listed = assembly
        .draft
        .iter()
        .filter(|(path, listed)| listed.entry.access == Access::Hide && path.parent().is_some());
    listed.map(|(path, _)| path.clone()).collect()
}

/// Hides what `other` shows of `inside`, a path within the file system that both mounts share.
fn list(assembly: &mut Assembly<'_>, hidden: &AbsPath, inside: &Path, other: &Mount) {
    let Some(path) = alias(inside, other) else { return };
    if path.is_within(hidden) || path.parent().is_none() || template(&path).is_some() {
        return;
    }
    // Something else may be mounted over it.
    let (Ok(stat), Ok(original)) = (assembly.host.stat(&path), assembly.host.stat(hidden)) else { return };
    let is_part = path == other.point;
    if !is_part && (stat.device, stat.inode) != (original.device, original.inode) {
        return;
    }
    let source = Source::Alias(hidden.clone());
    assembly.list(path, Access::Hide, kind(stat.file), source, Layer::Alias);
}

fn alias(inside: &Path, other: &Mount) -> Option<AbsPath> {
    if let Ok(below) = inside.strip_prefix(&other.root) {
        let path: PathBuf = other.point.as_path().join(below);
        return AbsPath::new(path).ok();
    }
    other.root.starts_with(inside).then(|| other.point.clone())
}
