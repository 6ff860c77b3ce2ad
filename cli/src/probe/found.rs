//! The answer, version 1.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use confine_core::policy::Policy;
use confine_core::probe::Tool;
use confine_core::{Backend as Confines, BackendId, Effect, Effects, Governed, LaunchFault, Probe, Reason};
use confine_core::{LaunchStage, Text};
use confine_runner::Confine;
use confine_runner::probe::{Answer, Trial, is_contradicted, makes_namespaces, refined, remember};
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
    /// Why the lock of third-party backends cannot be used, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lock: Option<Refused>,
}

/// What cannot be used.
#[derive(Serialize)]
pub(super) struct Refused {
    pub(super) reason: String,
    pub(super) remedy: Option<String>,
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
    /// Whether the user pinned it: its word counts for nothing that was not tried.
    #[serde(skip)]
    of_others: bool,
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
        let (confine, refused) = request::detect_afresh(host::facts())?;
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
        let lock =
            refused.map(|fault| Refused { reason: format!("cannot {}", fault.text), remedy: fault.help });
        backends.extend(lock.iter().flat_map(Backend::refused));
        remedy::fill(&mut backends);
        let default = backends
            .iter()
            .find(|backend| backend.takes(&policy, &confine, &facts))
            .map(|one| one.id.clone());
        Ok(Self { version: 1, default, backends, lock, host: Host::of(&facts, &own_program()?) })
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
        LaunchFault::new(LaunchStage::Usage, format!("try anything here: {error}")).help(workspace::REMEDY)
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
    std::env::current_exe().map_err(|error| {
        fault::system(LaunchStage::Choose, "try anything here: this executable is not found", &error)
            .help("mount -t proc proc /proc")
    })
}

impl Host {
    fn of(facts: &Probe, program: &Path) -> Self {
        Self {
            os: facts.os.clone(),
            kernel: facts.kernel.clone(),
            landlock_abi: facts.landlock.as_ref().ok().copied(),
            uid: facts.uid,
            user_namespaces: facts.user_namespaces.is_ok() && makes_namespaces(program),
            container: facts.container.clone(),
        }
    }
}

impl Backend {
    /// Those that a lock names that cannot be used.
    fn refused(lock: &Refused) -> Vec<Self> {
        let reason = Reason::from(lock.reason.clone());
        let row = |effect: &Effect| {
            (*effect, Row { governed: Governed::NotGoverned { reason: reason.clone() }, remedy: None })
        };
        let one = |id| Self {
            id,
            usable: false,
            program: None,
            sha256: None,
            reason: Some(lock.reason.clone()),
            remedy: lock.remedy.clone(),
            enforcement: Enforcement::Partial,
            effects: Effect::ALL.iter().map(row).collect(),
            contradicted: Vec::new(),
            claims: BTreeMap::new(),
            of_others: true,
        };
        backend::refused_names().into_iter().map(one).collect()
    }

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
            let finding = answer.and_then(|answer| answer.findings.get(effect));
            finding.is_some_and(|finding| is_contradicted(claim, finding))
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
            of_others: backend.pinned().is_some(),
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

    /// What it enforces, and, where it is one of ours, what it says that it does and nobody can try here: it need not
    /// prevent that.
    fn kept(&self) -> Effects {
        let untried = |effect: &Effect| {
            self.effects.get(effect).is_some_and(|row| matches!(row.governed, Governed::Untestable { .. }))
        };
        let claimed = self.claims.iter().filter(|(_, claim)| claim.is_enforced()).map(|(effect, _)| *effect);
        let untried: Effects = claimed.filter(|effect| !self.of_others && untried(effect)).collect();
        untried.iter().chain(self.enforced().iter()).collect()
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
