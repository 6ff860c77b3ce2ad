//! What an attempt is told, and what it tells: one line of JSON each. Neither holds a secret that an attempt is to find.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use confine_core::Effect;
use nix::errno::Errno;
use serde::{Deserialize, Serialize};

/// How many acts are named one by one.
const FEW: usize = 3;
/// The longest thing found that is told.
const LONGEST: usize = 128;

/// Whether something confines the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Subject {
    /// Nothing does: the control.
    Control,
    /// A backend does.
    Confined,
}

/// Where everything is that an attempt needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    /// Inside or outside.
    pub(super) subject: Subject,
    /// The throwaway directory.
    pub(super) ground: PathBuf,
    /// A process outside, in the host's numbering.
    pub(super) victim: i32,
    /// Where in its memory the secret is, and how long that is.
    pub(super) address: usize,
    /// See `address`.
    pub(super) length: usize,
    /// Loopback ports; 0, where nobody listens, for none.
    pub(super) tcp: u16,
    /// See `tcp`.
    pub(super) udp: u16,
    /// Of an abstract socket.
    pub(super) abstract_name: String,
    /// A segment of System V shared memory.
    pub(super) segment: Option<i32>,
    /// A name for a POSIX message queue and for a file in `/dev/shm`.
    pub(super) shared: String,
    /// A set-user-id program of root's that does no harm, and its argument.
    pub(super) setid: Option<(PathBuf, String)>,
}

impl Orders {
    /// A path in the throwaway directory.
    pub(super) fn at(&self, below: &str) -> PathBuf {
        self.ground.join(below)
    }
}

/// What one attempt says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// At which effect.
    pub effect: Effect,
    /// What was tried, in order, and how the system answered: nothing where it did it, else the name of the error.
    pub acts: Vec<(String, Option<String>)>,
    /// What was found where secrets are.
    pub found: Vec<String>,
    /// The signal that ended it, where one did.
    pub signal: Option<i32>,
}

impl Told {
    /// Nothing yet.
    pub(super) fn of(effect: Effect) -> Self {
        Self { effect, acts: Vec::new(), found: Vec::new(), signal: None }
    }

    /// Notes an act, and gives its result back.
    pub(super) fn tried<T, E: Into<Refusal>>(
        &mut self,
        act: impl Into<String>,
        result: Result<T, E>,
    ) -> Option<T> {
        let (value, refusal) = match result {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error.into().0)),
        };
        self.acts.push((act.into(), refusal));
        value
    }

    /// Notes what was read.
    pub(super) fn found(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
        self.found.push(String::from_utf8_lossy(bytes).into_owned());
    }

    /// The acts that the system says it did.
    pub(super) fn done(&self) -> Vec<String> {
        self.acts.iter().filter(|(_, refusal)| refusal.is_none()).map(|(act, _)| act.clone()).collect()
    }

    /// How the acts failed, for people.
    pub(super) fn refusals(&self) -> String {
        let many = self.acts.len() > FEW;
        let shown = |act: &str, why: &str| if many { why.to_owned() } else { format!("{act}: {why}") };
        let failed = self.acts.iter().filter_map(|(act, why)| Some(shown(act, why.as_deref()?)));
        let failed: Vec<String> = failed.collect::<BTreeSet<_>>().into_iter().collect();
        match (failed.is_empty(), self.signal) {
            (false, _) => failed.join(", "),
            (true, Some(signal)) => format!("signal {signal}"),
            (true, None) => "nothing came of it".to_owned(),
        }
    }
}

/// The name of an error.
pub(super) struct Refusal(String);

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Self(format!("{errno:?}"))
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(errno) => Errno::from_raw(errno).into(),
            None => Self::saying(error.kind()),
        }
    }
}

impl From<rustix::io::Errno> for Refusal {
    fn from(errno: rustix::io::Errno) -> Self {
        Errno::from_raw(errno.raw_os_error()).into()
    }
}

impl Refusal {
    /// What is no error of the system's.
    pub(super) fn saying(what: impl Display) -> Self {
        Self(what.to_string())
    }
}
