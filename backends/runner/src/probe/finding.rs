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
    /// These acts of it happened, and were found and undone when the run was over.
    Found(Vec<String>),
    /// Nothing can be told from it here, whoever confines, because …
    Untestable(Reason),
    /// It was not made to its end, and nothing of it was seen to happen, because …
    Unanswered(Reason),
}

impl Finding {
    /// From what happened without a sandbox and inside one.
    pub(super) fn of(control: &Result<(), Reason>, seen: Self) -> Self {
        match (seen, control) {
            (Self::Refused | Self::Unanswered(_), Err(reason)) => Self::Untestable(reason.clone()),
            (seen, _) => seen,
        }
    }
}

/// What a backend's word is worth after an attempt: what succeeded is not governed, whatever the word was, and neither is
/// what has no answer where others had one; what nobody can do here cannot be tested; and no attempt makes an effect
/// enforced that the backend does not claim.
pub fn refined(claimed: Governed, finding: &Finding) -> Governed {
    match (claimed, finding) {
        (Governed::Enforced { layers }, Finding::Succeeded(acts)) => {
            Governed::NotGoverned { reason: contradicted(&layers, acts) }
        }
        (Governed::Detected { .. }, Finding::Succeeded(acts)) => Governed::NotGoverned {
            reason: Reason::from(format!("the attempt succeeded and was not found: {}", acts.join(", "))),
        },
        (Governed::Enforced { .. }, Finding::Found(acts)) => Governed::Detected {
            reason: Reason::from(format!(
                "the attempt succeeded, and was found afterwards: {}",
                acts.join(", ")
            )),
        },
        (Governed::Enforced { .. }, Finding::Untestable(reason)) => {
            Governed::Untestable { reason: reason.clone() }
        }
        (Governed::Enforced { .. } | Governed::Detected { .. }, Finding::Unanswered(reason)) => {
            Governed::NotGoverned { reason: reason.clone() }
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
pub fn is_contradicted(claimed: &Governed, finding: &Finding) -> bool {
    let kept = matches!(claimed, Governed::Enforced { .. } | Governed::Detected { .. });
    match finding {
        Finding::Succeeded(_) => kept,
        Finding::Found(_) => claimed.is_enforced(),
        Finding::Refused | Finding::Untestable(_) | Finding::Unanswered(_) => false,
    }
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
        assert!(is_contradicted(&enforced(), &succeeded));
        assert_eq!(
            found.reason().unwrap().to_string(),
            "the attempt succeeded although mount and landlock should prevent it: create"
        );
        let seen = Governed::Detected { reason: Reason::new("seen") };
        assert!(is_contradicted(&seen, &succeeded));
        assert!(matches!(refined(seen, &succeeded), Governed::NotGoverned { .. }));
    }

    #[test]
    fn what_is_found_afterwards_was_not_prevented() {
        let found = Finding::Found(vec!["create".to_owned()]);
        assert!(is_contradicted(&enforced(), &found));
        assert!(matches!(refined(enforced(), &found), Governed::Detected { .. }));
        let detected = Governed::Detected { reason: Reason::new("seen") };
        assert!(!is_contradicted(&detected, &found));
        assert_eq!(refined(detected.clone(), &found), detected);
    }

    #[test]
    fn no_attempt_makes_a_claim() {
        let nothing = Governed::not("there is nothing");
        for finding in [
            Finding::Refused,
            Finding::Succeeded(vec![]),
            Finding::Untestable(Reason::new("x")),
            Finding::Unanswered(Reason::new("x")),
        ] {
            assert_eq!(refined(nothing.clone(), &finding), nothing);
        }
    }

    #[test]
    fn success_counts_even_where_the_control_failed_and_else_nothing_is_told() {
        let failed = Err(Reason::new("fails here too"));
        let succeeded = || Finding::Succeeded(vec!["create".to_owned()]);
        let unanswered = || Finding::Unanswered(Reason::new("unmade"));
        assert_eq!(Finding::of(&failed, succeeded()), succeeded());
        for seen in [Finding::Refused, unanswered()] {
            assert!(matches!(Finding::of(&failed, seen.clone()), Finding::Untestable(_)));
            assert_eq!(Finding::of(&Ok(()), seen.clone()), seen);
        }
        assert!(matches!(refined(enforced(), &unanswered()), Governed::NotGoverned { .. }));
        let untestable = Finding::Untestable(Reason::new("x"));
        assert!(matches!(refined(enforced(), &untestable), Governed::Untestable { .. }));
        assert!(!is_contradicted(&enforced(), &untestable));
    }
}
