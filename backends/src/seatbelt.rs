//! The seatbelt backend: a profile for macOS's `sandbox-exec`, generated and tested as text.
//!
//! Nobody has run it on macOS yet: what it answers for effects is what the language says in Apple's own profiles and in
//! those of others. There is no stage and no runner there, so what those do on Linux is missing, each by name: the argv
//! is for [`portable`](ConfinedArgv::portable) spawners. `sandbox-exec` refuses a profile that names an operation which
//! its system does not know, so an older macOS runs nothing.
//!
//! A profile goes by paths, and the last rule that matches decides. Hence no placeholders, no precreated files and no
//! mounts; and no private `/tmp`: the host's is out of reach, unless the policy says `tmp = "host"`.

mod place;
pub mod profile;
mod table;

use std::collections::BTreeMap;
use std::ffi::OsString;

use confine_core::backend::Payload;
use confine_core::policy::Policy;
use confine_core::probe::Unusable;
use confine_core::{
    Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effect, Governed, Launch, Layer, Loss, Probe,
};

use crate::balance::Offer;
use crate::governance::answers;
use crate::launch;
use crate::lower::{Backdrop, fixed, lower};
use profile::Profile;

/// `sandbox-exec` with a profile of our own. Needs macOS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seatbelt;

const NAME: &str = "seatbelt";
/// The system's own, on its sealed volume: never one that a `PATH` finds.
const PROGRAM: &str = "/usr/bin/sandbox-exec";

fn ready(probe: &Probe) -> Result<(), Unusable> {
    if probe.os != "macos" {
        return Err(Unusable::without_remedy("it needs macOS"));
    }
    probe.launches.get(NAME).cloned().unwrap_or(Ok(()))
}

impl Backend for Seatbelt {
    fn id(&self) -> BackendId {
        BackendId::new(NAME)
    }

    fn is_for(&self, probe: &Probe) -> bool {
        probe.os == "macos"
    }

    fn governs(&self, probe: &Probe) -> BTreeMap<Effect, Governed> {
        let ready = ready(probe);
        let usable = ready.as_ref().map(|_| ()).map_err(|unusable| &unusable.reason);
        answers([table::OWN], usable, probe)
    }

    fn confine(&self, argv: &Argv, policy: &Policy, probe: &Probe) -> Result<ConfinedArgv, ConfineError> {
        ready(probe).map_err(|unusable| ConfineError::Unusable { backend: self.id(), unusable })?;
        launch::protected_names(policy)?;
        let offer = Offer { backend: self.id(), governed: self.governs(probe), gaps: Vec::new() };
        let missing = offer.settle(policy)?;
        let profile = Profile::new(policy, &lower(&place::real(&policy.fs), Backdrop::Profile));
        Ok(confined(argv, policy, profile, missing))
    }
}

/// `sandbox-exec` stands where a stage does: it confines itself, and executes the command.
fn confined(argv: &Argv, policy: &Policy, profile: Profile, missing: Vec<Loss>) -> ConfinedArgv {
    let mut words: Vec<OsString> = vec!["-p".into(), profile.text().into()];
    words.extend(profile.definitions());
    let launch = Launch {
        wrapper: None,
        stage: fixed(PROGRAM),
        stage_inside: fixed(PROGRAM),
        plan: words,
        command: argv.words().to_vec(),
        cwd: argv.cwd().clone(),
    };
    let backend = BackendId::new(NAME);
    ConfinedArgv {
        env: launch::environment(policy, &backend),
        payload: Payload::Command,
        policy: policy.id.clone(),
        plan: launch::digest(&launch),
        layers: vec![Layer::Environment, Layer::Seatbelt],
        missing,
        runner_only: Vec::new(),
        pins: profile.into_pins(),
        precreate: Vec::new(),
        bound: Vec::new(),
        runner_failure: None,
        accepted: policy.accept_missing.clone(),
        backend,
        launch,
    }
}
