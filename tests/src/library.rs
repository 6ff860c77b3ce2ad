//! The runner's library as a harness author uses it, for what the command line cannot show.

use std::path::Path;

use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{Policy, PolicyFile, Source};
use confine_core::{AbsPath, Effects};
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
    let workspace = absolute(workspace);
    let file = PolicyFile::builtin("workspace-write").expect("a built-in policy");
    let request = Request {
        layers: vec![Written { file, base: workspace.clone(), source: Source::BuiltIn }],
        workspaces: vec![workspace.clone()],
        workspaces_named: true,
        cwd: workspace,
        own_directories: Vec::new(),
        own_files: Vec::new(),
    };
    let mut policy = resolve(&request, &confine_runner::view::HostView::here()).expect("the policy resolves");
    policy.accept_missing.extend(losses.parse::<Effects>().expect("effects"));
    policy
}

/// A path as the library takes it.
///
/// # Panics
/// When it is not absolute.
pub fn absolute(path: &Path) -> AbsPath {
    AbsPath::new(path).expect("an absolute path")
}
