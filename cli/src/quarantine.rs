//! `confine quarantine`: what the checks for protected names moved away.

use std::fmt::Write as _;

use confine_core::{LaunchFault, LaunchStage, Text};
use confine_runner::places::Places;
use confine_runner::quarantine::{self, QuarantineError, Record};
use serde::Serialize;

use crate::answer;
use crate::fault::{self, Answer};

/// The answer of `quarantine list --json`.
#[derive(Serialize)]
struct Listed {
    version: u32,
    quarantined: Vec<Record>,
}

/// Prints what is there, oldest first: id, where it was, where it is.
pub(crate) fn list(json: bool) -> Answer {
    let quarantined =
        quarantine::list(&Places::here()).map_err(|error| unable("list the quarantine", &error))?;
    if json {
        answer::json(&Listed { version: 1, quarantined })?;
        return Ok(0);
    }
    let mut text = String::new();
    for Record { id, path, to, .. } in &quarantined {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}  {path}  now at {to}", Text::from(id.as_str()));
    }
    answer::text(&text)?;
    Ok(0)
}

/// Puts one back where it was.
pub(crate) fn restore(id: &str) -> Answer {
    let path = quarantine::restore(&Places::here(), id).map_err(|error| unable("restore it", &error))?;
    fault::line(&format!("`{path}` is back"));
    Ok(0)
}

fn unable(doing: &str, error: &QuarantineError) -> LaunchFault {
    LaunchFault { help: error.help(), ..LaunchFault::new(LaunchStage::Usage, format!("{doing}: {error}")) }
}
