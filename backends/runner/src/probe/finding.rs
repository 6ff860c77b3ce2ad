//! What attempts found, and what that makes of a backend's own word.

use confine_core::{Effect, Governed, Layer, Reason};
use serde::{Deserialize, Serialize};

/// What came of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// Nothing of it happened, although all of it can happen where nothing confines it.
    Refused,
    /// These acts of it happened.
    Succeeded(Vec<String>),
    /// Nothing can be told from it, because …
    Untestable(Reason),
}

impl Finding {
    /// From what happened without a sandbox and inside one.
    pub(super) fn of(control: &Result<(), Reason>, seen: Result<Vec<String>, Reason>) -> Self {
        match (seen, control) {
            (Ok(acts), _) if !acts.is_empty() => Self::Succeeded(acts),
            (_, Err(reason)) => Self::Untestable(reason.clone()),
            (Err(reason), Ok(())) => Self::Untestable(reason),
            (Ok(_), Ok(())) => Self::Refused,
        }
    }
}

/// What a backend's word is worth after an attempt: what succeeded is not governed, whatever the word was; what nobody
/// can do here cannot be tested; and no attempt makes an effect enforced that the backend does not claim.
pub fn refined(claimed: Governed, finding: &Finding) -> Governed {
    match (claimed, finding) {
        (Governed::Enforced { layers }, Finding::Succeeded(acts)) => {
            Governed::NotGoverned { reason: contradicted(&layers, acts) }
        }
        (Governed::Detected { .. }, Finding::Succeeded(acts)) => Governed::NotGoverned {
            reason: Reason::from(format!("the attempt succeeded and was not found: {}", acts.join(", "))),
        },
        (Governed::Enforced { .. }, Finding::Untestable(reason)) => {
            Governed::Untestable { reason: reason.clone() }
        }
        (claimed, _) => claimed,
    }
}

fn contradicted(layers: &[Layer], acts: &[String]) -> Reason {
    let layers: Vec<&str> = layers.iter().map(|layer| layer.name()).collect();
    Reason::from(format!(
        "the attempt succeeded although {} should prevent it: {}",
        layers.join(" and "),
        acts.join(", ")
    ))
}

/// Whether a word was found to be wrong.
pub fn is_contradicted(claimed: &Governed, refined: &Governed) -> bool {
    let kept = matches!(claimed, Governed::Enforced { .. } | Governed::Detected { .. });
    kept && matches!(refined, Governed::NotGoverned { .. })
}

/// The control's answer: something of the attempt happened.
pub(super) fn control(effect: Effect, happened: &[String], refusals: &str) -> Result<(), Reason> {
    if happened.is_empty() {
        return Err(Reason::from(format!("without a sandbox {effect} fails here too ({refusals})")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enforced() -> Governed {
        Governed::by(&[Layer::Mount, Layer::Landlock])
    }

    #[test]
    fn an_attempt_that_succeeds_outweighs_every_claim() {
        let succeeded = Finding::Succeeded(vec!["create".into()]);
        let found = refined(enforced(), &succeeded);
        assert!(is_contradicted(&enforced(), &found));
        assert_eq!(
            found.reason().unwrap().to_string(),
            "the attempt succeeded although mount and landlock should prevent it: create"
        );
        let seen = Governed::Detected { reason: Reason::new("seen") };
        assert!(is_contradicted(&seen, &refined(seen.clone(), &succeeded)));
    }

    #[test]
    fn no_attempt_makes_a_claim() {
        let nothing = Governed::not("there is nothing");
        for finding in [Finding::Refused, Finding::Succeeded(vec![]), Finding::Untestable(Reason::new("x"))] {
            assert_eq!(refined(nothing.clone(), &finding), nothing);
        }
    }

    #[test]
    fn success_counts_even_where_the_control_failed_and_else_nothing_is_told() {
        let failed = Err(Reason::new("fails here too"));
        let acts = vec!["create".to_owned()];
        assert_eq!(Finding::of(&failed, Ok(acts.clone())), Finding::Succeeded(acts));
        assert!(matches!(Finding::of(&failed, Ok(Vec::new())), Finding::Untestable(_)));
        assert!(matches!(Finding::of(&Ok(()), Err(Reason::new("unmade"))), Finding::Untestable(_)));
        assert_eq!(Finding::of(&Ok(()), Ok(Vec::new())), Finding::Refused);
        let refined = refined(enforced(), &Finding::Untestable(Reason::new("x")));
        assert!(matches!(refined, Governed::Untestable { .. }) && !is_contradicted(&enforced(), &refined));
    }
}
