//! What a harness author holds: the facts, found once, and the commands made from them.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use confine_backends::{Bwrap, Registry};
use confine_core::{Backend, BackendId, Probe};

use crate::command::Command;
use crate::facts;
use crate::find::Find;
use crate::foreign::Foreign;
use crate::guard;
use crate::launch::Image;
use crate::places::Places;
use crate::planned::Planned;
use crate::probe::cache::Recalled;
use crate::spawn::Spawner;

/// The facts of this host, and the backends. `Send + Sync`, cheap to clone, no global state.
#[derive(Clone)]
pub struct Confine {
    shared: Arc<Shared>,
}

/// What every clone, command and run of a [`Confine`] shares.
pub(crate) struct Shared {
    pub(crate) probe: Probe,
    pub(crate) registry: Registry,
    pub(crate) image: Image,
    pub(crate) places: Places,
    pub(crate) spawner: Arc<Spawner>,
    /// None where the backends are the caller's own, of which nothing is known.
    pub(crate) planned: Option<Planned>,
}

/// Makes a [`Confine`] with other choices than the defaults.
#[derive(Default)]
pub struct Builder {
    stage: Option<PathBuf>,
    by_path: bool,
    registry: Option<Registry>,
    named: Vec<Foreign>,
    probe: Option<Probe>,
    afresh: bool,
    recovered: bool,
    only: Option<BackendId>,
}

/// Why the host cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// No thread can be made.
    #[error("cannot start the spawning thread: {0}")]
    Thread(#[source] io::Error),
}

impl Confine {
    /// With the defaults.
    ///
    /// # Errors
    /// When the spawning thread cannot be made. What the host lacks is no error: the probe says it.
    pub fn detect() -> Result<Self, DetectError> {
        Self::builder().detect()
    }

    /// With choices.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The facts.
    pub fn probe(&self) -> &Probe {
        &self.shared.probe
    }

    /// The backends.
    pub fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// A command to confine. Its defaults: the current directory, the process's environment as the caller's, stdin
    /// `/dev/null`, stdout and stderr captured (1 MiB each).
    pub fn command(&self, words: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        Command::new(self.shared.clone(), words.into_iter().map(Into::into).collect())
    }
}

impl Builder {
    /// Where the stage is, instead of beside the running executable or in `../libexec/confine`.
    #[must_use]
    pub fn stage(self, path: impl Into<PathBuf>) -> Self {
        Self { stage: Some(path.into()), ..self }
    }

    /// Launch the stage by its checked file instead of a sealed memfd (saves the copy in a short-lived process).
    #[must_use]
    pub fn stage_by_path(self) -> Self {
        Self { by_path: true, ..self }
    }

    /// The backends, instead of bwrap and landlock.
    #[must_use]
    pub fn registry(self, registry: Registry) -> Self {
        Self { registry: Some(registry), ..self }
    }

    /// Third-party backends as well, each taken only where a command names it ([`Command::backend`]). Nothing of them is
    /// run before; asked for a launch, one blocks the calling thread for as long as its program takes.
    #[must_use]
    pub fn third_party(mut self, backends: impl IntoIterator<Item = Foreign>) -> Self {
        self.named.extend(backends);
        self
    }

    /// The only backend that will be asked for: nothing is made ready for another.
    #[must_use]
    pub fn only(self, backend: BackendId) -> Self {
        Self { only: Some(backend), ..self }
    }

    /// Without paying what killed runs left: [`guard::recover`] was called before.
    #[must_use]
    pub fn recovered(self) -> Self {
        Self { recovered: true, ..self }
    }

    /// The facts, instead of looking.
    #[must_use]
    pub fn probe(self, probe: Probe) -> Self {
        Self { probe: Some(probe), ..self }
    }

    /// Without what the last probe found ([`probe`](crate::probe)): what is found now is to take its place.
    #[must_use]
    pub fn afresh(self) -> Self {
        Self { afresh: true, ..self }
    }

    /// Looks at the host, recalls what the last probe found to be otherwise than facts say, and pays what runs of this
    /// user left that were killed ([`guard::recover`]).
    ///
    /// # Errors
    /// See [`Confine::detect`].
    pub fn detect(self) -> Result<Confine, DetectError> {
        let find = Find { stage: self.stage, ..Find::here() };
        let probe = self.probe.unwrap_or_else(|| facts::probe(&find));
        let places = Places::here();
        if !self.recovered {
            for recovered in guard::recover(&places) {
                tracing::warn!(run = recovered.run, "paid what a killed run left");
            }
        }
        let named = self.named.into_iter().map(|foreign| -> Box<dyn Backend> { Box::new(foreign) });
        let planned = self.registry.is_none().then(Planned::default);
        let registry = self.registry.unwrap_or_default().with_named(named);
        let recalled =
            if self.afresh { Recalled::default() } else { Recalled::here(&places, &probe, &registry) };
        let probe = recalled.noted(probe);
        let registry = if recalled.doubts() { registry.map(|one| recalled.doubted(one)) } else { registry };
        let image = if self.by_path { Image::File } else { Image::Sealed(OnceLock::new()) };
        let spawner = Arc::new(spawner(&probe, self.only.as_ref()).map_err(DetectError::Thread)?);
        Ok(Confine { shared: Arc::new(Shared { probe, registry, image, places, spawner, planned }) })
    }
}

/// Root's bwrap is started by a thread that needs some time to make itself ready.
fn spawner(probe: &Probe, only: Option<&BackendId>) -> io::Result<Spawner> {
    let is_bwrap = probe.bwrap.is_ok() && only.is_none_or(|id| *id == Bwrap.id());
    if probe.uid == 0 && is_bwrap { Spawner::warm() } else { Ok(Spawner::default()) }
}
