//! Answers to questions about this host, a policy, or a command under it.

use std::sync::Arc;

use confine_core::protocol::{
    Asked, Checked, Complaint, Described, Fault, Found, Names, Planned, Question, Shown, ToClient,
};
use confine_core::{LaunchFault, LaunchStage, Policy};
use serde::Serialize;
use serde_json::Value;

use super::house::{House, Wish};
use super::run::blocking;
use crate::{describe, plan};

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Topic {
    Plan,
    Check,
    Show,
    Describe,
}

/// What works on this host, as far as facts and the last probe say: nothing is attempted.
pub(super) fn probe(house: &House, asked: Asked) -> ToClient {
    let probe = house.confine().probe();
    let backends = house.confine().registry().for_host(probe);
    let governs = backends.map(|backend| (backend.id(), backend.governs(probe))).collect();
    ToClient::Probe(Box::new(Found { id: asked.id, probe: probe.clone(), governs }))
}

/// Answers `question`.
pub(super) async fn answer(
    house: Arc<House>,
    topic: Topic,
    question: Box<Question>,
    about: Names,
) -> ToClient {
    let answered = blocking(move || answered(&house, topic, &question)).await;
    answered.unwrap_or_else(|fault| {
        let (text, launch_fault) = (fault.text.clone(), Some(fault));
        ToClient::Error(Box::new(Complaint { fault: Fault::Refused, text, about, launch_fault }))
    })
}

fn answered(house: &House, topic: Topic, question: &Question) -> Result<ToClient, LaunchFault> {
    let (wish, id) = (Wish::from(question), question.id.clone());
    let policy = || -> Result<Policy, LaunchFault> { Ok(house.resolve(&wish)?.policy) };
    Ok(match topic {
        Topic::Plan => ToClient::Plan(Planned { id, plan: planned(house, &wish)? }),
        Topic::Check => {
            let fault = policy().err();
            ToClient::PolicyCheck(Checked { id, ok: fault.is_none(), fault })
        }
        Topic::Show => ToClient::PolicyShow(Shown { id, policy: json(&policy()?)? }),
        Topic::Describe => {
            let resolved = house.resolve(&wish)?;
            let missing = question.backend.as_ref().map(|backend| describe::missing(backend, &resolved));
            let text = describe::model(&resolved.policy, &missing.transpose()?.unwrap_or_default());
            ToClient::PolicyDescribe(Described { id, text })
        }
    })
}

fn planned(house: &House, wish: &Wish<'_>) -> Result<Value, LaunchFault> {
    let resolved = house.resolve(wish)?;
    let command = house.command(wish, &resolved)?;
    json(&plan::portable(&command)?)
}

fn json(value: &impl Serialize) -> Result<Value, LaunchFault> {
    serde_json::to_value(value)
        .map_err(|error| LaunchFault::new(LaunchStage::Usage, format!("write JSON: {error}")))
}
