//! From descriptors to a wrapper: one launch, and another where a host socket went away under it.
//!
//! A socket that listens when the policy is resolved is masked by a mount, and bwrap fails where the socket is gone by
//! then. Nothing is left to mask in that case, so the launch is repeated without that mask. Only launches with such
//! masks are waited for.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use confine_core::policy::env::Environment;
use confine_core::policy::{Policy, Source};
use confine_core::{ConfinedArgv, LaunchFault, LaunchStage};
use confine_stage::Record;
use confine_stage::status::Step;
use tokio::time::{sleep, timeout};

use crate::confine::Shared;
use crate::control::{self, Control, Received};
use crate::fault;
use crate::guard::{Duty, Guard};
use crate::launch::{self, Parcel};
use crate::refusal::SpawnError;
use crate::spawn::Process;
use crate::stream::Program;

/// How long a first record may take: a launch with hundreds of mounts takes less.
const FIRST: Duration = Duration::from_secs(1);

/// How often the host is looked at again where a mask is gone and its socket is not, and how long between.
const LOOKS: u32 = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// Confines the same command under another policy.
pub(crate) type Confine<'a> = dyn Fn(&Policy) -> Result<ConfinedArgv, SpawnError> + Send + Sync + 'a;

/// What is launched.
pub(crate) struct Launch<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) confine: &'a Confine<'a>,
    pub(crate) policy: Policy,
    pub(crate) confined: ConfinedArgv,
    pub(crate) environment: Environment,
}

/// A started wrapper. The control is dropped first, and with it the lifeline is cut.
pub(crate) struct Standing {
    pub(crate) control: Control,
    /// A record that was waited for.
    pub(crate) first: Option<Received>,
    pub(crate) process: Process,
}

/// The descriptors that a launch hands over: the program's, and the launcher's standard error.
pub(crate) struct Descriptors {
    pub(crate) program: Program,
    pub(crate) words: OwnedFd,
}

impl Descriptors {
    fn again(&self) -> io::Result<Self> {
        Ok(Self { program: self.program.try_clone()?, words: self.words.try_clone()? })
    }
}

impl Launch<'_> {
    /// Starts the wrapper.
    ///
    /// # Errors
    /// What the system says about descriptors, files in memory, or the wrapper's program.
    pub(crate) async fn stand(
        &mut self,
        mut descriptors: Descriptors,
        mut duty: Duty,
    ) -> Result<Standing, SpawnError> {
        loop {
            let again = if masks_sockets(&self.policy) { Some(descriptors.again()) } else { None };
            let again = again.transpose().map_err(|error| unopened(&error))?;
            let mut standing = self.start(descriptors, duty).await?;
            let Some(again) = again else { return Ok(standing) };
            // A launcher that takes longer hangs, and whoever asked for the run may want to end it.
            let Ok(first) = timeout(FIRST, standing.control.receive()).await else { return Ok(standing) };
            standing.first = first.ok().flatten();
            if standing.is_up() || self.forget_vanished(&standing).await == 0 {
                return Ok(standing);
            }
            self.confined = (self.confine)(&self.policy)?;
            duty = Duty::Done(standing.fall().await?);
            descriptors = again;
        }
    }

    /// Drops the masks of host sockets that are gone, and answers how many. unlink(2) takes the mask away a moment before
    /// the name, so that a view without the mask is looked at again.
    async fn forget_vanished(&mut self, standing: &Standing) -> usize {
        for _ in 0..LOOKS {
            let vanished = forget_vanished(&mut self.policy);
            if vanished > 0 || !standing.saw_another_view() {
                return vanished;
            }
            sleep(BETWEEN_LOOKS).await;
        }
        forget_vanished(&mut self.policy)
    }

    /// What is open of the duty is done while the wrapper starts. The stage waits for the word, so that the program never
    /// runs where it could not be done.
    async fn start(&self, descriptors: Descriptors, duty: Duty) -> Result<Standing, SpawnError> {
        let (control, stage) = control::pair().map_err(|error| unopened(&error))?;
        let Descriptors { program, words } = descriptors;
        let environment = self.environment.clone();
        let (guard, pledge) = match duty {
            Duty::Done(guard) => (Some(guard), None),
            Duty::Open(pledge) => (None, Some(pledge)),
        };
        let parcel = Parcel { program, control: stage, words, environment, guard };
        let request = launch::request(&self.confined, &self.shared.image, parcel)?;
        let keep = async { pledge.map(|pledge| pledge.keep(&self.policy, &self.shared.places)).transpose() };
        let (process, guard) = tokio::join!(self.shared.spawner.spawn(request), keep);
        let mut process = process.map_err(|error| self.unspawned(&error))?;
        if let Some(guard) = guard? {
            process.owe(guard);
            control.go();
        }
        Ok(Standing { control, first: None, process })
    }

    fn unspawned(&self, error: &io::Error) -> LaunchFault {
        let launch = &self.confined.launch;
        let program = launch.wrapper.as_ref().map_or(&launch.stage, |wrapper| &wrapper.program);
        let what = format!("start `{program}`");
        LaunchFault { path: Some(program.clone()), ..fault::of_call(LaunchStage::Spawn, &what, error) }
    }
}

impl Standing {
    /// Whether there is a record, and it is not that of a failure.
    fn is_up(&self) -> bool {
        self.first.as_ref().is_some_and(|first| !matches!(first.record, Record::Failed { .. }))
    }

    /// Whether the stage saw something else than what was planned.
    fn saw_another_view(&self) -> bool {
        let record = self.first.as_ref().map(|first| &first.record);
        matches!(record, Some(Record::Failed { step: Step::Verify, .. }))
    }

    /// Reaps a wrapper that failed, and answers what is still owed.
    async fn fall(mut self) -> Result<Guard, SpawnError> {
        self.control.lifeline().cut();
        let ended = self.process.watch().map_err(|error| unopened(&error))?;
        let _ = timeout(crate::spawn::PATIENCE, ended.readable()).await;
        self.process.reap();
        let stuck = || LaunchFault::new(LaunchStage::Status, "end a wrapper that failed");
        self.process.settle().ok_or_else(|| stuck().into())
    }
}

pub(crate) fn unopened(error: &io::Error) -> LaunchFault {
    fault::of_call(LaunchStage::Spawn, "open the run's descriptors", error)
}

fn masks_sockets(policy: &Policy) -> bool {
    policy.fs.entries.values().any(|entry| entry.source == Source::Listening)
}

fn forget_vanished(policy: &mut Policy) -> usize {
    let before = policy.fs.entries.len();
    policy.fs.entries.retain(|path, entry| {
        let gone =
            || path.as_path().symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        entry.source != Source::Listening || !gone()
    });
    before - policy.fs.entries.len()
}
