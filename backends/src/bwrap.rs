//! The bwrap backend: namespaces and mounts by bubblewrap, the rest by the stage inside.
//!
//! Options as measured with bubblewrap 0.8. Root starts it with every capability, so they are dropped here as well as
//! in the stage; a second, inner user namespace (`--disable-userns`) locks the mounts.

mod options;
mod table;

use std::collections::BTreeMap;

use confine_core::backend::{Handover, Wrapper};
use confine_core::policy::{NetPlan, Policy};
use confine_core::probe::Unusable;
use confine_core::{
    AbsPath, Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effect, Governed, Launch, Layer, Probe,
};
use confine_stage::plan::{Plan, Role};

use crate::balance::Offer;
use crate::governance::{Need, SHARED, answers};
use crate::landlock::rights;
use crate::launch::{self, Network, Settled};
use crate::lower::{Backdrop, Lowered, Mount, fixed, lower};
use crate::seccomp;

/// The most mounts of one sandbox, those that each has included: 300 masks take bubblewrap a tenth of a second, and a
/// thousand take a second.
pub const MOUNT_BOUND: usize = 400;
/// Whose mounts no policy asks for.
const OWN: [&str; 2] = ["/dev", "/proc"];

/// Namespaces and mounts by bubblewrap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bwrap;

const NAME: &str = "bwrap";

struct Ready {
    program: AbsPath,
    stage: AbsPath,
}

fn ready(probe: &Probe) -> Result<Ready, Unusable> {
    let program = probe.bwrap.clone()?.path;
    probe.user_namespaces.clone()?;
    Ok(Ready { program, stage: launch::usable(NAME, probe)? })
}

impl Backend for Bwrap {
    fn id(&self) -> BackendId {
        BackendId::new(NAME)
    }

    fn is_for(&self, probe: &Probe) -> bool {
        launch::is_linux(probe)
    }

    fn governs(&self, probe: &Probe) -> BTreeMap<Effect, Governed> {
        let ready = ready(probe);
        let usable = ready.as_ref().map(|_| ()).map_err(|unusable| &unusable.reason);
        answers([table::OWN, SHARED], usable, probe)
    }

    fn confine(&self, argv: &Argv, policy: &Policy, probe: &Probe) -> Result<ConfinedArgv, ConfineError> {
        let Ready { program, stage } =
            ready(probe).map_err(|unusable| ConfineError::Unusable { backend: self.id(), unusable })?;
        launch::protected_names(policy)?;
        let governed = refined(self.governs(probe), policy, probe);
        let missing = Offer { backend: self.id(), governed, gaps: Vec::new() }.settle(policy)?;
        let tables: &[AbsPath] = if probe.uid == 0 { &probe.kernel_tables } else { &[] };
        let lowered = lower(&policy.fs, Backdrop::Namespaces { stage: &stage, tables });
        bounded(self.id(), &lowered)?;
        let plan = plan(argv, policy, probe, &lowered);
        let layers = [Layer::Namespace, Layer::Mount].into_iter().chain(launch::plan_layers(&plan)).collect();
        let bound = lowered.bound();
        let launch = Launch {
            wrapper: Some(wrapper(program, policy, &lowered)),
            stage_inside: lowered.stage.unwrap_or_else(|| stage.clone()),
            stage,
            plan: plan.encode(),
            command: argv.words().to_vec(),
            // The stage goes to the program's directory itself, in its own view.
            cwd: AbsPath::root(),
        };
        let settled = Settled { backend: self.id(), launch, layers, missing, pins: lowered.pins, bound };
        Ok(settled.confined(policy, probe))
    }
}

fn wrapper(program: AbsPath, policy: &Policy, lowered: &Lowered) -> Wrapper {
    Wrapper {
        program,
        options: options::options(policy, lowered),
        handover: Handover::Descriptor,
        alone: vec!["--die-with-parent".into()],
    }
}

/// For this policy: without a network namespace only Landlock governs abstract sockets, and placeholders stand where
/// every missing name lies in a `.git`.
fn refined(
    mut governed: BTreeMap<Effect, Governed>,
    policy: &Policy,
    probe: &Probe,
) -> BTreeMap<Effect, Governed> {
    if policy.net == NetPlan::Open {
        let answer = if Need::Landlock(rights::SCOPED).is_met(probe) {
            Governed::by(&[Layer::Landlock])
        } else {
            Governed::not("the network is open, and Landlock governs abstract sockets from ABI 6 only")
        };
        governed.insert(Effect::NetUnixAbstract, answer);
    }
    if policy.fs.missing.is_empty() {
        governed.insert(Effect::FsCarveOutNew, Governed::by(&[Layer::Mount, Layer::Runner]));
    }
    governed
}

fn bounded(backend: BackendId, lowered: &Lowered) -> Result<(), ConfineError> {
    let mounts = lowered.mounts.len();
    if mounts <= MOUNT_BOUND {
        return Ok(());
    }
    let mut by_directory: BTreeMap<AbsPath, usize> = BTreeMap::new();
    let asked = |mount: &&Mount| !OWN.map(fixed).iter().any(|own| mount.at().is_within(own));
    for mount in lowered.mounts.iter().filter(asked) {
        *by_directory.entry(mount.at().parent().unwrap_or_else(AbsPath::root)).or_default() += 1;
    }
    let most = by_directory.into_iter().max_by_key(|(_, count)| *count);
    let entry = most.map_or_else(AbsPath::root, |(directory, _)| directory);
    Err(ConfineError::TooManyMounts { backend, mounts, bound: MOUNT_BOUND, entry })
}

fn plan(argv: &Argv, policy: &Policy, probe: &Probe, lowered: &Lowered) -> Plan {
    let abi = probe.landlock.as_ref().copied().unwrap_or(0);
    let landlock = launch::ruleset(lowered, policy, abi, Network::Elsewhere);
    let stdio_access = landlock.as_ref().map(|ruleset| ruleset.handled_fs & rights::DEVICE);
    Plan {
        role: Role::Init,
        cwd: argv.cwd().to_os_string(),
        landlock,
        stdio_access,
        seccomp: seccomp::for_host(probe, policy, seccomp::Isolation::Namespace),
        rlimits: launch::rlimits(policy, probe),
        masked: lowered.masked.iter().map(AbsPath::to_os_string).collect(),
        writable: lowered.writable().iter().map(AbsPath::to_os_string).collect(),
        ..Plan::default()
    }
}
