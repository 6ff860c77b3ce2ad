//! `confine dialect verify`: measures the rows again on this host.

use std::fmt::Write as _;
use std::path::Path;

use confine_core::denial::dialect::{Provenance, Row, Trial};
use confine_core::denial::{Dialect, DialectId, Stream};
use confine_core::{AbsPath, BackendId, LaunchFault, Probe, Text};
use confine_runner::Confine;
use serde::Serialize;

use super::ground::Ground;
use super::measure::{self, Printed};
use crate::fault::Answer;
use crate::{answer, probe, request};

/// Some row differs.
const DIFFERS: u8 = 1;
/// So much of what was printed instead is shown.
const SHOWN: usize = 300;
/// Arguments that a launcher refuses.
const REFUSED: &[(&str, &[&str])] = &[
    ("bwrap", &["--no-such-option"]),
    ("bwrap", &["--ro-bind", "/", "/", "--bind", "/no/such", "/no/such", "true"]),
    ("bwrap", &["--ro-bind", "/", "/", "/no/such"]),
    ("bwrap", &["--ro-bind", "/", "/", "--chdir", "/no/such", "true"]),
    ("bwrap", &["--args", "99"]),
    ("landlock", &["--no-such-option"]),
];

/// The answer of `dialect verify --json`, version 1.
#[derive(Serialize)]
struct Verified {
    version: u32,
    dialects: Vec<Checked>,
}

/// What came of one dialect.
#[derive(Serialize)]
struct Checked {
    id: DialectId,
    /// Why nothing was measured, where that is so.
    skipped: Option<String>,
    /// Rows that this host words so.
    agree: usize,
    differ: Vec<Difference>,
    /// Rows whose tool is not installed, or does not answer in time.
    missing: Vec<Missing>,
    /// Rows without a command that shows them.
    untried: usize,
}

/// A row that this host does not word so.
#[derive(Serialize)]
struct Difference {
    tool: String,
    text: String,
    command: String,
    printed: Text,
}

/// A row that cannot be measured here.
#[derive(Serialize)]
struct Missing {
    tool: String,
    text: String,
    reason: String,
}

impl Missing {
    fn new(row: &Row, reason: String) -> Self {
        Self { tool: row.tool.clone(), text: row.text.clone(), reason }
    }
}

/// Measures, prints what differs, and exits 1 where something does.
pub(crate) fn verify(json: bool) -> Answer {
    // It starts bwrap itself.
    let (confine, _) = request::detect_afresh(probe::facts())?;
    // A ground of its own for each, so that both are measured at once.
    let dialects = std::thread::scope(|scope| {
        let confine = &confine;
        let running: Vec<_> = Dialect::names().map(|id| scope.spawn(move || checked(confine, id))).collect();
        running.into_iter().filter_map(|one| one.join().ok()).collect::<Result<Vec<_>, _>>()
    })?;
    let differs = dialects.iter().any(|checked| !checked.differ.is_empty());
    if json {
        answer::json(&Verified { version: 1, dialects })?;
    } else {
        answer::text(&readable(&dialects))?;
    }
    Ok(if differs { DIFFERS } else { 0 })
}

fn checked(confine: &Confine, id: DialectId) -> Result<Checked, LaunchFault> {
    let nothing = |reason: &str| Checked {
        id: id.clone(),
        skipped: Some(reason.to_owned()),
        agree: 0,
        differ: Vec::new(),
        missing: Vec::new(),
        untried: 0,
    };
    let Some(dialect) = Dialect::builtin(&id).filter(|dialect| dialect.provenance() == Provenance::Measured)
    else {
        return Ok(nothing("taken from documents"));
    };
    if let Some(reason) = unusable(confine.probe(), &id) {
        return Ok(nothing(&reason));
    }
    let tried: Vec<(&Row, &Trial)> = dialect
        .rows()
        .iter()
        .filter(|row| row.is_tried_under(&id))
        .filter_map(|row| Some((row, row.trial.as_ref()?)))
        .collect();
    let (absent, here): (Vec<_>, Vec<_>) =
        tried.iter().copied().partition(|(_, trial)| absent(trial).is_some());
    let printed = measure::measure(confine, &BackendId::new(id.as_str()), &Ground::make()?, &here)?;
    let (late, timely): (Vec<_>, Vec<_>) = here.iter().zip(&printed).partition(|(_, printed)| printed.late);
    let compared = timely.iter().filter_map(|((row, trial), printed)| compare(dialect, row, trial, printed));
    let mut differ: Vec<Difference> = compared.collect();
    let (refused, wrong) = launchers(confine.probe(), dialect)?;
    let agree = timely.len() - differ.len() + refused - wrong.len();
    differ.extend(wrong);
    let absent = absent.into_iter().filter_map(|(row, trial)| {
        Some(Missing::new(row, format!("`{}` is not installed", self::absent(trial)?)))
    });
    let slow = late.iter().map(|((row, _), _)| {
        Missing::new(row, format!("its command takes longer than {} s", measure::PATIENCE))
    });
    let missing = absent.chain(slow).collect();
    Ok(Checked { untried: dialect.rows().len() - tried.len(), id, skipped: None, agree, differ, missing })
}

fn unusable(probe: &Probe, id: &DialectId) -> Option<String> {
    let reason = match id.as_str() {
        "bwrap" => probe.bwrap.as_ref().err(),
        _ => probe.landlock.as_ref().err(),
    };
    reason.map(|unusable| unusable.reason.to_string())
}

/// The first program that is not installed.
fn absent(trial: &Trial) -> Option<&str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &&String| {
        Path::new(program).is_absolute() && Path::new(program).exists()
            || std::env::split_paths(&path).any(|directory| directory.join(program).exists())
    };
    trial.needs.iter().find(|program| !is_there(program)).map(String::as_str)
}

/// `None` where the row is what the dialect reads.
fn compare(dialect: &Dialect, row: &Row, trial: &Trial, printed: &Printed) -> Option<Difference> {
    let read = dialect.matches(Stream::Stderr, &printed.output, trial.command.as_bytes());
    if read.iter().any(|(found, _)| std::ptr::eq(*found, row)) {
        return None;
    }
    let shown = printed.output.get(..SHOWN).unwrap_or(&printed.output);
    Some(Difference {
        tool: row.tool.clone(),
        text: row.text.clone(),
        command: trial.command.clone(),
        printed: Text::from(shown.to_vec()),
    })
}

/// The runner-failure rules: how many calls were refused, and those whose refusal reads otherwise.
fn launchers(probe: &Probe, dialect: &Dialect) -> Result<(usize, Vec<Difference>), LaunchFault> {
    let program: Option<&AbsPath> = match dialect.id().as_str() {
        "bwrap" => probe.bwrap.as_ref().ok().map(|tool| &tool.path),
        _ => probe.stage.as_ref().ok().map(|tool| &tool.path),
    };
    let Some(program) = program else { return Ok((0, Vec::new())) };
    let mut wrong = Vec::new();
    let calls = REFUSED.iter().filter(|(id, _)| *id == dialect.id().as_str());
    for (_, arguments) in calls.clone() {
        let (code, stderr) = measure::launcher(program, arguments)?;
        if dialect.launcher_failure(code, &stderr).is_none() {
            wrong.push(Difference {
                tool: "launcher".into(),
                text: format!("exit {code} and a fatal prefix"),
                command: format!("{program} {}", arguments.join(" ")),
                printed: Text::from(stderr.get(..SHOWN).unwrap_or(&stderr).to_vec()),
            });
        }
    }
    Ok((calls.count(), wrong))
}

fn readable(dialects: &[Checked]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for checked in dialects {
        let id = &checked.id;
        if let Some(reason) = &checked.skipped {
            let _ = writeln!(text, "{id}: not measured: {reason}");
            continue;
        }
        for Difference { tool, text: row, command, printed } in &checked.differ {
            let _ = writeln!(text, "{id}: {tool}: `{row}` differs\n  $ {command}\n  {printed}");
        }
        for Missing { tool, text: row, reason } in &checked.missing {
            let _ = writeln!(text, "{id}: {tool}: `{row}` not measured: {reason}");
        }
        let Checked { agree, differ, missing, untried, .. } = checked;
        let _ = writeln!(
            text,
            "{id}: {agree} agree, {} differ, {} could not be measured, {untried} have no command",
            differ.len(),
            missing.len(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row that reads touch(1), and how it is tried.
    fn touch() -> (&'static Dialect, &'static Row, &'static Trial) {
        let dialect = Dialect::builtin(&DialectId::new("bwrap")).unwrap();
        let row = dialect.rows().iter().find(|row| row.text.starts_with("cannot touch")).unwrap();
        (dialect, row, row.trial.as_ref().unwrap())
    }

    fn printed(text: &str) -> Printed {
        Printed { output: text.into(), late: false }
    }

    #[test]
    fn a_row_agrees_with_its_words_and_differs_from_others_and_from_silence() {
        let (dialect, row, trial) = touch();
        assert!(compare(dialect, row, trial, &printed(&row.example)).is_none());
        for other in [
            "touch: '/srv/ro/new.txt' is read-only",
            "cp: cannot create regular file '/x': Read-only file system",
            "",
        ] {
            let difference = compare(dialect, row, trial, &printed(other)).unwrap();
            assert_eq!((difference.command, difference.printed), (trial.command.clone(), Text::from(other)));
        }
    }

    #[test]
    fn a_program_that_is_not_installed_is_named() {
        let (_, _, trial) = touch();
        assert_eq!(absent(trial), None);
        let trial = Trial { needs: vec!["sh".into(), "no-such-program".into()], ..trial.clone() };
        assert_eq!(absent(&trial), Some("no-such-program"));
    }
}
