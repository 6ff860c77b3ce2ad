//! From policies as written, and a view of the host, to a [`Policy`].

use crate::AbsPath;
use crate::policy::{Policy, PolicyFile, Source, View};

/// One policy as written, and what its words are relative to.
#[derive(Clone, Debug)]
pub struct Written {
    /// As written.
    pub file: PolicyFile,
    /// What relative paths are relative to: the file's directory, or the current one for the command line.
    pub base: AbsPath,
    /// Who said it: `BuiltIn`, `File`, `CommandLine` or `Grant`. The command line's and a grant's entries are literal,
    /// and a missing one is an error.
    pub source: Source,
}

/// What is to be resolved.
#[derive(Clone, Debug)]
pub struct Request {
    /// Earlier ones are replaced by later ones.
    pub layers: Vec<Written>,
    /// Workspace roots, as the user spelt them.
    pub workspaces: Vec<AbsPath>,
    /// Whether the user named them: only then may one be `/`, the home directory or above it.
    pub workspaces_named: bool,
    /// Where the program starts, as the user spelt it.
    pub cwd: AbsPath,
    /// Directories of confine's own (configuration, state, cache): never writable, hidden where the policy is wider.
    pub own_directories: Vec<AbsPath>,
    /// Files of this call that the program must not write (policy file, report, log): likewise.
    pub own_files: Vec<AbsPath>,
}

/// Why a policy does not resolve here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {}

impl ResolveError {
    /// The next step for the user.
    pub fn help(&self) -> Option<String> {
        match *self {}
    }
}

/// Resolves `request` against `view`.
///
/// # Errors
/// The first entry that is wrong, by name.
pub fn resolve(_request: &Request, _view: &dyn View) -> Result<Policy, ResolveError> {
    todo!()
}
