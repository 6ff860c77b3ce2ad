//! The built-in protected names, at the top of a directory.

use super::assembly::Assembly;
use super::draft::Layer;
use super::host::kind;
use crate::AbsPath;
use crate::policy::{Access, Source, builtin};

/// Protects what exists of the built-in names in `root`, and takes note of what does not; those of the home directory too,
/// where that lies in it.
pub(in crate::policy) fn list(assembly: &mut Assembly<'_>, root: &AbsPath) {
    let home = assembly.host.view.home().and_then(|home| assembly.host.realpath(home.as_path()).ok());
    let home = home.map(|home| home.path).filter(|home| home.is_within(root));
    let in_home = home.iter().flat_map(|home| builtin::HOME.iter().map(move |name| (home, name)));
    for (place, name) in builtin::PROTECT.iter().map(|name| (root, name)).chain(in_home) {
        if let Ok(path) = place.join(name) {
            protect(assembly, &path, Source::BuiltIn, Layer::BuiltIn);
        }
    }
}

/// Protects one name, whose parent is canonical. `false` where it does not exist.
pub(in crate::policy) fn protect(
    assembly: &mut Assembly<'_>,
    path: &AbsPath,
    source: Source,
    layer: Layer,
) -> bool {
    let Ok(found) = assembly.host.realpath(path.as_path()) else {
        assembly.miss(path.as_path());
        return false;
    };
    assembly.protect_links(&found.crossed);
    assembly.list(found.path, Access::Protect, kind(found.stat.file), source, layer);
    true
}
