//! Launches by the library, from this process.

use confine_backends::Refusals;
use confine_core::classify::Judgement;
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{Policy, PolicyFile, Source};
use confine_core::{AbsPath, BackendId, ConfinedArgv, Effects, Verdict};
use confine_runner::view::HostView;
use confine_runner::{Command, Confine, Ended, SpawnError};
use tokio::runtime::Runtime;

use crate::fault::{Fault, system};
use crate::place::Variables;

/// One backend under one policy, found and resolved once, as a harness does.
pub(crate) struct Library {
    confine: Confine,
    backend: BackendId,
    policy: Policy,
    workspace: AbsPath,
    variables: Variables,
    runtime: Runtime,
}

impl Library {
    /// `workspace-write`, with `more` (in the syntax of a policy file) on top, accepting what the backend lacks.
    pub(crate) fn new(
        confine: &Confine,
        backend: &str,
        workspace: &AbsPath,
        variables: &Variables,
        more: &str,
    ) -> Result<Self, Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let mut library = Self {
            confine: confine.clone(),
            backend: BackendId::new(backend),
            policy: policy(workspace, variables, more)?,
            workspace: workspace.clone(),
            variables: variables.clone(),
            runtime: runtime.map_err(system("make", "a tokio runtime"))?,
        };
        let losses = library.losses()?;
        library.policy.accept_missing.extend(losses.iter());
        Ok(library)
    }

    /// Launches `/bin/true` and waits until its tree is gone.
    pub(crate) fn launch(&self) -> Result<(), Fault> {
        let command = self.command();
        let report =
            self.runtime.block_on(async { Ok::<_, SpawnError>(command.spawn().await?.wait().await) });
        match report {
            Ok(report) if report.verdict == Verdict::Passed => Ok(()),
            Ok(report) => Err(Fault::Library(format!("{:?}, {:?}", report.outcome, report.launch_fault))),
            Err(error) => Err(Fault::Library(error.to_string())),
        }
    }

    /// Judges how a launch ended.
    pub(crate) fn classify(&self, ended: &Ended<'_>) -> Result<Judgement, Fault> {
        self.command().classify(ended).map_err(|error| Fault::Library(error.to_string()))
    }

    /// What a launch would spawn.
    pub(crate) fn confined(&self) -> Result<ConfinedArgv, Fault> {
        self.command().confined().map_err(|error| Fault::Library(error.to_string()))
    }

    /// The effects that the backend lacks and the policy does not accept to lose.
    pub(crate) fn losses(&self) -> Result<Effects, Fault> {
        match self.command().confined() {
            Ok(_) => Ok(Effects::default()),
            Err(SpawnError::Refused(refusals)) => match refusals.acceptable() {
                Some((_, effects)) => Ok(effects),
                None => Err(Fault::Refused(texts(&refusals))),
            },
            Err(error) => Err(Fault::Library(error.to_string())),
        }
    }

    /// The effects that its policy accepts to lose.
    pub(crate) fn accepted(&self) -> &Effects {
        &self.policy.accept_missing
    }

    fn command(&self) -> Command {
        self.confine
            .command(["/bin/true"])
            .cwd(self.workspace.clone())
            .environment(self.variables.clone())
            .policy(&self.policy)
            .backend(self.backend.clone())
    }
}

fn texts(refusals: &Refusals) -> String {
    refusals.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn policy(workspace: &AbsPath, variables: &Variables, more: &str) -> Result<Policy, Fault> {
    let request = request(workspace, more)?;
    resolve(&request, &HostView::with(variables.clone())).map_err(|error| Fault::Library(error.to_string()))
}

/// `workspace-write`, with `more` on top, to be resolved.
pub(crate) fn request(workspace: &AbsPath, more: &str) -> Result<Request, Fault> {
    let builtin = PolicyFile::builtin("workspace-write")
        .ok_or_else(|| Fault::Library("there is no built-in policy `workspace-write`".into()))?;
    let more = PolicyFile::parse(&format!("version = 1\n{more}"), confine_core::policy::file::Syntax::Toml)
        .map_err(|error| Fault::Library(error.to_string()))?;
    let written = |file, source| Written { file, base: workspace.clone(), source };
    Ok(Request {
        layers: vec![written(builtin, Source::BuiltIn), written(more, Source::File(workspace.clone()))],
        workspaces: vec![workspace.clone()],
        workspaces_named: true,
        cwd: workspace.clone(),
        own_directories: Vec::new(),
        own_files: Vec::new(),
    })
}
