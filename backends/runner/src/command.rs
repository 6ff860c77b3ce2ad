//! One command, until it is spawned.

use std::ffi::OsString;
use std::sync::Arc;

use confine_backends::{Bwrap, Landlock, Refusals};
use confine_core::classify::Judgement;
use confine_core::probe::Unusable;
use confine_core::{
    AbsPath, Argv, Backend as _, BackendId, ConfinedArgv, LaunchFault, LaunchStage, Policy, Report,
};
use tokio::runtime::{Builder, Handle};
use tokio::time::Instant;

use crate::confine::Shared;
use crate::fault;
use crate::find;
use crate::guard::{Mounts, Pledge};
use crate::judge::{self, Case, Ended, Judge};
use crate::ready::{Ready, span};
use crate::refusal::SpawnError;
use crate::run::{Run, Stdio};
use crate::stamp::Stamp;
use crate::standing::Launch;
use crate::stream::Wishes;
use crate::summary::Heading;

/// What helps where there is no word, or no usable one, to run.
const NAME: &str = "name the program to run: a path, or a name to be found on PATH";

/// One command, until it is spawned.
pub struct Command {
    shared: Arc<Shared>,
    words: Vec<OsString>,
    cwd: Option<AbsPath>,
    policy: Option<Policy>,
    backend: Option<BackendId>,
    environment: Option<Vec<(OsString, OsString)>>,
    streams: Wishes,
}

impl Command {
    pub(crate) fn new(shared: Arc<Shared>, words: Vec<OsString>) -> Self {
        let streams = Wishes::default();
        Self { shared, words, cwd: None, policy: None, backend: None, environment: None, streams }
    }

    /// Where the program starts.
    #[must_use]
    pub fn cwd(self, cwd: AbsPath) -> Self {
        Self { cwd: Some(cwd), ..self }
    }

    /// Under which policy. Without one, nothing spawns.
    #[must_use]
    pub fn policy(self, policy: &Policy) -> Self {
        Self { policy: Some(policy.clone()), ..self }
    }

    /// By this backend only.
    #[must_use]
    pub fn backend(self, id: BackendId) -> Self {
        Self { backend: Some(id), ..self }
    }

    /// The caller's environment, instead of the process's.
    #[must_use]
    pub fn environment(self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { environment: Some(variables.into_iter().collect()), ..self }
    }

    /// Standard input.
    #[must_use]
    pub fn stdin(mut self, stdio: Stdio) -> Self {
        self.streams.stdin = stdio;
        self
    }

    /// Standard output.
    #[must_use]
    pub fn stdout(mut self, stdio: Stdio) -> Self {
        self.streams.stdout = stdio;
        self
    }

    /// Standard error.
    #[must_use]
    pub fn stderr(mut self, stdio: Stdio) -> Self {
        self.streams.stderr = stdio;
        self
    }

    /// What is kept of each captured stream, in bytes.
    #[must_use]
    pub fn max_output(mut self, bytes: u64) -> Self {
        self.streams.max_output = bytes;
        self
    }

    /// The data that would be spawned.
    ///
    /// # Errors
    /// As [`Command::spawn`], before any process.
    pub fn confined(&self) -> Result<ConfinedArgv, SpawnError> {
        self.confined_by(self.policy.as_ref().ok_or_else(no_policy)?)
    }

    /// Judges how the command ended that somebody else spawned from its [`portable`](ConfinedArgv::portable) argv, as a
    /// report would.
    ///
    /// # Errors
    /// As [`Command::confined`].
    pub fn classify(&self, ended: &Ended<'_>) -> Result<Judgement, SpawnError> {
        let confined = self.confined()?;
        let policy = self.policy.as_ref().ok_or_else(no_policy)?;
        let command = judge::texts(&self.words);
        let cwd = self.start_directory()?;
        let case =
            Case { backend: &confined.backend, layers: &confined.layers, command: &command, cwd: Some(&cwd) };
        Ok(judge::ended(&self.shared, policy, &case, ended))
    }

    /// Spawns it. Inside a tokio runtime of any flavour, with I/O and time enabled; the run is followed by a task of
    /// that runtime.
    ///
    /// # Errors
    /// Whatever kept the wrapper from being started; what the wrapper or the stage says later is in the report.
    pub async fn spawn(mut self) -> Result<Run, SpawnError> {
        let clock = Instant::now();
        Handle::try_current()
            .map_err(|_| LaunchFault::new(LaunchStage::Usage, "spawn outside a tokio runtime"))?;
        let confined = self.confined()?;
        let policy = self.policy.take().ok_or_else(no_policy)?;
        let caller = self.environment.take().unwrap_or_else(|| std::env::vars_os().collect());
        let environment = confined.env.apply(caller);
        let cwd = self.cwd.clone().or_else(|| current_directory().ok());
        let judge = self.streams.keeps().then(|| Judge::new(self.shared.clone(), &policy, confined.payload));
        let heading = Heading::new(Stamp::now(), &self.words, cwd.as_ref(), Some(&policy)).judged(judge);
        let span = span(&heading, &confined, &self.words);
        let pledge = Pledge::new(&policy, Mounts::of(&confined.layers), &heading.stamp.run)?;
        let streams = std::mem::take(&mut self.streams);
        let confine = |policy: &Policy| self.confined_by(policy);
        let launch = Launch { shared: &self.shared, confine: &confine, policy, confined, environment };
        Ready { clock, heading, pledge }.start(launch, streams, span).await
    }

    /// Spawns it and waits, on a private runtime of the calling thread: the blocking façade. Not inside tokio.
    ///
    /// # Errors
    /// As [`Command::spawn`]; a call from inside a tokio runtime.
    pub fn run_blocking(self) -> Result<Report, SpawnError> {
        if Handle::try_current().is_ok() {
            let fault = LaunchFault::new(LaunchStage::Usage, "block inside a tokio runtime");
            return Err(fault.help("await `spawn` and `wait` there").into());
        }
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| fault::of_call(LaunchStage::Spawn, "make a runtime", &error))?;
        runtime.block_on(async { Ok(self.spawn().await?.wait().await) })
    }

    fn confined_by(&self, policy: &Policy) -> Result<ConfinedArgv, SpawnError> {
        let argv = Argv::new(self.words.iter().cloned(), self.start_directory()?)
            .map_err(|error| LaunchFault::new(LaunchStage::Usage, format!("run: {error}")).help(NAME))?;
        let confined = self.planned(&argv, policy)?;
        let wrapper = confined.launch.wrapper.as_ref().map(|wrapper| &wrapper.program);
        for program in wrapper.into_iter().chain([&confined.launch.stage]) {
            find::safe_for(program, policy).map_err(|unusable| replaceable(program, &unusable))?;
        }
        Ok(confined)
    }

    fn planned(&self, argv: &Argv, policy: &Policy) -> Result<ConfinedArgv, SpawnError> {
        let wanted = self.backend.as_ref();
        let is_ours = wanted.is_none_or(|id| [Bwrap.id(), Landlock.id()].contains(id));
        let Some(planned) = self.shared.planned.as_ref().filter(|_| is_ours) else {
            return self.chosen(argv, policy);
        };
        if let Some(known) = planned.recall(argv, policy, wanted) {
            return Ok(known);
        }
        let confined = self.chosen(argv, policy)?;
        planned.note(argv, policy, wanted, &confined);
        Ok(confined)
    }

    fn chosen(&self, argv: &Argv, policy: &Policy) -> Result<ConfinedArgv, SpawnError> {
        let (registry, probe) = (&self.shared.registry, &self.shared.probe);
        let Some(id) = &self.backend else {
            return registry.choose(argv, policy, probe).map_err(SpawnError::Refused);
        };
        let backend = registry.by_id(id).ok_or_else(|| unknown_backend(id))?;
        backend.confine(argv, policy, probe).map_err(|refusal| SpawnError::Refused(Refusals(vec![refusal])))
    }

    fn start_directory(&self) -> Result<AbsPath, LaunchFault> {
        self.cwd.clone().map_or_else(current_directory, Ok)
    }
}

fn no_policy() -> LaunchFault {
    LaunchFault::new(LaunchStage::Usage, "run without a policy").help("call `Command::policy`")
}

fn current_directory() -> Result<AbsPath, LaunchFault> {
    let what = "find the current directory";
    let directory =
        std::env::current_dir().map_err(|error| fault::of_call(LaunchStage::Usage, what, &error))?;
    AbsPath::new(directory).map_err(|error| LaunchFault::new(LaunchStage::Usage, format!("{what}: {error}")))
}

/// The next launch would run what the program put there.
fn replaceable(program: &AbsPath, unusable: &Unusable) -> LaunchFault {
    let mut fault =
        LaunchFault::new(LaunchStage::Choose, format!("trust its own programs: {}", unusable.reason));
    fault.path = Some(program.clone());
    fault.help = unusable.remedy.as_ref().map(ToString::to_string);
    fault
}

fn unknown_backend(id: &BackendId) -> LaunchFault {
    LaunchFault::new(LaunchStage::Usage, format!("use the backend `{id}`: there is none of that name"))
}
