//! `confine dialect`: how refusals are worded, and whether this host still words them so.

mod ground;
mod measure;
mod verify;

use std::fmt::Write as _;

use confine_core::denial::dialect::{Provenance, Row};
use confine_core::denial::{Attempt, Dialect, DialectId};
use confine_core::{Effect, LaunchFault};
use serde::Serialize;

use crate::answer;
use crate::fault::{self, Answer};

pub(crate) use verify::verify;

/// The answer of `dialect list --json`.
#[derive(Serialize)]
struct Listed {
    version: u32,
    dialects: Vec<Summary>,
}

#[derive(Serialize)]
struct Summary {
    id: DialectId,
    source: Provenance,
    rows: usize,
    measurable: usize,
}

/// The answer of `dialect show --json`.
#[derive(Serialize)]
struct Shown<'a> {
    version: u32,
    id: &'a DialectId,
    source: Provenance,
    rows: Vec<Wording<'a>>,
}

#[derive(Serialize)]
struct Wording<'a> {
    tool: &'a str,
    attempt: Attempt,
    effect: Option<Effect>,
    text: &'a str,
    example: &'a str,
    #[serde(rename = "try")]
    trial: Option<&'a str>,
}

impl<'a> From<&'a Row> for Wording<'a> {
    fn from(row: &'a Row) -> Self {
        Self {
            tool: &row.tool,
            attempt: row.attempt,
            effect: row.effect,
            text: &row.text,
            example: &row.example,
            trial: row.trial.as_ref().map(|trial| trial.command.as_str()),
        }
    }
}

/// Prints the dialects that there are.
pub(crate) fn list(json: bool) -> Answer {
    let dialects: Vec<Summary> = Dialect::names().filter_map(|id| summary(&id)).collect();
    if json {
        answer::json(&Listed { version: 1, dialects })?;
        return Ok(0);
    }
    let mut text = String::new();
    for Summary { id, source, rows, measurable } in &dialects {
        let source = match source {
            Provenance::Measured => format!("measured; `confine dialect verify` measures {measurable} again"),
            Provenance::Documentation => "taken from documents".to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{id:<10} {rows} rows, {source}");
    }
    answer::text(&text)?;
    Ok(0)
}

fn summary(id: &DialectId) -> Option<Summary> {
    let dialect = Dialect::builtin(id)?;
    let source = dialect.provenance();
    let measurable = match source {
        Provenance::Measured => dialect.rows().iter().filter(|row| row.is_tried_under(id)).count(),
        Provenance::Documentation => 0,
    };
    Some(Summary { id: id.clone(), source, rows: dialect.rows().len(), measurable })
}

/// Prints one dialect: as written, with what it includes, or as JSON its rows in the order in which they are tried.
pub(crate) fn show(name: &str, json: bool) -> Answer {
    let id = DialectId::new(name);
    let dialect = Dialect::builtin(&id).ok_or_else(|| unknown(name))?;
    if json {
        let rows = dialect.rows().iter().map(Wording::from).collect();
        answer::json(&Shown { version: 1, id: dialect.id(), source: dialect.provenance(), rows })?;
    } else {
        answer::text(&Dialect::written(&id).join("\n"))?;
    }
    Ok(0)
}

fn unknown(name: &str) -> LaunchFault {
    let known: Vec<_> = Dialect::names().map(|id| format!("`{id}`")).collect();
    fault::usage(
        format!("show the dialect `{}`: there is none of that name", name.escape_debug()),
        format!("there are {}", known.join(", ")),
    )
}
