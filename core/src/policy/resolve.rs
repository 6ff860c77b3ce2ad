//! From policies as written, and a view of the host, to a [`Policy`].

mod alias;
mod assembly;
mod base;
mod draft;
mod error;
mod grants;
mod host;
mod listening;
mod own;
mod places;
mod protected;
mod reach;
mod settings;
#[cfg(test)]
mod tests;
mod words;

pub use error::{EntryFault, ResolveError, WorkspaceFault};

pub(in crate::policy) use assembly::Assembly;
pub(in crate::policy) use draft::Layer;
pub(in crate::policy) use host::kind;
pub(in crate::policy) use protected::{list as protect_names, protect};

use crate::AbsPath;
use crate::policy::{Policy, PolicyFile, Source, View, git};
use host::Host;
use places::Places;
use settings::Settings;

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
    /// Files of this call that the program must not write (policy file, report, log): likewise. One that does not exist
    /// yet may not lie in a write grant.
    pub own_files: Vec<AbsPath>,
}

impl Request {
    /// The same with one more layer after all others.
    #[must_use]
    pub fn with(&self, layer: &Written) -> Self {
        let mut more = self.clone();
        more.layers.push(layer.clone());
        more
    }
}

/// Resolves `request` against `view`.
///
/// # Errors
/// The first entry that is wrong, by name.
pub fn resolve(request: &Request, view: &dyn View) -> Result<Policy, ResolveError> {
    let host = Host::new(view);
    let settings = Settings::merge(&request.layers)?;
    let places = Places::find(request, &host)?;
    let id = settings::identity(request, &settings, &places);
    let mut assembly = Assembly::new(request, &host, &settings, places);
    list(&mut assembly)?;
    Ok(Policy {
        id,
        mode: settings.mode,
        fs: assembly.finish(),
        net: settings.net,
        nested: settings.nested,
        require: settings.require.clone(),
        accept_missing: settings.accept_missing.clone(),
        env: settings.env.clone(),
        limits: settings.limits.clone(),
        approval: settings.approval,
        audit: settings.audit,
    })
}

/// In this order: what hides comes before what opens by itself, so that nothing does so below a hidden place.
fn list(assembly: &mut Assembly<'_>) -> Result<(), ResolveError> {
    assembly.links = std::mem::take(&mut assembly.places.links);
    base::list(&mut assembly.draft, assembly.host, assembly.settings.tmp);
    words::collect(assembly)?;
    grants::list(assembly)?;
    alias::hide(assembly);
    for root in assembly.places.workspaces.clone() {
        protect_names(assembly, &root);
    }
    git::list(assembly)?;
    let reopened = base::reopen(&mut assembly.draft, assembly.host, assembly.settings.net);
    reopened.into_iter().for_each(|found| places::record(&mut assembly.links, found.crossed));
    listening::hide(assembly);
    grants::approve(assembly)?;
    git::yield_to_user(assembly);
    own::keep(assembly)?;
    reach::forgo(assembly);
    Ok(())
}
