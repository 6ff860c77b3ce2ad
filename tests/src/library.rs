//! The runner's library as a harness author uses it, for what the command line cannot show.

use std::path::Path;

use confine_core::policy::resolve::{Request, ResolveError, Written, resolve};
use confine_core::policy::{Policy, PolicyFile, Source};
use confine_core::{AbsPath, Effects};
use confine_runner::view::HostView;
use confine_runner::{Builder, Confine};

use crate::installation;

/// A [`Builder`] with the stage under test.
pub fn builder() -> Builder {
    Confine::builder().stage(installation::stage())
}

/// The built-in policy `workspace-write` on `workspace`, accepting `losses`.
///
/// # Panics
/// When it does not resolve.
pub fn workspace_write(workspace: &Path, losses: &str) -> Policy {
    let mut policy = resolved(workspace, []).expect("the policy resolves");
    policy.accept_missing.extend(losses.parse::<Effects>().expect("effects"));
    policy
}

/// The same with one more layer.
///
/// # Errors
/// As [`resolve`].
pub fn widened(workspace: &Path, layer: &Written) -> Result<Policy, ResolveError> {
    resolved(workspace, [layer.clone()])
}

fn resolved(workspace: &Path, more: impl IntoIterator<Item = Written>) -> Result<Policy, ResolveError> {
    let workspace = absolute(workspace);
    let file = PolicyFile::builtin("workspace-write").expect("a built-in policy");
    let own = Written { file, base: workspace.clone(), source: Source::BuiltIn };
    let request = Request {
        layers: [own].into_iter().chain(more).collect(),
        workspaces: vec![workspace.clone()],
        workspaces_named: true,
        cwd: workspace,
        own_directories: Vec::new(),
        own_files: Vec::new(),
    };
    resolve(&request, &HostView::here())
}

/// A path as the library takes it.
///
/// # Panics
/// When it is not absolute.
pub fn absolute(path: &Path) -> AbsPath {
    AbsPath::new(path).expect("an absolute path")
}
