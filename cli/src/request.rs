//! The arguments as resolved: a policy, a directory, a backend.

mod place;
mod session;
mod terms;
mod written;

use std::path::PathBuf;

use confine_core::policy::resolve::{Request, Written};
use confine_core::policy::{Policy, Source};
use confine_core::{AbsPath, BackendId, LaunchFault, LaunchStage, Probe, Text};
use confine_runner::places::Places;
use confine_runner::policies::{Choice, Loaded, PoliciesError};
use confine_runner::view::HostView;
use confine_runner::{Builder, Confine, policies};

use crate::arguments::PolicyOptions;
use crate::{backend, fault};

pub(crate) use terms::Terms;

/// The first backend that enforces what the policy needs.
const AUTO: &str = "auto";

/// What a command is confined by.
pub(crate) struct Resolved {
    /// Its policy.
    pub(crate) policy: Policy,
    /// Where it starts.
    pub(crate) cwd: AbsPath,
    /// What the policy was resolved from.
    pub(crate) basis: Basis,
}

/// What a policy was resolved from.
pub(crate) struct Basis {
    loaded: Loaded,
    request: Request,
}

impl Basis {
    /// The policy with one more layer after those of the caller. A workspace's own policy still comes last.
    ///
    /// # Errors
    /// A layer that is wrong here, by the name of its entry.
    pub(crate) fn with(&self, layer: &Written) -> Result<Policy, PoliciesError> {
        self.loaded.resolve(&self.request.with(layer), &HostView::here())
    }
}

/// Resolves the options against this host.
///
/// # Errors
/// The first policy, path or entry that is wrong, by name.
pub(crate) fn resolve(options: &PolicyOptions) -> Result<Resolved, LaunchFault> {
    let (loaded, request) = request(options, &Places::here())?;
    let policy = policy(&loaded, &request)?;
    Ok(Resolved { policy, cwd: request.cwd.clone(), basis: Basis { loaded, request } })
}

/// As [`resolve`], for a run: what it keeps has its place before the policy says who may write there.
///
/// # Errors
/// As [`resolve`].
pub(crate) fn resolve_to_run(options: &PolicyOptions) -> Result<Resolved, LaunchFault> {
    let resolved = resolve(options)?;
    if Places::here().prepare(&resolved.policy) { resolve(options) } else { Ok(resolved) }
}

/// The policies to be resolved, and against what.
fn request(options: &PolicyOptions, places: &Places) -> Result<(Loaded, Request), LaunchFault> {
    let here = place::here()?;
    let named = |option, paths: &[PathBuf]| {
        paths.iter().map(|path| place::named(option, &here, path)).collect::<Result<Vec<_>, _>>()
    };
    let workspaces = named("--workspace", &options.workspaces)?;
    let cwd = named("--cwd", options.cwd.as_slice())?.pop();
    let workspaces_named = !workspaces.is_empty();
    let workspaces = if workspaces_named { workspaces } else { vec![here.clone()] };
    let choice = Choice { policy: options.policy.as_deref(), cwd: &here, workspaces: &workspaces, places };
    let loaded = policies::load(&choice).map_err(|error| refused("load", &error))?;
    let own = Written { file: written::file(options), base: here.clone(), source: Source::CommandLine };
    let request = Request {
        layers: session::layer(&here)?.into_iter().chain([own]).collect(),
        workspaces,
        workspaces_named,
        cwd: cwd.unwrap_or(here),
        own_directories: places.own_directories(),
        own_files: Vec::new(),
    };
    Ok((loaded, request))
}

fn policy(loaded: &Loaded, request: &Request) -> Result<Policy, LaunchFault> {
    loaded.resolve(request, &HostView::here()).map_err(|error| refused("resolve", &error))
}

fn refused(doing: &str, error: &PoliciesError) -> LaunchFault {
    let fault = LaunchFault::new(LaunchStage::Policy, format!("{doing} the policy: {error}"));
    LaunchFault { help: error.help(), ..fault }
}

/// The facts of this host and the backends, with the stage launched by its file; the third-party backend that `word`
/// names is among them, where one of that name is pinned outside of the policy's workspaces.
///
/// # Errors
/// Where the host cannot be looked at; a `confine.lock` that cannot be read, or that lies in a workspace.
pub(crate) fn detect(word: &str, policy: &Policy) -> Result<Confine, LaunchFault> {
    // Each command that asks for a backend has paid what killed runs left.
    let builder = Confine::builder().recovered().third_party(backend::pinned(word, &policy.fs.workspaces)?);
    looked_at(if word == AUTO { builder } else { builder.only(BackendId::new(word)) })
}

/// Likewise with every third-party backend that is pinned outside of the current directory, and without what the last
/// probe found; by `facts`. Also why the lock of backends cannot be used, where it cannot: then there are only ours.
///
/// # Errors
/// Where the host cannot be looked at.
pub(crate) fn detect_afresh(facts: Probe) -> Result<(Confine, Option<LaunchFault>), LaunchFault> {
    let here = resolve(&PolicyOptions::default());
    let workspaces = here.map(|resolved| resolved.policy.fs.workspaces).unwrap_or_default();
    let (others, refused) = match backend::all(&workspaces) {
        Ok(others) => (others, None),
        Err(refused) => (Vec::new(), Some(refused)),
    };
    Ok((looked_at(Confine::builder().third_party(others).probe(facts).afresh())?, refused))
}

/// Likewise for every call to come, whatever backend of ours each names, with the stage copied once.
///
/// # Errors
/// Where the host cannot be looked at.
pub(crate) fn resident() -> Result<Confine, LaunchFault> {
    detected(Confine::builder().recovered())
}

fn looked_at(builder: Builder) -> Result<Confine, LaunchFault> {
    detected(builder.stage_by_path())
}

fn detected(builder: Builder) -> Result<Confine, LaunchFault> {
    builder
        .detect()
        .map_err(|error| LaunchFault::new(LaunchStage::Spawn, format!("look at this host: {error}")))
}

/// The backend that `--backend` names; `None` for `auto`.
///
/// # Errors
/// A name that no backend has.
pub(crate) fn backend(word: &str, confine: &Confine) -> Result<Option<BackendId>, LaunchFault> {
    if word == AUTO {
        return Ok(None);
    }
    let id = BackendId::new(word);
    if confine.registry().by_id(&id).is_some() {
        return Ok(Some(id));
    }
    let names: Vec<String> =
        confine.registry().for_host(confine.probe()).map(|backend| format!("`{}`", backend.id())).collect();
    Err(fault::usage(
        format!("read the arguments: there is no backend `{}`", Text::from(word)),
        format!("one of: `auto`, {}; `confine backend list` shows others", names.join(", ")),
    ))
}
