//! The built-in protected names, at the top of a directory.

use super::assembly::Assembly;
use super::draft::Layer;
use super::host::kind;
use crate::AbsPath;
use crate::policy::{Access, Source, builtin};

/// Protects what exists of the built-in names in `root`, and takes note of what does not.
pub(in crate::policy) fn list(assembly: &mut Assembly<'_>, root: &AbsPath) {
    for name in builtin::PROTECT {
        if let Ok(path) = root.join(name) {
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
