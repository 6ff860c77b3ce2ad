//! Sockets that services of the host listen on: hidden one by one where they are in sight.

use super::assembly::Assembly;
use super::base::template;
use super::draft::Layer;
use crate::policy::view::FileType;
use crate::policy::{Access, Kind, Source};

pub(super) fn hide(assembly: &mut Assembly<'_>) {
    for socket in assembly.host.view.listening() {
        let Ok(found) = assembly.host.realpath(socket.as_path()) else { continue };
        if found.stat.file != FileType::Socket || template(&found.path).is_some() {
            continue;
        }
        if !assembly.draft.access_at(&found.path).shows_host() {
            continue;
        }
        assembly.list(found.path, Access::Hide, Kind::Socket, Source::Listening, Layer::Listening);
    }
}
