//! confine keeps its own places for itself: no write grant at or below one, and hidden inside a wider grant.

use super::assembly::Assembly;
use super::draft::Layer;
use super::host::kind;
use super::{EntryFault, ResolveError};
use crate::policy::{Access, Kind, Source};
use crate::{AbsPath, Text};

/// What a place is, while it does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    Directory,
    File,
}

pub(super) fn keep(assembly: &mut Assembly<'_>) -> Result<(), ResolveError> {
    let request = assembly.request;
    let directories = request.own_directories.iter().map(|path| (path, Own::Directory));
    let files = request.own_files.iter().map(|path| (path, Own::File));
    for (path, own) in directories.chain(files) {
        let (place, found) = match assembly.host.realpath(path.as_path()) {
            Ok(found) => (found.path, Some(kind(found.stat.file))),
            Err(_) => match assembly.host.place(path.as_path()) {
                Ok((place, _)) => (place, None),
                Err(_) => (path.clone(), None),
            },
        };
        refuse(assembly, &place)?;
        cover(assembly, place, found, own)?;
    }
    Ok(())
}

fn refuse(assembly: &Assembly<'_>, place: &AbsPath) -> Result<(), ResolveError> {
    if let Some(path) = assembly.precreate.iter().find(|path| path.is_within(place)) {
        return Err(error("precreate", path, Source::CommandLine, place));
    }
    let mut inside = assembly.draft.iter().filter(|(path, _)| path.is_within(place));
    let Some((path, listed)) = inside.find(|(_, listed)| listed.entry.access == Access::Write) else {
        return Ok(());
    };
    if listed.entry.source == Source::Workspace {
        return Err(ResolveError::OwnWorkspace { path: path.clone(), place: place.clone() });
    }
    let key = match listed.entry.kind {
        Kind::Socket => "sockets",
        Kind::Device => "devices",
        Kind::File | Kind::Directory => "write",
    };
    Err(error(key, path, listed.entry.source.clone(), place))
}

fn error(key: &'static str, path: &AbsPath, source_of: Source, place: &AbsPath) -> ResolveError {
    let entry = Text::from(path.to_os_string());
    ResolveError::Entry { key, entry, source_of, fault: EntryFault::Own(place.clone()) }
}

fn cover(
    assembly: &mut Assembly<'_>,
    place: AbsPath,
    found: Option<Kind>,
    own: Own,
) -> Result<(), ResolveError> {
    let Some(above) = place.parent() else { return Ok(()) };
    let Some((grant, listed)) = assembly.draft.nearest(above.as_path()) else { return Ok(()) };
    if listed.entry.access != Access::Write {
        return Ok(());
    }
    match (found, own) {
        (Some(kind), _) => assembly.list(place, Access::Hide, kind, Source::Own, Layer::Own),
        (None, Own::File) => return Err(ResolveError::OwnFile { grant: grant.clone(), path: place }),
        (None, Own::Directory) => {
            assembly.missing.insert(place);
        }
    }
    Ok(())
}
