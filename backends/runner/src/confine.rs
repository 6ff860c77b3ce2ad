//! What a harness author holds: the facts, found once, and the commands made from them.

use std::ffi::OsString;
use std::path::PathBuf;

use confine_backends::{Refusals, Registry};
use confine_core::{AbsPath, BackendId, ConfinedArgv, LaunchFault, Policy, Probe, Report};

use crate::run::{Run, Stdio};

/// The facts of this host, and the backends. `Send + Sync`, cheap to clone, no global state.
#[derive(Clone)]
pub struct Confine {}

/// Makes a [`Confine`] with other choices than the defaults.
#[derive(Default)]
pub struct Builder {}

/// Why the host cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {}

impl Confine {
    /// With the defaults.
    ///
    /// # Errors
    /// When the spawning thread or the control directory cannot be made.
    pub fn detect() -> Result<Self, DetectError> {
        Self::builder().detect()
    }

    /// With choices.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The facts.
    pub fn probe(&self) -> &Probe {
        todo!()
    }

    /// The backends.
    pub fn registry(&self) -> &Registry {
        todo!()
    }

    /// A command to confine. Its defaults: the current directory, the process's environment as the caller's, stdin
    /// `/dev/null`, stdout and stderr captured (1 MiB each).
    pub fn command(&self, _words: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        todo!()
    }
}

impl Builder {
    /// Where the stage is, instead of beside the running executable or in `../libexec/confine`.
    #[must_use]
    pub fn stage(self, _path: impl Into<PathBuf>) -> Self {
        todo!()
    }

    /// Launch the stage by its checked file instead of a sealed memfd (saves the copy in a short-lived process).
    #[must_use]
    pub fn stage_by_path(self) -> Self {
        todo!()
    }

    /// The backends, instead of bwrap and landlock.
    #[must_use]
    pub fn registry(self, _registry: Registry) -> Self {
        todo!()
    }

    /// The facts, instead of looking.
    #[must_use]
    pub fn probe(self, _probe: Probe) -> Self {
        todo!()
    }

    /// # Errors
    /// See [`Confine::detect`].
    pub fn detect(self) -> Result<Confine, DetectError> {
        todo!()
    }
}

/// One command, until it is spawned.
pub struct Command {}

/// Why nothing was spawned. Each turns into a [`LaunchFault`] and a report.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No backend enforces the policy here.
    #[error("no backend enforces the policy here")]
    Refused(Refusals),
    /// Anything later.
    #[error("{}", .0.text)]
    Fault(LaunchFault),
}

impl SpawnError {
    /// As reports have it, `help` with the exact `--accept-missing` list included.
    pub fn fault(&self) -> LaunchFault {
        todo!()
    }
}

impl Command {
    /// Where the program starts.
    #[must_use]
    pub fn cwd(self, _cwd: AbsPath) -> Self {
        todo!()
    }

    /// Under which policy. Without one, nothing spawns.
    #[must_use]
    pub fn policy(self, _policy: &Policy) -> Self {
        todo!()
    }

    /// By this backend only.
    #[must_use]
    pub fn backend(self, _id: BackendId) -> Self {
        todo!()
    }

    /// The caller's environment, instead of the process's.
    #[must_use]
    pub fn environment(self, _variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        todo!()
    }

    /// Standard input.
    #[must_use]
    pub fn stdin(self, _stdio: Stdio) -> Self {
        todo!()
    }

    /// Standard output.
    #[must_use]
    pub fn stdout(self, _stdio: Stdio) -> Self {
        todo!()
    }

    /// Standard error.
    #[must_use]
    pub fn stderr(self, _stdio: Stdio) -> Self {
        todo!()
    }

    /// What is kept of each captured stream, in bytes.
    #[must_use]
    pub fn max_output(self, _bytes: u64) -> Self {
        todo!()
    }

    /// The data that would be spawned.
    ///
    /// # Errors
    /// As [`Command::spawn`], before any process.
    pub fn confined(&self) -> Result<ConfinedArgv, SpawnError> {
        todo!()
    }

    /// Spawns it.
    ///
    /// # Errors
    /// Whatever kept the wrapper from being started; what the wrapper or the stage says later is in the report.
    pub async fn spawn(self) -> Result<Run, SpawnError> {
        todo!()
    }

    /// Spawns it and waits, on a private runtime of the calling thread: the blocking façade. Not inside tokio.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn run_blocking(self) -> Result<Report, SpawnError> {
        todo!()
    }
}
