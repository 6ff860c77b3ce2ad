//! Lines about processes, system calls and limits.

use super::{Finding, Findings};
use crate::classify::sandbox::{Ruling, Sandbox};
use crate::classify::{Answer, Because};
use crate::denial::{Certainty, Denial, Object, Sighting};
use crate::policy::Limits;
use crate::{Effect, Layer};

impl Findings<'_> {
    /// Whether the limit that `effect` is about is set; `None` for what is no limit.
    pub(super) fn limit(&self, effect: Effect) -> Option<bool> {
        let limits = self.incident.sandbox.map(|sandbox| &sandbox.policy.limits);
        let set = |is_set: fn(&Limits) -> bool| Some(limits.is_some_and(is_set));
        match effect {
            Effect::LimitProcesses => set(|limits| limits.processes.is_some()),
            Effect::LimitOpenFiles => set(|limits| limits.open_files.is_some()),
            Effect::LimitFileSize => set(|limits| limits.file_size.is_some()),
            Effect::LimitCpu => set(|limits| limits.cpu.is_some()),
            Effect::LimitMemory => set(|limits| limits.memory.is_some()),
            Effect::LimitTime => set(|limits| limits.time.is_some()),
            _ => None,
        }
    }

    /// Whether the act would have worked outside. A number that a program in a namespace prints is no process of the
    /// host, or one that it only guessed.
    pub(super) fn acts(&self, sighting: &Sighting) -> Answer {
        let own = |sandbox: Sandbox<'_>| sandbox.enforced_by(Effect::ProcSee).contains(&Layer::Namespace);
        match &sighting.object {
            Object::Process(_) if self.incident.sandbox.is_some_and(own) => Answer::Unknown,
            object => self.permissions.acts(sighting.attempt, object),
        }
    }

    pub(super) fn act(&self, sighting: &Sighting, answer: Answer) -> Finding {
        let Some(sandbox) = &self.incident.sandbox else { return Finding::Denied(self.vague(sighting)) };
        let Ruling::Blocked(block) = sandbox.act(sighting.effect, sighting.attempt) else {
            return Finding::Not(Because::OwnWords);
        };
        let layer = sighting.layers.iter().find(|layer| block.layers.contains(layer)).copied();
        let certainty = match (answer, layer) {
            (Answer::Allowed, Some(_)) => Certainty::Likely,
            (Answer::Refused(_), _) => return Finding::Not(Because::PlainPermissions),
            (Answer::Missing, _) => return Finding::Not(Because::OwnWords),
            _ => Certainty::Possible,
        };
        Finding::Denied(Denial {
            layer: layer.or_else(|| block.layers.first().copied()),
            certainty,
            ..self.vague(sighting)
        })
    }
}
