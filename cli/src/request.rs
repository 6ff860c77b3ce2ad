//! The arguments as resolved: a policy, a directory, a backend.

mod place;
mod written;

use std::path::PathBuf;

use confine_core::policy::resolve::{Request, Written, resolve as resolve_request};
use confine_core::policy::{Policy, Source};
use confine_core::{AbsPath, BackendId, LaunchFault, LaunchStage, Text};
use confine_runner::places::Places;
use confine_runner::policies::{Choice, Loaded};
use confine_runner::view::HostView;
use confine_runner::{Confine, policies};

use crate::arguments::PolicyOptions;
use crate::fault;

/// What a command is confined by.
pub(crate) struct Resolved {
    /// Its policy.
    pub(crate) policy: Policy,
    /// Where it starts.
    pub(crate) cwd: AbsPath,
}

/// Resolves the options against this host.
///
/// # Errors
/// The first policy, path or entry that is wrong, by name.
pub(crate) fn resolve(options: &PolicyOptions) -> Result<Resolved, LaunchFault> {
    let (request, projects) = request(options)?;
    let policy = policy(&request)?;
    let cwd = request.cwd.clone();
    Ok(Resolved { policy: narrowed(policy, request, projects)?, cwd })
}

/// What is to be resolved, and the policies that workspaces bring along.
fn request(options: &PolicyOptions) -> Result<(Request, Vec<Written>), LaunchFault> {
    let here = place::here()?;
    let named = |option, paths: &[PathBuf]| {
        paths.iter().map(|path| place::named(option, &here, path)).collect::<Result<Vec<_>, _>>()
    };
    let workspaces = named("--workspace", &options.workspaces)?;
    let cwd = named("--cwd", options.cwd.as_slice())?.pop();
    let workspaces_named = !workspaces.is_empty();
    let workspaces = if workspaces_named { workspaces } else { vec![here.clone()] };
    let places = Places::here();
    let choice =
        Choice { policy: options.policy.as_deref(), cwd: &here, workspaces: &workspaces, places: &places };
    let Loaded { mut layers, projects, files } = policies::load(&choice).map_err(|error| {
        let fault = LaunchFault::new(LaunchStage::Policy, format!("load the policy: {error}"));
        LaunchFault { help: error.help(), ..fault }
    })?;
    layers.push(Written { file: written::file(options), base: here.clone(), source: Source::CommandLine });
    let request = Request {
        layers,
        workspaces,
        workspaces_named,
        cwd: cwd.unwrap_or(here),
        own_directories: places.own_directories(),
        own_files: files,
    };
    Ok((request, projects))
}

fn policy(request: &Request) -> Result<Policy, LaunchFault> {
    resolve_request(request, &HostView::here()).map_err(|error| {
        let fault = LaunchFault::new(LaunchStage::Policy, format!("resolve the policy: {error}"));
        LaunchFault { help: error.help(), ..fault }
    })
}

/// `policy` with what the workspaces' own policies take away. They may take away only: a program of an earlier run, or
/// whoever wrote the repository, may have written them.
fn narrowed(policy: Policy, request: Request, projects: Vec<Written>) -> Result<Policy, LaunchFault> {
    let mut request = request;
    let mut narrow = policy;
    for project in projects {
        let source = project.source.clone();
        request.layers.push(project);
        let next = self::policy(&request)?;
        if !narrow.covers(&next) {
            return Err(wider(&source));
        }
        narrow = next;
    }
    Ok(narrow)
}

fn wider(source: &Source) -> LaunchFault {
    let name = match source {
        Source::File(path) => path.to_string(),
        _ => String::new(),
    };
    let text = format!("take the workspace's policy `{name}`: it allows more than the caller's policy does");
    LaunchFault::new(LaunchStage::Policy, text).help("a workspace's policy may only narrow; move wider entries to the user's policy.toml or the command line")
}

/// The facts of this host and the backends, with the stage launched by its file.
///
/// # Errors
/// Where the host cannot be looked at.
pub(crate) fn detect() -> Result<Confine, LaunchFault> {
    Confine::builder()
        .stage_by_path()
        .detect()
        .map_err(|error| LaunchFault::new(LaunchStage::Spawn, format!("look at this host: {error}")))
}

/// The backend that `--backend` names; `None` for `auto`.
///
/// # Errors
/// A name that no backend has.
pub(crate) fn backend(word: &str, confine: &Confine) -> Result<Option<BackendId>, LaunchFault> {
    if word == "auto" {
        return Ok(None);
    }
    let id = BackendId::new(word);
    if confine.registry().by_id(&id).is_some() {
        return Ok(Some(id));
    }
    let names: Vec<String> = confine.registry().iter().map(|backend| format!("`{}`", backend.id())).collect();
    Err(fault::usage(
        format!("read the arguments: there is no backend `{}`", Text::from(word)),
        format!("one of: `auto`, {}", names.join(", ")),
    ))
}
