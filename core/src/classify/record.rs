//! What the records alone say: signals and limits.

use super::{Because, Incident, Witness};
use crate::denial::{Certainty, Denial, Evidence, Source};
use crate::{Effect, Governed, Layer, LimitKind, Outcome};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
/// What a call of a foreign architecture gets from the filter, and what any process may send itself: kill(2).
const SIGSYS: i32 = 31;

/// What was refused or ended, by a record.
pub(super) fn denials(incident: &Incident<'_>) -> Vec<Denial> {
    let layers = incident.sandbox.map(|sandbox| sandbox.layers).unwrap_or_default();
    denial(incident.outcome, incident.witness, layers, |effect| layer(incident, effect)).into_iter().collect()
}

/// Of an outcome, with these layers around the program; `governing` is the layer that the backend names for an effect.
pub(super) fn denial(
    outcome: &Outcome,
    witness: Witness,
    layers: &[Layer],
    governing: impl FnOnce(Effect) -> Option<Layer>,
) -> Option<Denial> {
    let (effect, otherwise) = effect(outcome)?;
    let layer = governing(effect).unwrap_or(otherwise);
    let is_ours = layers.contains(&layer) || layer == Layer::Runner;
    // A program can send itself the signals of these.
    let forgeable =
        matches!(outcome, Outcome::Signaled { .. } | Outcome::Limit { which: LimitKind::FileSize });
    let certainty = match (witness, is_ours) {
        (Witness::Record, true) if !forgeable => Certainty::Proven,
        (_, true) => Certainty::Likely,
        (_, false) => Certainty::Possible,
    };
    let evidence = Evidence { source: Source::Record, line: None, errno: None };
    Some(Denial { effect, target: None, layer: Some(layer), certainty, evidence, grant: None })
}

/// What an outcome is about, and the layer that does it where the backend does not say.
const fn effect(outcome: &Outcome) -> Option<(Effect, Layer)> {
    match outcome {
        Outcome::TimedOut { .. } => Some((Effect::LimitTime, Layer::Runner)),
        Outcome::Limit { which: LimitKind::Memory } => Some((Effect::LimitMemory, Layer::Runner)),
        Outcome::Limit { which: LimitKind::Cpu } => Some((Effect::LimitCpu, Layer::Rlimit)),
        Outcome::Limit { which: LimitKind::FileSize } => Some((Effect::LimitFileSize, Layer::Rlimit)),
        Outcome::Signaled { signal: SIGSYS, .. } => Some((Effect::ProcKernel, Layer::Seccomp)),
        _ => None,
    }
}

fn layer(incident: &Incident<'_>, effect: Effect) -> Option<Layer> {
    match incident.sandbox?.governs.get(&effect)? {
        Governed::Enforced { layers } => layers.first().copied(),
        _ => None,
    }
}

/// What an outcome says about the cause, where it was not the sandbox.
pub(super) const fn because(outcome: &Outcome) -> Option<Because> {
    match outcome {
        Outcome::Limit { which: LimitKind::Memory } => Some(Because::OutOfMemory),
        Outcome::Signaled { signal: SIGHUP | SIGINT | SIGQUIT | SIGKILL | SIGTERM, .. } => {
            Some(Because::KilledFromOutside)
        }
        Outcome::Signaled { .. } => Some(Because::OwnWords),
        Outcome::Cancelled { signal: Some(_), .. } => Some(Because::KilledFromOutside),
        _ => None,
    }
}
