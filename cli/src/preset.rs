//! `confine preset`: what a session allows by itself, under one name.

use std::fmt::Write as _;

use confine_core::LaunchFault;
use confine_core::approval::{ApprovalPolicy, Permissions, Preset, PresetName, SessionId};
use confine_core::visible::visible;
use confine_runner::approvals::{Approvals, Presets, SessionLog};
use confine_runner::places::Places;
use serde::Serialize;

use crate::arguments::PresetCommand;
use crate::audit::{named, unusable, word};
use crate::fault::{self, Answer};
use crate::{answer, audit};

/// The answer of `preset list --json`.
#[derive(Serialize)]
struct Listed<'a> {
    version: u32,
    presets: &'a [Preset],
    /// Where one is named.
    session: Option<SessionId>,
    /// The one that it chose last.
    chosen: Option<PresetName>,
}

/// The answer of `preset use --json`.
#[derive(Serialize)]
struct Used<'a> {
    version: u32,
    session: &'a SessionId,
    preset: &'a Preset,
}

/// Does what the arguments say.
pub(crate) fn preset(command: &PresetCommand) -> Answer {
    match command {
        PresetCommand::List { session, json } => list(session.as_deref(), *json),
        PresetCommand::Use { name, session, json } => choose(name, session.as_deref(), *json),
    }
}

/// Prints the presets; the session's own has a star.
fn list(session: Option<&str>, json: bool) -> Answer {
    let presets = read()?;
    let session = match session {
        None if std::env::var_os("CONFINE_SESSION").is_none() => None,
        named => Some(audit::named(named)?),
    };
    let chosen = session.as_ref().map(chosen).transpose()?.unwrap_or_default().preset;
    if json {
        answer::json(&Listed { version: 1, presets: presets.all(), session, chosen })?;
        return Ok(0);
    }
    let mut text = String::new();
    for Preset { name, mode, approval } in presets.all() {
        let star = if chosen.as_ref() == Some(name) { "*" } else { " " };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{star} {name:20}  {:18}  {}", word(mode), word(approval));
    }
    answer::text(&text)?;
    Ok(0)
}

/// Chooses one for a session.
fn choose(name: &str, session: Option<&str>, json: bool) -> Answer {
    let presets = read()?;
    let preset = PresetName::new(name).ok().and_then(|name| presets.by_name(&name).cloned());
    let preset = preset.ok_or_else(|| {
        fault::usage(
            format!("use the preset `{}`: there is none of that name", visible(name.as_ref())),
            "`confine preset list` shows those that there are",
        )
    })?;
    let session = named(session)?;
    let approvals = Approvals::open(&Places::here(), &session, ApprovalPolicy::Never);
    let chosen = approvals.and_then(|approvals| approvals.choose_blocking(&preset));
    chosen.map_err(|error| unusable(&error))?;
    if json {
        answer::json(&Used { version: 1, session: &session, preset: &preset })?;
        return Ok(0);
    }
    let (mode, approval) = (word(&preset.mode), word(&preset.approval));
    fault::line(&format!("the session `{session}` has the preset `{}`: {mode}, {approval}", preset.name));
    Ok(0)
}

fn read() -> Result<Presets, LaunchFault> {
    Presets::read(&Places::here()).map_err(|error| unusable(&error.into()))
}

/// What the log of a session says; nothing where there is none.
pub(crate) fn chosen(session: &SessionId) -> Result<Permissions, LaunchFault> {
    let log = SessionLog::read(&Places::here(), session).map_err(|error| unusable(&error))?;
    let Some(log) = log else { return Ok(Permissions::default()) };
    if !log.is_whole() {
        let text = format!("trust the log of `{session}`: it is not whole");
        return Err(fault::usage(text, "`confine audit verify` says what is wrong"));
    }
    Ok(log.permissions())
}
