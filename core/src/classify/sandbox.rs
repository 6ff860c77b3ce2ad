//! What a sandbox says of an act: allowed, or blocked by which layers, by which entry of whom.

use std::collections::BTreeMap;

use serde::Serialize;

use super::view::{self, Gate, Place};
use crate::denial::Attempt;
use crate::policy::{Access, Entry, Kind, NetPlan, Source};
use crate::{AbsPath, Effect, Governed, Layer, Policy};

/// What stands around a program.
#[derive(Clone, Copy, Debug)]
pub struct Sandbox<'a> {
    /// What is allowed.
    pub policy: &'a Policy,
    /// Every layer that takes part.
    pub layers: &'a [Layer],
    /// What the backend can do about each effect on this host.
    pub governs: &'a BTreeMap<Effect, Governed>,
}

/// The entry of the policy that decides about a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Where it is listed.
    pub path: AbsPath,
    /// What it says.
    pub access: Access,
    /// What is there.
    pub kind: Kind,
    /// Who said so.
    pub source: Source,
}

impl Rule {
    pub(super) fn new(path: &AbsPath, entry: &Entry) -> Self {
        Self { path: path.clone(), access: entry.access, kind: entry.kind, source: entry.source.clone() }
    }
}

/// What stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What is refused.
    pub effect: Effect,
    /// By each of these alone; never empty.
    pub layers: Vec<Layer>,
    /// By which entry.
    pub rule: Option<Rule>,
}

/// The answer about one act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It passes the sandbox; ordinary permissions still count.
    Allowed {
        /// By which entry.
        rule: Option<Rule>,
        /// The policy says otherwise, and this effect is what the backend does not enforce.
        unenforced: Option<Effect>,
    },
    /// It does not.
    Blocked(Block),
}

impl Ruling {
    /// What stands in the way, if anything.
    pub const fn block(&self) -> Option<&Block> {
        match self {
            Self::Allowed { .. } => None,
            Self::Blocked(block) => Some(block),
        }
    }
}

impl Sandbox<'_> {
    /// About an attempt at a path: clean, with its links resolved.
    pub fn at(&self, path: &AbsPath, attempt: Attempt) -> Ruling {
        let place = view::at(self, path);
        let gate = match attempt {
            Attempt::Read | Attempt::Execute | Attempt::Trace => place.read,
            // Executing and reading pass the same gate, so what may be read was refused for writing.
            Attempt::Open if matches!(place.read, Gate::Closed(_)) => place.read,
            Attempt::Metadata | Attempt::Owner => self.metadata(place.write),
            Attempt::Connect | Attempt::Send => self.socket(&place),
            _ => place.write,
        };
        self.ruling(gate, place.rule, attempt)
    }

    /// Whether the program can see what the host has at `path`. Landlock does not govern looking; what is below a
    /// scratch directory, in `/dev/shm` and of processes is the sandbox's own.
    pub fn shows(&self, path: &AbsPath) -> bool {
        if !self.layers.contains(&Layer::Mount) {
            return true;
        }
        if view::is_own(path) {
            return false;
        }
        // Which devices there are is no secret.
        let is_device = path.as_path().starts_with("/dev");
        let place = view::at(self, path);
        let is_scratch = place.rule.as_ref().is_some_and(|rule| rule.access == Access::Scratch);
        is_device || !(is_scratch || matches!(place.read, Gate::Closed(_)))
    }

    /// Whether a link at `path` is the host's. Those of processes lead elsewhere for everybody.
    pub(super) fn shows_links(&self, path: &AbsPath) -> bool {
        self.shows(path) && !view::is_own(path)
    }

    /// What keeps a name in a write grant where it is: something of its own is mounted there or below.
    pub fn pinned(&self, path: &AbsPath) -> Option<Block> {
        if !self.layers.contains(&Layer::Mount) {
            return None;
        }
        let mut below = self.policy.fs.entries.range(path.clone()..).take_while(|(at, _)| at.is_within(path));
        let (at, entry) = below.next()?;
        let rule = Some(Rule::new(at, entry));
        Some(Block { effect: Effect::FsCarveOut, layers: vec![Layer::Mount], rule })
    }

    /// About the network beyond the sandbox.
    pub fn network(&self, attempt: Attempt) -> Ruling {
        let effect = match attempt {
            Attempt::Resolve | Attempt::Send => Effect::NetUdp,
            _ => Effect::NetTcp,
        };
        // A network namespace has a loopback of its own.
        let own = attempt == Attempt::Bind && self.enforced_by(effect).contains(&Layer::Namespace);
        let gate = match self.policy.net {
            NetPlan::Off if !own => Gate::Closed(effect),
            NetPlan::Off | NetPlan::Open => Gate::Open,
        };
        self.ruling(gate, None, attempt)
    }

    /// About anything else, by its effect.
    pub fn act(&self, effect: Effect, attempt: Attempt) -> Ruling {
        let chosen = effect == Effect::ProcNamespace && self.policy.nested;
        self.ruling(if chosen { Gate::Lost(effect) } else { Gate::Closed(effect) }, None, attempt)
    }

    /// The layers that enforce an effect here; none where it is not enforced.
    pub fn enforced_by(&self, effect: Effect) -> Vec<Layer> {
        match self.governs.get(&effect) {
            Some(Governed::Enforced { layers }) => layers.clone(),
            _ => Vec::new(),
        }
    }

    fn metadata(&self, write: Gate) -> Gate {
        match write {
            Gate::Closed(Effect::FsWrite) => Gate::Closed(Effect::FsMetadata),
            Gate::Closed(effect) if self.enforced_by(Effect::FsMetadata).is_empty() => {
                // What Landlock alone closes is closed to opening only.
                if self.layers.contains(&Layer::Mount) {
                    Gate::Closed(effect)
                } else {
                    Gate::Lost(Effect::FsMetadata)
                }
            }
            other => other,
        }
    }

    fn socket(&self, place: &Place) -> Gate {
        let hides = place.rule.as_ref().is_some_and(|rule| rule.access == Access::Hide);
        match place.read {
            Gate::Closed(_) => Gate::Closed(Effect::NetUnixPath),
            Gate::Lost(_) if hides => Gate::Closed(Effect::NetUnixPath),
            other => other,
        }
    }

    fn ruling(&self, gate: Gate, rule: Option<Rule>, attempt: Attempt) -> Ruling {
        let effect = match gate {
            Gate::Open => return Ruling::Allowed { rule, unenforced: None },
            Gate::Lost(effect) => return Ruling::Allowed { rule, unenforced: Some(effect) },
            Gate::Closed(effect) => effect,
        };
        let layers = self.layers_of(effect);
        if layers.is_empty() {
            return Ruling::Allowed { rule, unenforced: Some(effect) };
        }
        Ruling::Blocked(Block { effect: specific(effect, attempt), layers, rule })
    }

    /// As [`Sandbox::enforced_by`]. A placeholder is a mount wherever there are any, and what writes to a device or to
    /// `/proc` writes.
    fn layers_of(&self, effect: Effect) -> Vec<Layer> {
        let layers = self.enforced_by(effect);
        match effect {
            Effect::FsCarveOutNew if self.layers.contains(&Layer::Mount) => vec![Layer::Mount],
            Effect::FsDevice | Effect::ProcSysctl if layers.is_empty() => self.enforced_by(Effect::FsWrite),
            _ => layers,
        }
    }
}

/// Outside the grants, the attempt says which effect it is.
const fn specific(effect: Effect, attempt: Attempt) -> Effect {
    match (effect, attempt) {
        (Effect::FsWrite, Attempt::Rename | Attempt::Link) => Effect::FsRename,
        (effect, _) => effect,
    }
}
