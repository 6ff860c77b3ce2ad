//! What every backend's launch has: markers, limits, the digest, and what only a runner does.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use confine_core::backend::{Payload, PlanDigest};
use confine_core::policy::fs::MissingProtected;
use confine_core::policy::{EnvPlan, Policy};
use confine_core::probe::Unusable;
use confine_core::{
    AbsPath, BackendId, ConfineError, ConfinedArgv, Effect, Launch, Layer, Loss, Probe, Reason, Text,
};
use confine_stage::Ruleset;
use confine_stage::plan::{Plan, Resource, Rule};
use sha2::{Digest as _, Sha256};

use crate::landlock::rights;
use crate::lower::Lowered;

/// What a backend has settled about one launch.
pub(crate) struct Settled {
    pub(crate) backend: BackendId,
    pub(crate) launch: Launch,
    /// Layers of the backend's own, beside those that every launch has.
    pub(crate) layers: Vec<Layer>,
    pub(crate) missing: Vec<Loss>,
    pub(crate) pins: Vec<AbsPath>,
    pub(crate) bound: Vec<AbsPath>,
}

impl Settled {
    /// With everything that is the same for every backend.
    pub(crate) fn confined(self, policy: &Policy, probe: &Probe) -> ConfinedArgv {
        ConfinedArgv {
            env: environment(policy, &self.backend),
            backend: self.backend,
            payload: Payload::Stage,
            policy: policy.id.clone(),
            plan: digest(&self.launch),
            layers: layers(policy, probe, self.layers),
            runner_only: runner_only(policy, probe, &self.missing),
            missing: self.missing,
            pins: self.pins,
            bound: self.bound,
            precreate: policy.fs.precreate.iter().cloned().collect(),
            runner_failure: None,
            accepted: policy.accept_missing.clone(),
            launch: self.launch,
        }
    }
}

/// The layers that the plan itself stands for.
pub(crate) fn plan_layers(plan: &Plan) -> impl Iterator<Item = Layer> {
    let landlock = plan.landlock.is_some().then_some(Layer::Landlock);
    let seccomp = (!plan.seccomp.is_empty()).then_some(Layer::Seccomp);
    landlock.into_iter().chain(seccomp)
}

/// The policy's environment with confine's markers. They are a hint to the program, not a proof.
pub(crate) fn environment(policy: &Policy, backend: &BackendId) -> EnvPlan {
    let mut env = policy.env.clone();
    let markers = [
        ("CONFINE", "1"),
        ("CONFINE_BACKEND", backend.as_str()),
        ("CONFINE_POLICY", &policy.id.to_string()),
        ("CONFINE_NETWORK", policy.net.name()),
    ];
    env.set.extend(markers.map(|(name, value)| (name.to_owned(), Text::from(value))));
    env
}

/// The limits that the kernel keeps by itself. RLIMIT_NPROC binds ordinary users only, and counts all that the user
/// runs.
pub(crate) fn rlimits(policy: &Policy, probe: &Probe) -> Vec<(Resource, u64)> {
    let limits = &policy.limits;
    let processes = limits.processes.filter(|_| probe.uid != 0);
    [
        (Resource::Cpu, limits.cpu.map(whole_seconds)),
        (Resource::FileSize, limits.file_size),
        (Resource::OpenFiles, limits.open_files),
        (Resource::Processes, processes),
    ]
    .into_iter()
    .filter_map(|(resource, limit)| Some((resource, limit?)))
    .collect()
}

/// Never zero: RLIMIT_CPU of 0 would be taken for 1 second by some kernels and for none by others.
fn whole_seconds(time: Duration) -> u64 {
    let partial = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(partial).max(1)
}

/// Where the program's domain has its network rights from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// A namespace, or nothing is to be governed: with network rights handled, a bind to loopback is EACCES even in an
    /// empty namespace.
    Elsewhere,
    /// Landlock.
    Landlock,
}

/// The ruleset of `lowered` on a kernel with this ABI; `None` below the floor.
pub(crate) fn ruleset(lowered: &Lowered, policy: &Policy, abi: u32, network: Network) -> Option<Ruleset> {
    if abi < rights::FLOOR {
        return None;
    }
    let known = rights::known(abi);
    let granted = known & !withheld(policy);
    let rule = |path: &AbsPath, access: u64| Rule { access: access & granted, path: path.to_os_string() };
    let tcp = network == Network::Landlock && abi >= rights::NET;
    Some(Ruleset {
        handled_fs: known,
        handled_net: if tcp { rights::NET_TCP } else { 0 },
        scoped: if abi >= rights::SCOPED { rights::SCOPES } else { 0 },
        rules: lowered.grants.iter().map(|grant| rule(grant.at(), grant.rights())).collect(),
    })
}

/// Rights that no rule of this policy has.
pub(crate) fn withheld(policy: &Policy) -> u64 {
    match policy.fs.symlinks {
        confine_core::policy::fs::Symlinks::Allow => 0,
        confine_core::policy::fs::Symlinks::Deny => rights::MAKE_SYM,
    }
}

/// The digest of what a launch enforces: the wrapper's options and the stage's plan, without the command.
pub(crate) fn digest(launch: &Launch) -> PlanDigest {
    let mut hash = Sha256::new();
    let mut feed = |word: &OsStr| {
        hash.update(word.as_bytes());
        hash.update([0]);
    };
    for option in launch.wrapper.iter().flat_map(|wrapper| &wrapper.options) {
        feed(option);
    }
    feed(OsStr::new("--"));
    for word in &launch.plan {
        feed(word);
    }
    let mut text = String::from("sha256:");
    for byte in hash.finalize() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    PlanDigest(text)
}

/// Whether a protected name is missing under a policy that refuses then.
pub(crate) fn protected_names(policy: &Policy) -> Result<(), ConfineError> {
    match (policy.fs.missing_protected, policy.fs.missing.first()) {
        (MissingProtected::Refuse, Some(path)) => Err(ConfineError::MissingProtected(path.clone())),
        _ => Ok(()),
    }
}

/// The layers, in the order of the closed list.
fn layers(policy: &Policy, probe: &Probe, of_backend: Vec<Layer>) -> Vec<Layer> {
    let limits = &policy.limits;
    let mut layers: BTreeSet<Layer> = of_backend.into_iter().collect();
    layers.extend([
        Layer::Capabilities,
        Layer::NoNewPrivs,
        Layer::Session,
        Layer::Descriptors,
        Layer::Environment,
        Layer::Reaper,
    ]);
    let conditional = [
        (!rlimits(policy, probe).is_empty(), Layer::Rlimit),
        (limits.time.is_some() || limits.memory.is_some(), Layer::Runner),
    ];
    layers.extend(conditional.into_iter().filter_map(|(present, layer)| present.then_some(layer)));
    layers.into_iter().collect()
}

/// What only a runner does, less what is missing anyway.
fn runner_only(policy: &Policy, probe: &Probe, missing: &[Loss]) -> Vec<Loss> {
    let needs = policy.needs();
    let roots: &[(Effect, &str)] = if probe.uid == 0 { &ONLY_BY_A_RUNNER_FOR_ROOT } else { &[] };
    roots
        .iter()
        .chain(ONLY_BY_A_RUNNER)
        .filter(|(effect, _)| needs.contains(*effect))
        .filter(|(effect, _)| missing.iter().all(|loss| loss.effect != *effect))
        .map(|(effect, reason)| Loss { effect: *effect, reason: Reason::new(reason) })
        .collect()
}

const ONLY_BY_A_RUNNER_FOR_ROOT: [(Effect, &str); 1] =
    [(Effect::FsMetadata, "the runner makes root's device nodes read-only")];

const ONLY_BY_A_RUNNER: &[(Effect, &str)] = &[
    (Effect::FsCarveOutNew, "the runner makes the placeholders and compares afterwards"),
    (Effect::FdStdio, "the runner relays regular files"),
    (
        Effect::Orphan,
        "the runner holds the lifeline; without it a parent killed at once leaves the tree behind",
    ),
    (Effect::LimitTime, "the runner measures the time"),
    (Effect::LimitMemory, "the runner measures the memory"),
];

/// Where the stage runs.
pub(crate) fn is_linux(probe: &Probe) -> bool {
    probe.os == "linux"
}

/// The reasons that make any backend unusable: another system, no stage, or a launch that failed.
pub(crate) fn usable(backend: &str, probe: &Probe) -> Result<AbsPath, Unusable> {
    if !is_linux(probe) {
        return Err(Unusable::without_remedy("it needs Linux"));
    }
    if let Some(Err(unusable)) = probe.launches.get(backend) {
        return Err(unusable.clone());
    }
    Ok(probe.stage.clone()?.path)
}
