//! `confine --probe`: what works on this host, from attempts.
//!
//! Each effect is tried inside each backend's real sandbox, and judged by looking at the world afterwards
//! ([`confine_runner::probe`]).

mod found;
mod held;
mod host;
mod progress;
mod remedy;
mod table;
mod version;
mod workspace;

use std::ffi::OsString;

use confine_core::{Effects, LaunchFault, LaunchStage};

use crate::answer;
use crate::arguments::Probe;
use crate::fault::Answer;

use found::Found;

pub(crate) use host::facts;

/// Makes attempts, where this process was started for that; no command, and not for people.
pub(crate) fn attempted(words: &[OsString]) -> Option<u8> {
    match words {
        [_, word, words @ ..] if word == confine_runner::probe::WORD => {
            Some(confine_runner::probe::attempt(words))
        }
        _ => None,
    }
}

/// Prints what works here. 125 where nothing does, or where no usable backend enforces all that is required.
pub(crate) fn probe(question: &Probe) -> Answer {
    let found = held::back(Found::here)?;
    if question.json {
        answer::json(&found)?;
    } else {
        answer::text(&table::table(&found, table::Colour::wanted()))?;
    }
    match lacking(&found, question.require.as_ref().unwrap_or(&Effects::default())) {
        Some(lack) => Err(lack),
        None => Ok(0),
    }
}

fn lacking(found: &Found, required: &Effects) -> Option<LaunchFault> {
    let usable: Vec<_> = found.backends.iter().filter(|backend| backend.usable).collect();
    if usable.is_empty() {
        let remedies: Vec<&str> =
            found.backends.iter().filter_map(|backend| backend.remedy.as_deref()).collect();
        let fault = LaunchFault::new(LaunchStage::Choose, "confine anything here: no backend is usable");
        return Some(fault.help(remedies.join("; or ")));
    }
    let missing = |backend: &&found::Backend| required.without(&backend.enforced());
    let (best, missing) = usable
        .iter()
        .map(|backend| (&backend.id, missing(backend)))
        .min_by_key(|(_, missing)| missing.iter().count())?;
    if missing.is_empty() {
        return None;
    }
    let text = format!("enforce what is required: the {best} backend lacks {missing}");
    Some(
        LaunchFault::new(LaunchStage::Choose, text).help("`confine --probe` gives the reason of each effect"),
    )
}
