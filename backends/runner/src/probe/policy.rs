//! The policies that attempts are made under: the built-in `workspace-write`, and what the attempts need in addition.

use std::path::Path;

use confine_core::policy::fs::Symlinks;
use confine_core::policy::quantity::{Size, Span};
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{PolicyFile, Source};
use confine_core::{AbsPath, Effect, Policy, Text};

use super::attempt::Launch;
use super::limits;
use super::told::Orders;
use super::trial::TrialError;
use crate::places::Places;
use crate::view::HostView;

/// What a program needs to run at all, where it exists.
const SYSTEM: &[&str] = &["/bin", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/nix", "/usr"];

/// The policy of one launch. Every loss is accepted: what a backend does not enforce it says itself.
///
/// # Errors
/// Where it does not resolve here.
pub(super) fn policy(launch: Launch, orders: &Orders, program: &Path) -> Result<Policy, TrialError> {
    let unplaced = |error| TrialError::Place(std::io::Error::other(error));
    let workspace = AbsPath::new(orders.at("ws")).map_err(unplaced)?;
    let request = Request {
        layers: vec![Written {
            file: file(launch, orders, program),
            base: workspace.clone(),
            source: Source::BuiltIn,
        }],
        workspaces: vec![workspace.clone()],
        workspaces_named: true,
        cwd: workspace,
        own_directories: Places::here().own_directories(),
        own_files: Vec::new(),
    };
    resolve(&request, &HostView::here()).map_err(|error| TrialError::Policy(Box::new(error)))
}

fn file(launch: Launch, orders: &Orders, program: &Path) -> PolicyFile {
    let mut file = PolicyFile::builtin("workspace-write").unwrap_or_default();
    let text = |path: &Path| Text::from(path.as_os_str());
    let here = |below: &str| vec![text(&orders.at(below))];
    file.enforcement.accept_missing = Effect::ALL.to_vec();
    let (filesystem, bounds) = (&mut file.filesystem, &mut file.limits);
    let program = program.parent().unwrap_or(program);
    filesystem.read.get_or_insert_default().push(text(program));
    match launch {
        Launch::Whole => {
            filesystem.hide = here("hidden");
            filesystem.protect = here("ws/carved/kept");
            filesystem.symlinks = Some(Symlinks::Deny);
            bounds.cpu = Some(Span(limits::CPU));
            bounds.file_size = Some(Size(limits::FILE_SIZE));
            bounds.open_files = Some(limits::OPEN_FILES);
        }
        Launch::Narrow => {
            let there = SYSTEM.iter().map(Path::new).filter(|path| path.exists());
            filesystem.read = Some(there.chain([program]).map(text).collect());
            bounds.processes = Some(limits::PROCESSES);
        }
        Launch::Brief => bounds.time = Some(Span(limits::TIME)),
        Launch::Heavy => bounds.memory = Some(Size(limits::MEMORY)),
    }
    file
}
