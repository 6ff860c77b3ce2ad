//! Why nothing was spawned.

use confine_backends::Refusals;
use confine_core::{ConfineError, Effect, Effects, LaunchFault, LaunchStage};

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

impl From<LaunchFault> for SpawnError {
    fn from(fault: LaunchFault) -> Self {
        Self::Fault(fault)
    }
}

impl SpawnError {
    /// As reports have it, `help` with the exact `--accept-missing` list included.
    pub fn fault(&self) -> LaunchFault {
        match self {
            Self::Fault(fault) => fault.clone(),
            Self::Refused(refusals) => refused(refusals),
        }
    }
}

const FEWER_MOUNTS: &str = "name a smaller `--workspace`, hide or protect directories instead of files, or protect each \
    repository as a whole with `--git protect`, which takes one mount";

fn refused(refusals: &Refusals) -> LaunchFault {
    let reasons: Vec<String> = refusals.0.iter().map(ToString::to_string).collect();
    let text = format!("enforce the policy here: {}", reasons.join("; "));
    let remedies = refusals.0.iter().filter_map(remedy);
    let bounded = refusals.0.iter().any(|one| matches!(one, ConfineError::TooManyMounts { .. }));
    let accept = refusals.acceptable().filter(|_| !bounded).map(|(backend, effects)| {
        format!("run without them on the {backend} backend: `--backend {backend} --accept-missing {effects}`")
    });
    let help: Vec<String> = remedies.chain(accept).collect();
    LaunchFault {
        effect: refusals.0.iter().map(ConfineError::acceptable).find_map(|effects| first(&effects)),
        help: (!help.is_empty()).then(|| help.join("; or ")),
        ..LaunchFault::new(LaunchStage::Choose, text)
    }
}

fn first(effects: &Effects) -> Option<Effect> {
    effects.iter().next()
}

fn remedy(refusal: &ConfineError) -> Option<String> {
    match refusal {
        ConfineError::Unusable { unusable, .. } => unusable.remedy.as_ref().map(ToString::to_string),
        ConfineError::TooManyMounts { .. } => Some(FEWER_MOUNTS.into()),
        ConfineError::OwnPlace { .. } => {
            Some("name a workspace that does not hold it, or use bubblewrap".into())
        }
        ConfineError::MissingProtected(path) => {
            Some(format!("create `{path}`, or say `missing-protected = \"watch\"`"))
        }
        ConfineError::Missing { .. } => None,
    }
}
