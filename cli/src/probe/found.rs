//! The answer, version 1.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use confine_core::policy::Policy;
use confine_core::probe::Tool;
use confine_core::{Backend as Confines, BackendId, Effect, Effects, Governed, LaunchFault, Probe, Reason};
use confine_core::{LaunchStage, Text};
use confine_runner::Confine;
use confine_runner::probe::{Answer, Trial, is_contradicted, refined, remember};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::progress::Progress;
use super::{host, remedy, version, workspace};
use crate::{backend, fault, request};

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
    /// Whether its sandbox stood.
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
    pub(super) effects: BTreeMap<Effect, Row>,
    /// What its own word says is enforced or detected, and an attempt did all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) contradicted: Vec<Effect>,
    #[serde(skip)]
    claims: BTreeMap<Effect, Governed>,
}

/// What it does about one effect.
#[derive(Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub(super) governed: Governed,
    /// What helps where it is not enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

/// Whether all that the default policy needs, less what it accepts to lose, is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Enforcement {
    /// It is, by every attempt that can be made here.
    Full,
    /// It is not.
    Partial,
}

impl Found {
    /// Looks at this host, and makes every attempt in every backend.
    ///
    /// # Errors
    /// Where the host cannot be looked at, or there is no room for throwaway surroundings.
    pub(super) fn here() -> Result<Self, LaunchFault> {
        let confine = request::detect_afresh(host::facts())?;
        let answers = answers(&confine)?;
        remember(&confine, &answers);
        let policy = workspace::default_policy()?;
        let mut facts = confine.probe().clone();
        for (id, answer) in &answers {
            facts.launches.insert(id.as_str().to_owned(), answer.launch.clone());
        }
        let found =
            |backend: &dyn Confines| Backend::of(backend, &policy, &facts, answers.get(&backend.id()));
        let mut backends: Vec<Backend> = confine.registry().for_host(&facts).map(found).collect();
        remedy::fill(&mut backends);
        let default = backends
            .iter()
            .find(|backend| backend.takes(&policy, &confine, &facts))
            .map(|one| one.id.clone());
        Ok(Self { version: 1, default, backends, host: Host::of(&facts) })
    }
}

/// What attempts came to, by backend.
fn answers(confine: &Confine) -> Result<BTreeMap<BackendId, Answer>, LaunchFault> {
    let program = own_program()?;
    let ids: Vec<BackendId> = confine.registry().for_host(confine.probe()).map(Confines::id).collect();
    let progress = Progress::begin(&ids);
    let answers = Trial::of(confine, program).run(&ids, &|id| progress.done(id));
    drop(progress);
    let mut answers = answers.map_err(|error| {
        LaunchFault::new(LaunchStage::Usage, format!("try anything here: {error}"))
            .help("make `/var/tmp` a directory that you may write to")
    })?;
    // Only what was launched has anything to say of itself.
    if confine.probe().user_namespaces.is_ok()
        && let Some(Answer { launch, .. }) = answers.get_mut(&BackendId::new("bwrap"))
        && let Err(unusable) = launch
    {
        *unusable = version::noted(unusable.clone(), confine.probe());
    }
    Ok(answers)
}

/// This executable makes the attempts too.
fn own_program() -> Result<PathBuf, LaunchFault> {
    std::env::current_exe().map_err(|error| fault::system(LaunchStage::Usage, "find this executable", &error))
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
    fn of(backend: &dyn Confines, policy: &Policy, facts: &Probe, answer: Option<&Answer>) -> Self {
        let id = backend.id();
        let claims = backend.governs(facts);
        let unusable = answer.and_then(|answer| answer.launch.as_ref().err());
        let row = |(effect, claim): (&Effect, &Governed)| {
            let finding = answer.and_then(|answer| answer.findings.get(effect));
            let governed = finding.map_or_else(|| claim.clone(), |finding| refined(claim.clone(), finding));
            (*effect, Row { governed, remedy: None })
        };
        let effects: BTreeMap<Effect, Row> = claims.iter().map(row).collect();
        let contradicted = claims.iter().filter(|(effect, claim)| {
            effects.get(effect).is_some_and(|row| is_contradicted(claim, &row.governed))
        });
        let program = program(&id, facts);
        let mut found = Self {
            usable: answer.is_some_and(|answer| answer.launch.is_ok()),
            program: program.as_ref().map(|tool| Text::from(tool.path.as_path().as_os_str())),
            sha256: program.as_ref().and_then(digest),
            reason: unusable.map(|unusable| unusable.reason.to_string()),
            remedy: unusable.and_then(|unusable| unusable.remedy.as_ref()).map(Reason::to_string),
            enforcement: Enforcement::Partial,
            contradicted: contradicted.map(|(effect, _)| *effect).collect(),
            effects,
            id,
            claims,
        };
        if found.usable && needs(policy).without(&found.kept()).is_empty() {
            found.enforcement = Enforcement::Full;
        }
        found
    }

    /// What it enforces here, by attempt.
    pub(super) fn enforced(&self) -> Effects {
        self.effects.iter().filter(|(_, row)| row.governed.is_enforced()).map(|(effect, _)| *effect).collect()
    }

    /// What it says that it enforces, and no attempt contradicts: what nobody can do here, it need not prevent.
    fn kept(&self) -> Effects {
        let claimed = self.claims.iter().filter(|(_, claim)| claim.is_enforced()).map(|(effect, _)| *effect);
        claimed.filter(|effect| !self.contradicted.contains(effect)).collect()
    }

    /// Whether `auto` would take it for `policy`.
    fn takes(&self, policy: &Policy, confine: &Confine, facts: &Probe) -> bool {
        let Ok(argv) = workspace::argv() else { return false };
        let expresses = || {
            confine.registry().by_id(&self.id).is_some_and(|one| one.confine(&argv, policy, facts).is_ok())
        };
        let contradicted = self.contradicted.iter().any(|effect| needs(policy).contains(*effect));
        let automatic = confine.registry().automatic().any(|one| one.id() == self.id);
        automatic && self.usable && !contradicted && expresses()
    }
}

fn needs(policy: &Policy) -> Effects {
    let chosen: Effects = policy.chosen_losses().into_iter().map(|(effect, _)| effect).collect();
    policy.needs().without(&policy.accept_missing).without(&chosen)
}

/// The file that is launched first; of a third-party backend, the one that is pinned.
fn program(id: &BackendId, facts: &Probe) -> Option<Tool> {
    match id.as_str() {
        "bwrap" => facts.bwrap.clone().ok(),
        "landlock" => facts.stage.clone().ok(),
        word => Some(Tool { path: backend::pinned(word, &BTreeSet::new()).ok()??.pin().path.clone() }),
    }
}

fn digest(tool: &Tool) -> Option<String> {
    let bytes = std::fs::read(tool.path.as_path()).ok()?;
    Some(Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}
