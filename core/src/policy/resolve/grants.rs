//! Which of the user's entries count: links that the program could have made give nothing, and an approval's grant
//! opens nothing that is hidden.

use super::assembly::{Assembly, Target, Wanted};
use super::base;
use super::draft::Layer;
use super::places::record;
use super::{EntryFault, ResolveError};
use crate::AbsPath;
use crate::policy::{Access, Entry, Kind, Mode, Source};

/// Lists the workspace roots and what the layers want; grants of approvals are left in `assembly.wanted`.
pub(super) fn list(assembly: &mut Assembly<'_>) -> Result<(), ResolveError> {
    if assembly.settings.default_read {
        let entry = Entry { access: Access::Read, kind: Kind::Directory, source: Source::BuiltIn };
        assembly.draft.list(AbsPath::root(), entry, Layer::Written(0));
    }
    for root in workspace_grants(assembly) {
        assembly.list(root, Access::Write, Kind::Directory, Source::Workspace, Layer::Workspace);
    }
    let writable = writable(assembly);
    let (grants, written): (Vec<Wanted>, Vec<Wanted>) =
        std::mem::take(&mut assembly.wanted).into_iter().partition(|wanted| wanted.source == Source::Grant);
    for (index, wanted) in written.into_iter().enumerate() {
        if let Some(fault) = link_out(&wanted, &writable, Some(index)) {
            if wanted.literal {
                return Err(wanted.error(fault));
            }
            assembly.not_granted(&wanted.word, fault.to_string());
            continue;
        }
        admit(assembly, wanted);
    }
    assembly.wanted = grants;
    Ok(())
}

/// Lists the grants of approvals, which open nothing that is hidden.
pub(super) fn approve(assembly: &mut Assembly<'_>) -> Result<(), ResolveError> {
    let writable = writable(assembly);
    for wanted in std::mem::take(&mut assembly.wanted) {
        if let Some(fault) = link_out(&wanted, &writable, None) {
            return Err(wanted.error(fault));
        }
        if let Some(place) = hidden_by(assembly, &wanted) {
            return Err(wanted.error(EntryFault::Hidden(place)));
        }
        admit(assembly, wanted);
    }
    Ok(())
}

fn workspace_grants(assembly: &Assembly<'_>) -> Vec<AbsPath> {
    match assembly.settings.mode {
        Mode::ReadOnly => Vec::new(),
        Mode::WorkspaceWrite => assembly.places.workspaces.iter().cloned().collect(),
    }
}

/// A place that may be written, and which of the wanted entries says so.
type Writable = (AbsPath, Option<usize>);

fn writable(assembly: &Assembly<'_>) -> Vec<Writable> {
    let roots = workspace_grants(assembly).into_iter().map(|root| (root, None));
    let listed = assembly.draft.iter().filter(|(_, listed)| listed.entry.access == Access::Write);
    let listed = listed.map(|(path, _)| (path.clone(), None));
    let wanted = assembly.wanted.iter().filter(|wanted| wanted.source != Source::Grant).enumerate();
    let wanted = wanted.filter(|(_, wanted)| wanted.access == Access::Write);
    let wanted = wanted.map(|(index, wanted)| (wanted.path.clone(), Some(index)));
    roots.chain(listed).chain(wanted).collect()
}

/// A link on the way to a grant that lies where the program may write, and leads out of there.
fn link_out(wanted: &Wanted, writable: &[Writable], own: Option<usize>) -> Option<EntryFault> {
    if !matches!(wanted.access, Access::Read | Access::Write) || wanted.crossed.is_empty() {
        return None;
    }
    let others =
        || writable.iter().filter(|(_, index)| index.is_none() || *index != own).map(|(path, _)| path);
    if others().any(|grant| wanted.path.is_within(grant)) {
        return None;
    }
    let replaceable = |place: &AbsPath| others().any(|grant| place.is_within(grant));
    let link = wanted.crossed.iter().find(|link| replaceable(&link.place))?;
    Some(EntryFault::LinkOut { link: link.place.clone(), target: wanted.path.clone() })
}

/// The hidden place that a grant would open. Run-time directories and listening sockets are hidden by default only, and
/// one of their sockets may be granted.
fn hidden_by(assembly: &Assembly<'_>, wanted: &Wanted) -> Option<AbsPath> {
    if !matches!(wanted.access, Access::Read | Access::Write) {
        return None;
    }
    let (place, listed) = assembly.draft.nearest(wanted.path.as_path())?;
    let by_default = listed.layer == Layer::BuiltIn && place.parent().is_none();
    if listed.entry.access != Access::Hide || by_default {
        return None;
    }
    let socket = wanted.target == Target::Existing(Kind::Socket);
    let service = listed.layer == Layer::Listening
        || (listed.layer == Layer::BuiltIn && base::runtime(assembly.host).contains(place));
    if socket && service { None } else { Some(place.clone()) }
}

fn admit(assembly: &mut Assembly<'_>, wanted: Wanted) {
    record(&mut assembly.links, wanted.crossed);
    match wanted.target {
        Target::New => {
            assembly.precreate.insert(wanted.path);
        }
        Target::Existing(kind) => {
            let entry = Entry { access: wanted.access, kind, source: wanted.source };
            assembly.draft.list(wanted.path, entry, wanted.layer);
        }
    }
}
