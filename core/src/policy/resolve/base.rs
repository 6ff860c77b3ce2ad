//! What every policy begins with: `/`, `/tmp`, `/run`, the built-in hidden places, and what of `/run` is open again.

use std::path::Path;

use super::draft::{Draft, Layer};
use super::host::{Found, Host, kind};
use crate::AbsPath;
use crate::policy::fs::Tmp;
use crate::policy::view::FileType;
use crate::policy::{Access, Entry, Kind, NetPlan, Source, builtin};

/// Directories of which the sandbox has its own, whatever the policy says.
const TEMPLATES: &[&str] = &["/proc", "/dev"];

/// The template that `path` lies in.
pub(in crate::policy) fn template(path: &AbsPath) -> Option<&'static str> {
    TEMPLATES.iter().copied().find(|template| path.as_path().starts_with(template))
}

fn entry(access: Access, kind: Kind) -> Entry {
    Entry { access, kind, source: Source::BuiltIn }
}

/// `/`, `/tmp`, the run-time directories, and the hidden set.
pub(in crate::policy) fn list(draft: &mut Draft, host: &Host<'_>, tmp: Tmp) {
    draft.list(AbsPath::root(), entry(Access::Hide, Kind::Directory), Layer::BuiltIn);
    let tmp = match tmp {
        Tmp::Private => Some(Access::Scratch),
        Tmp::Host => Some(Access::Write),
        Tmp::None => None,
    };
    if let (Some(access), Some(found)) = (tmp, directory(host, Path::new("/tmp"))) {
        draft.list(found.path, entry(access, Kind::Directory), Layer::BuiltIn);
    }
    for path in runtime(host) {
        draft.list(path, entry(Access::Hide, Kind::Directory), Layer::BuiltIn);
    }
    for path in builtin::HIDE.iter().filter_map(|entry| builtin::hidden_path(entry, host.view)) {
        hide(draft, host, &path);
    }
}

fn hide(draft: &mut Draft, host: &Host<'_>, path: &Path) {
    // What the caller cannot look at, the program cannot either.
    let Ok(found) = host.realpath(path) else { return };
    if found.path.parent().is_some() && template(&found.path).is_none() {
        draft.list(found.path, entry(Access::Hide, kind(found.stat.file)), Layer::BuiltIn);
    }
}

fn directory(host: &Host<'_>, path: &Path) -> Option<Found> {
    host.realpath(path).ok().filter(|found| {
        found.stat.file == FileType::Directory
            && found.path.parent().is_some()
            && template(&found.path).is_none()
    })
}

/// Where sockets of the host's services live: `/run`, `/var/run`, and the caller's own.
pub(in crate::policy) fn runtime(host: &Host<'_>) -> Vec<AbsPath> {
    let own = host.view.variable("XDG_RUNTIME_DIR").and_then(|path| AbsPath::new(path).ok());
    // A careless setting must not take away `/tmp`, or the home directory.
    let needed = [host.view.home(), AbsPath::new("/tmp").ok()].into_iter().flatten();
    let mut needed = needed.filter_map(|path| host.realpath(path.as_path()).ok());
    let place = own.as_ref().and_then(|own| directory(host, own.as_path()));
    let swallows = place.is_some_and(|own| needed.any(|needed| needed.path.is_within(&own.path)));
    let own = own.as_ref().map(AbsPath::as_path).filter(|_| !swallows);
    let places = [Some(Path::new("/run")), Some(Path::new("/var/run")), own];
    places.into_iter().flatten().filter_map(|path| directory(host, path)).map(|found| found.path).collect()
}

/// Readable inside `/run` although it is hidden: where name look-ups lead when there is a network, and NixOS.
const SYSTEM: &[&str] = &["/run/current-system", "/run/opengl-driver"];
const RESOLVER: &str = "/etc/resolv.conf";

/// Opens again what programs need of the run-time directories, unless the user hid it.
pub(in crate::policy) fn reopen(draft: &mut Draft, host: &Host<'_>, net: NetPlan) -> Vec<Found> {
    if draft.access_at(&AbsPath::root()) == Access::Hide {
        return Vec::new();
    }
    let resolver = (net == NetPlan::Open).then_some(RESOLVER);
    let wanted = resolver.into_iter().chain(SYSTEM.iter().copied());
    let found: Vec<Found> = wanted.filter_map(|path| host.realpath(Path::new(path)).ok()).collect();
    let runtime = runtime(host);
    found.into_iter().filter(|found| open(draft, found, &runtime)).collect()
}

fn open(draft: &mut Draft, found: &Found, runtime: &[AbsPath]) -> bool {
    let Some((place, listed)) = draft.nearest(found.path.as_path()) else { return false };
    let hidden = listed.entry.access == Access::Hide && listed.layer == Layer::BuiltIn;
    if !hidden || !runtime.contains(place) || place == &found.path {
        return false;
    }
    draft.list(found.path.clone(), entry(Access::Read, kind(found.stat.file)), Layer::BuiltIn);
    true
}
