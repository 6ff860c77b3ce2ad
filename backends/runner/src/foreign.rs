//! Third-party backends: an adapter that runs the program that `confine.lock` pins.
//!
//! Before each use the program is opened, copied into a sealed file in memory, and hashed there; that copy is what runs.
//! So neither a link nor a file that is swapped or rewritten meanwhile is ever run. A backend is trusted by nature: what
//! is checked is that it is the one that the user pinned, and that it keeps the protocol.
//!
//! Its calls block the calling thread, each for 5 s at most.

mod call;
mod error;
mod image;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use confine_backends::foreign::protocol::{Confined, Description, Governance, Request, Wrapping};
use confine_backends::foreign::{self, Party};
use confine_core::backend::Payload;
use confine_core::denial::Dialect;
use confine_core::probe::Unusable;
use confine_core::{
    AbsPath, Argv, Backend, BackendId, ConfineError, ConfinedArgv, Effect, Governed, Policy, Probe, Text,
};

use crate::find::{self, Find};
use crate::lock::{BackendName, Pin};

use call::Bounds;
use image::Image;

pub use error::ForeignError;

/// How long a program that did not say who it is, or what it governs, is not asked again.
const MOMENT: Duration = Duration::from_secs(30);

/// A pinned program as a backend.
#[derive(Debug)]
pub struct Foreign {
    pin: Pin,
    bounds: Bounds,
    known: OnceLock<Known>,
    /// When it gave no answer the last time, and why: one that hangs is not waited for again and again.
    silent: Mutex<Option<(Instant, Unusable)>>,
    /// The last answer about a host: it is asked for twice in a launch.
    governance: Mutex<Option<(Probe, Governance)>>,
}

/// What the program says of itself.
#[derive(Debug)]
struct Known {
    payload: Payload,
    dialect: Dialect,
}

impl Foreign {
    /// Nothing is run or looked at yet.
    pub fn new(pin: Pin) -> Self {
        Self {
            pin,
            bounds: Bounds::default(),
            known: OnceLock::new(),
            silent: Mutex::new(None),
            governance: Mutex::new(None),
        }
    }

    /// With another limit than 5 s on each answer.
    #[must_use]
    pub fn with_time_limit(mut self, time: Duration) -> Self {
        self.bounds.time = time;
        self
    }

    /// What is pinned.
    pub fn pin(&self) -> &Pin {
        &self.pin
    }

    /// Whether the file is still the one that was pinned. Runs nothing.
    ///
    /// # Errors
    /// Where it is gone, is not to be trusted, or has another content.
    pub fn verify(&self) -> Result<(), ForeignError> {
        self.image().map(|_| ())
    }

    /// Asks the program who it is, once.
    ///
    /// # Errors
    /// Where it is not what was pinned, does not answer, speaks another protocol, or calls itself otherwise.
    pub fn describe(&self) -> Result<(), ForeignError> {
        self.known().map(|_| ())
    }

    fn known(&self) -> Result<&Known, ForeignError> {
        if let Some(known) = self.known.get() {
            return Ok(known);
        }
        let known = self.introduced()?;
        Ok(self.known.get_or_init(|| known))
    }

    fn introduced(&self) -> Result<Known, ForeignError> {
        let Description { id, dialect, payload, .. } = self.ask(Request::Describe, Description::decode)?;
        if id != self.id() {
            return Err(ForeignError::OtherName {
                pin: self.pin.name.clone(),
                says: Text::from(id.as_str()),
            });
        }
        let dialect = Dialect::parse(&dialect).map_err(|source| ForeignError::Dialect {
            file: self.pin.name.file(),
            reason: Text::from(source.to_string().as_str()),
        })?;
        Ok(Known { payload, dialect })
    }

    fn governance(&self, probe: &Probe) -> Result<Governance, ForeignError> {
        let mut last = self.governance.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, governance)) = last.as_ref().filter(|(about, _)| about == probe) {
            return Ok(governance.clone());
        }
        let governance = self.ask(Request::Governs(probe), Governance::decode)?;
        *last = Some((probe.clone(), governance.clone()));
        Ok(governance)
    }

    fn asked(&self, probe: &Probe) -> Result<(&Known, Governance), Unusable> {
        foreign::usable(&self.id(), probe)?;
        self.once(|| Ok((self.known()?, self.governance(probe)?)))
    }

    /// Whoever asks at the same time waits for the one answer.
    fn once<T>(&self, ask: impl FnOnce() -> Result<T, ForeignError>) -> Result<T, Unusable> {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, unusable)) = silent.as_ref().filter(|(since, _)| since.elapsed() < MOMENT) {
            return Err(unusable.clone());
        }
        ask().map_err(|error| {
            let unusable = Unusable::from(error);
            *silent = Some((Instant::now(), unusable.clone()));
            unusable
        })
    }

    fn ask<T, E: std::fmt::Display>(
        &self,
        request: Request<'_>,
        decode: impl FnOnce(&[u8]) -> Result<T, E>,
    ) -> Result<T, ForeignError> {
        let (file, verb) = (self.pin.name.file(), request.verb());
        let written = request.encode().map_err(|_| ForeignError::Unwritable)?;
        let image = self.image()?;
        let answer = call::call(&image.program, &file, verb, &written, self.bounds)
            .map_err(|source| ForeignError::Call { file: file.clone(), verb, source })?;
        let reason = |error: E| Text::from(error.to_string().as_str());
        decode(&answer).map_err(|error| ForeignError::Answer { file, verb, reason: reason(error) })
    }

    fn image(&self) -> Result<Image, ForeignError> {
        let image = Image::of(&self.pin.path)?;
        if image.sha256 != self.pin.sha256 {
            let Pin { name, path, sha256: pinned } = self.pin.clone();
            return Err(ForeignError::Changed { name, path, pinned, found: image.sha256 });
        }
        Ok(image)
    }

    /// Its wrapper is held to the same rules as our own.
    fn trusted(&self, mut wrapping: Wrapping, policy: &Policy) -> Result<Wrapping, Unusable> {
        let found = find::tool(wrapping.program.as_path());
        let missing = || {
            let text = format!("it wraps with `{}`, which is not there", wrapping.program);
            Unusable::new(text, format!("install what {} needs", self.pin.name.file()))
        };
        wrapping.program = found.ok_or_else(missing)??.path;
        find::safe_for(&wrapping.program, policy)?;
        Ok(wrapping)
    }
}

impl Backend for Foreign {
    fn id(&self) -> BackendId {
        self.pin.name.id()
    }

    fn governs(&self, probe: &Probe) -> BTreeMap<Effect, Governed> {
        match self.asked(probe) {
            Ok((known, governance)) => party(&self.id(), known, &governance).governs(probe),
            Err(unusable) => foreign::ungoverned(&unusable.reason),
        }
    }

    fn confine(&self, argv: &Argv, policy: &Policy, probe: &Probe) -> Result<ConfinedArgv, ConfineError> {
        let id = self.id();
        let unusable = |unusable| ConfineError::Unusable { backend: id.clone(), unusable };
        let (known, governance) = self.asked(probe).map_err(unusable)?;
        let answer = self.ask(Request::Confine(argv, policy, probe), Confined::decode);
        let wrapping = match answer.map_err(|error| unusable(error.into()))? {
            Confined::Launch(wrapping) => self.trusted(*wrapping, policy).map_err(unusable)?,
            Confined::Error(refusal) => return Err(unusable(refusal)),
        };
        party(&id, known, &governance).confine(wrapping, argv, policy, probe)
    }

    fn dialect(&self) -> Option<&Dialect> {
        self.once(|| self.known()).ok().map(|known| &known.dialect)
    }

    fn pinned(&self) -> Option<&str> {
        Some(self.pin.sha256.as_ref())
    }
}

fn party<'a>(id: &'a BackendId, known: &'a Known, governance: &'a Governance) -> Party<'a> {
    Party { id, payload: known.payload, governance, dialect: &known.dialect }
}

/// The pin of a program: `word` is a file where it has a slash, else the NAME of a `confine-backend-NAME` on the path.
/// Runs nothing.
///
/// # Errors
/// A file that is called otherwise, is not there, or is not to be trusted.
pub fn locate(word: &OsStr, find: &Find) -> Result<Pin, ForeignError> {
    let (name, path) = if word.as_bytes().contains(&b'/') { named(word)? } else { on_path(word, find)? };
    let sha256 = Image::of(&path)?.sha256;
    Ok(Pin { name, path, sha256 })
}

fn named(word: &OsStr) -> Result<(BackendName, AbsPath), ForeignError> {
    let file = Path::new(word);
    let name = BackendName::of_file(file.file_name().unwrap_or_default())?;
    let tool = find::tool(file).ok_or_else(|| ForeignError::Gone(Text::from(word)))?;
    Ok((name, tool.map_err(ForeignError::Untrusted)?.path))
}

fn on_path(word: &OsStr, find: &Find) -> Result<(BackendName, AbsPath), ForeignError> {
    let name = BackendName::new(word.to_string_lossy())?;
    let tool = find.on_path(&name.file()).ok_or_else(|| ForeignError::NotOnPath(name.file()))?;
    Ok((name, tool.map_err(ForeignError::Untrusted)?.path))
}

#[cfg(test)]
mod tests;
