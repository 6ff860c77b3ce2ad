//! The answer, version 1.

use std::collections::BTreeMap;

use confine_core::policy::Policy;
use confine_core::probe::{Tool, Unusable};
use confine_core::{
    Argv, Backend as Confines, BackendId, Effect, Effects, Governed, LaunchFault, Probe, Reason,
};
use confine_core::{LaunchStage, Text};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::attempt::Attempt;
use crate::request;

/// What was found.
#[derive(Serialize)]
pub(super) struct Found {
    version: u32,
    /// The host.
    pub(super) host: Host,
    /// The backend that `auto` takes for the default policy.
    pub(super) default: Option<BackendId>,
    /// In the order of preference.
    pub(super) backends: Vec<Backend>,
}

/// The facts.
#[derive(Serialize)]
pub(super) struct Host {
    pub(super) os: String,
    pub(super) kernel: String,
    pub(super) landlock_abi: Option<u32>,
    pub(super) uid: u32,
    pub(super) user_namespaces: bool,
    pub(super) container: Option<String>,
}

/// One backend.
#[derive(Serialize)]
pub(super) struct Backend {
    pub(super) id: BackendId,
    /// Whether it launched for real, and its policy held.
    pub(super) usable: bool,
    /// What it launches.
    pub(super) program: Option<Text>,
    /// Of that file, in hexadecimal.
    pub(super) sha256: Option<String>,
    /// Why it is not usable.
    pub(super) reason: Option<String>,
    /// What helps.
    pub(super) remedy: Option<String>,
    /// For people; programs decide by effects.
    pub(super) enforcement: Enforcement,
    pub(super) effects: BTreeMap<Effect, Governed>,
}

/// Whether all that the default policy needs, less what it accepts to lose, is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Enforcement {
    /// It is.
    Full,
    /// It is not.
    Partial,
}

impl Found {
    /// Looks at this host, and launches every backend once.
    ///
    /// # Errors
    /// Where the host cannot be looked at, or there is no room for a throwaway workspace.
    pub(super) fn here() -> Result<Self, LaunchFault> {
        let confine = request::detect()?;
        let attempt = Attempt::prepare()?;
        let mut facts = confine.probe().clone();
        for backend in confine.registry().iter() {
            let launch = attempt.launch(&confine, backend.id());
            facts.launches.insert(backend.id().as_str().to_owned(), launch);
        }
        let policy = attempt.default_policy()?;
        let argv = Argv::new(["true"], attempt.workspace.clone())
            .map_err(|error| LaunchFault::new(LaunchStage::Usage, format!("probe: {error}")))?;
        let works = |backend: &&dyn Confines| {
            is_usable(&facts, &backend.id()) && backend.confine(&argv, &policy, &facts).is_ok()
        };
        Ok(Self {
            version: 1,
            default: confine.registry().iter().find(works).map(Confines::id),
            backends: confine
                .registry()
                .iter()
                .map(|backend| Backend::of(backend, &policy, &facts))
                .collect(),
            host: Host::of(&facts),
        })
    }
}

impl Host {
    fn of(facts: &Probe) -> Self {
        Self {
            os: facts.os.clone(),
            kernel: facts.kernel.clone(),
            landlock_abi: facts.landlock.as_ref().ok().copied(),
            uid: facts.uid,
            user_namespaces: facts.user_namespaces.is_ok(),
            container: facts.container.clone(),
        }
    }
}

impl Backend {
    fn of(backend: &dyn Confines, policy: &Policy, facts: &Probe) -> Self {
        let id = backend.id();
        let effects = backend.governs(facts);
        let unusable = facts.launches.get(id.as_str()).and_then(|launch| launch.as_ref().err());
        let program = program(&id, facts);
        let mut answer = Self {
            usable: is_usable(facts, &id),
            program: program.map(|tool| Text::from(tool.path.as_path().as_os_str())),
            sha256: program.and_then(digest),
            reason: unusable.map(|unusable| unusable.reason.to_string()),
            remedy: unusable.and_then(|unusable| unusable.remedy.as_ref()).map(Reason::to_string),
            enforcement: Enforcement::Partial,
            effects,
            id,
        };
        let chosen: Effects = policy.chosen_losses().into_iter().map(|(effect, _)| effect).collect();
        let needs = policy.needs().without(&policy.accept_missing).without(&chosen);
        if answer.usable && needs.without(&answer.enforced()).is_empty() {
            answer.enforcement = Enforcement::Full;
        }
        answer
    }

    /// What it enforces here.
    pub(super) fn enforced(&self) -> Effects {
        let enforced = self.effects.iter().filter(|(_, governed)| governed.is_enforced());
        enforced.map(|(effect, _)| *effect).collect()
    }
}

fn is_usable(facts: &Probe, id: &BackendId) -> bool {
    facts.launches.get(id.as_str()).is_some_and(Result::is_ok)
}

/// The file that is launched first.
fn program<'a>(id: &BackendId, facts: &'a Probe) -> Option<&'a Tool> {
    let tool: &Result<Tool, Unusable> = if id.as_str() == "bwrap" { &facts.bwrap } else { &facts.stage };
    tool.as_ref().ok()
}

fn digest(tool: &Tool) -> Option<String> {
    let bytes = std::fs::read(tool.path.as_path()).ok()?;
    Some(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}
