//! The landlock backend: the stage alone, where there is no bubblewrap or no user namespace.
//!
//! The same policy with fewer effects, each missing one named. Landlock rules only add up, so nothing below a read or
//! write grant can be taken away again; the stage stays outside the program's domain as its supervisor.

pub mod rights;
mod table;

use std::collections::BTreeMap;

use confine_core::policy::fs::Tmp;
use confine_core::policy::{NetPlan, Policy, Source};
use confine_core::probe::Unusable;
use confine_core::{
    AbsPath, Access, Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effect, Gap, Governed, Launch,
    Layer, Probe,
};
use confine_stage::plan::{Plan, Role, Rule};

use crate::balance::Offer;
use crate::governance::{SHARED, answers};
use crate::launch::{self, Network, Settled};
use crate::lower::{Backdrop, Grant, Lowered, fixed, lower};
use crate::seccomp::{self, Isolation};

/// The stage alone, with Landlock and seccomp.
#[derive(Clone, Copy, Debug, Default)]
pub struct Landlock;

const NAME: &str = "landlock";
/// The private temporary directory's name begins with this; the program gets its path as `TMPDIR`.
const SCRATCH: &str = "confine-";

struct Ready {
    stage: AbsPath,
    abi: u32,
}

fn ready(probe: &Probe) -> Result<Ready, Unusable> {
    let abi = probe.landlock.clone()?;
    if abi < rights::FLOOR {
        return Err(Unusable::new(
            format!("Landlock ABI {abi} does not govern truncating; ABI {} does", rights::FLOOR),
            "use Linux 6.2 or later, or the bwrap backend",
        ));
    }
    Ok(Ready { stage: launch::usable(NAME, probe)?, abi })
}

impl Backend for Landlock {
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
        let Ready { stage, abi } =
            ready(probe).map_err(|unusable| ConfineError::Unusable { backend: self.id(), unusable })?;
        launch::protected_names(policy)?;
        let lowered = lower(&policy.fs, Backdrop::Host);
        if let Some(path) = own_place(&lowered, policy) {
            return Err(ConfineError::OwnPlace { backend: self.id(), path });
        }
        let governed = refined(self.governs(probe), policy, abi);
        let missing = Offer { backend: self.id(), governed, gaps: gaps(&lowered) }.settle(policy)?;
        let plan = plan(argv, policy, probe, &lowered, abi);
        let layers = launch::plan_layers(&plan).collect();
        let launch = Launch {
            wrapper: None,
            stage_inside: stage.clone(),
            stage,
            plan: plan.encode(),
            command: argv.words().to_vec(),
            // The stage goes to the program's directory itself.
            cwd: AbsPath::root(),
        };
        // A pin is a mount, so there is none.
        let pins = Vec::new();
        let bound = bound(&lowered, policy);
        let settled = Settled { backend: self.id(), launch, layers, missing, pins, bound };
        Ok(settled.confined(policy, probe))
    }
}

/// The policy's own paths among those that rules are about.
fn bound(lowered: &Lowered, policy: &Policy) -> Vec<AbsPath> {
    let fs = &policy.fs;
    let own = |path: &&AbsPath| fs.entries.contains_key(*path) || fs.precreate.contains(*path);
    let paths = lowered.grants.iter().map(Grant::at).filter(own);
    paths.filter(|path| **path != AbsPath::root()).cloned().collect()
}

/// A place of confine's own that a grant opens for writing.
fn own_place(lowered: &Lowered, policy: &Policy) -> Option<AbsPath> {
    let own = |path: &AbsPath| policy.fs.entries.get(path).is_some_and(|entry| entry.source == Source::Own);
    lowered.mount_only.iter().map(|gap| &gap.path).find(|path| own(path)).cloned()
}

/// Sockets are in the table: below ABI 9 none is governed, from there every one.
fn gaps(lowered: &Lowered) -> Vec<Gap> {
    lowered.mount_only.iter().filter(|gap| gap.effect != Effect::NetUnixPath).cloned().collect()
}

/// For this policy: what it cannot express is a gap, so the rest of hiding and protecting is enforced; and devices are
/// out of reach where nothing above them may be read.
fn refined(
    mut governed: BTreeMap<Effect, Governed>,
    policy: &Policy,
    abi: u32,
) -> BTreeMap<Effect, Governed> {
    let enforced = || Governed::by(&[Layer::Landlock]);
    governed.insert(Effect::FsHide, enforced());
    governed.insert(Effect::FsCarveOut, enforced());
    let devices_in_view = policy.fs.access_at(&fixed("/dev")) != Access::Hide;
    if abi >= rights::IOCTL && !devices_in_view {
        governed.insert(Effect::FsDevice, enforced());
    }
    governed
}

fn plan(argv: &Argv, policy: &Policy, probe: &Probe, lowered: &Lowered, abi: u32) -> Plan {
    let network = if policy.net == NetPlan::Off { Network::Landlock } else { Network::Elsewhere };
    let granted = rights::known(abi) & !launch::withheld(policy);
    let scratch = (policy.fs.tmp == Tmp::Private).then(|| Rule {
        access: rights::WRITE & granted,
        path: probe.temporary.as_path().join(SCRATCH).into_os_string(),
    });
    Plan {
        role: Role::Supervisor,
        cwd: argv.cwd().to_os_string(),
        landlock: launch::ruleset(lowered, policy, abi, network),
        stdio_access: Some(rights::DEVICE & granted),
        scratch,
        seccomp: seccomp::for_host(probe, policy, Isolation::Filter),
        rlimits: launch::rlimits(policy, probe),
        ..Plan::default()
    }
}
