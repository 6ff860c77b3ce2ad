//! `confine audit`: the event logs of sessions.

use std::fmt::Write as _;

use confine_core::approval::{ApprovalOutcome, SessionId, Subject};
use confine_core::audit::{Entry, Event};
use confine_core::visible::{visible, visible_argv};
use confine_core::{AbsPath, LaunchFault};
use confine_runner::approvals::{ApprovalsError, SessionLog, sessions};
use confine_runner::places::Places;
use serde::Serialize;

use crate::answer;
use crate::arguments::AuditCommand;
use crate::fault::{self, Answer};

/// The variable that names a session.
pub(crate) const SESSION: &str = "CONFINE_SESSION";

/// The answer of `audit show --json`.
#[derive(Serialize)]
struct Shown<'a> {
    version: u32,
    #[serde(flatten)]
    state: State,
    /// Those before the first fault.
    events: &'a [Entry],
}

/// The answer of `audit verify --json`.
#[derive(Serialize)]
struct Verified {
    version: u32,
    sessions: Vec<State>,
}

/// Whether a log is whole.
#[derive(Serialize)]
struct State {
    session: SessionId,
    path: AbsPath,
    whole: bool,
    /// What is wrong, for people.
    faults: Vec<String>,
    /// How many events there are before the first fault.
    count: usize,
}

/// Does what the arguments say.
pub(crate) fn audit(command: &AuditCommand) -> Answer {
    match command {
        AuditCommand::Show { session, json } => show(session.as_deref(), *json),
        AuditCommand::Verify { sessions, json } => verify(sessions, *json),
    }
}

/// Prints the events of a session.
fn show(session: Option<&str>, json: bool) -> Answer {
    let log = log(&named(session)?)?;
    let state = State::of(&log);
    if json {
        answer::json(&Shown { version: 1, state, events: &log.entries })?;
        return Ok(0);
    }
    let mut text = String::new();
    for entry in &log.entries {
        // Writing to a String cannot fail.
        let _ =
            writeln!(text, "{:5}  {}  {}", entry.sequence, visible(entry.utc.as_ref()), line(&entry.event));
    }
    answer::text(&text)?;
    for fault in &state.faults {
        fault::line(&format!("the log of `{}` is not whole: {fault}", state.session));
    }
    Ok(0)
}

/// Checks logs; exit 1 where one is not whole.
fn verify(names: &[String], json: bool) -> Answer {
    let ids: Vec<SessionId> = if names.is_empty() {
        let all = sessions(&Places::here()).map_err(|error| unusable(&error))?;
        all.into_iter().map(|session| session.id).collect()
    } else {
        names.iter().map(|name| id(name)).collect::<Result<_, _>>()?
    };
    let states: Vec<State> =
        ids.iter().map(|id| log(id).map(|log| State::of(&log))).collect::<Result<_, _>>()?;
    let code = u8::from(states.iter().any(|state| !state.whole));
    if json {
        answer::json(&Verified { version: 1, sessions: states })?;
        return Ok(code);
    }
    let mut text = String::new();
    for State { session, whole, faults, count, .. } in &states {
        let word = if *whole { "whole" } else { "NOT whole" };
        let _ = writeln!(text, "{session}  {word}, {count} events");
        for fault in faults {
            let _ = writeln!(text, "    {fault}");
        }
    }
    answer::text(&text)?;
    Ok(code)
}

impl State {
    fn of(log: &SessionLog) -> Self {
        let broken = log.broken.as_ref().map(ToString::to_string);
        let faults = log.faults.iter().map(ToString::to_string).chain(broken);
        Self {
            session: log.session.id.clone(),
            path: log.session.path.clone(),
            whole: log.is_whole(),
            faults: faults.collect(),
            count: log.entries.len(),
        }
    }
}

/// One event, for people.
fn line(event: &Event) -> String {
    match event {
        Event::SessionOpened { .. } => "session opened".to_owned(),
        Event::SessionRevoked {} => "session revoked".to_owned(),
        Event::TurnOpened { turn } => format!("turn opened  {turn}"),
        Event::TurnClosed { turn } => format!("turn closed  {turn}"),
        Event::PresetChosen { preset, .. } => format!("preset  {preset}"),
        Event::ModeSet { mode } => format!("mode  {}", word(mode)),
        Event::ApprovalSet { approval } => format!("approval  {}", word(approval)),
        Event::Asked { request, .. } => format!("asked  {}  {}", request.id, subject(&request.subject)),
        Event::Decided { id, outcome, by } => format!("decided  {id}  {}, by {}", end(outcome), word(by)),
        Event::Used { id, .. } => format!("used  {id}"),
        Event::Ignored { id, why } => format!("ignored  {id}  {why}"),
    }
}

fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Command { argv, cwd } => format!("{} in {}", visible_argv(argv), shown(cwd)),
        Subject::Escalation { argv, cwd, grant, directories, .. } => {
            let more = grant.words(directories).join("; ");
            format!("{} in {}, with more: {more}", visible_argv(argv), shown(cwd))
        }
        Subject::Connect { host, port } => format!("connect to {}:{port}", visible(host.as_ref())),
        Subject::Tool { name, .. } => format!("the tool {}", visible(name.as_ref())),
    }
}

fn shown(path: &AbsPath) -> String {
    visible(path.as_path().as_os_str())
}

fn end(outcome: &ApprovalOutcome) -> String {
    match outcome {
        ApprovalOutcome::AllowedOnce => "allowed once".to_owned(),
        ApprovalOutcome::AllowedForSession => "allowed for the session".to_owned(),
        ApprovalOutcome::AllowedByRule { rule } => format!("allowed by the rule {rule}"),
        ApprovalOutcome::TimedOut => "timed out".to_owned(),
        ApprovalOutcome::Cancelled => "cancelled".to_owned(),
        ApprovalOutcome::Rejected { .. } => format!("rejected ({})", visible(outcome.reason().as_ref())),
        ApprovalOutcome::Unavailable { .. } => {
            format!("unavailable ({})", visible(outcome.reason().as_ref()))
        }
    }
}

/// A word of the log, as the log has it.
pub(crate) fn word(value: &impl Serialize) -> String {
    let text = serde_json::to_value(value).ok();
    text.as_ref().and_then(|text| text.as_str()).unwrap_or("?").to_owned()
}

/// The session of that name, or of this call's environment.
///
/// # Errors
/// Neither, or no name of a session.
pub(crate) fn named(session: Option<&str>) -> Result<SessionId, LaunchFault> {
    if let Some(name) = session {
        return id(name);
    }
    match std::env::var(SESSION) {
        Ok(name) => id(&name),
        Err(_) => Err(fault::usage(
            format!("choose a session: none is named, and `{SESSION}` is not set"),
            "`confine audit verify` lists the sessions that there are",
        )),
    }
}

fn id(name: &str) -> Result<SessionId, LaunchFault> {
    SessionId::new(name).map_err(|error| {
        fault::usage(
            format!("use the session `{}`: {error}", visible(name.as_ref())),
            "a session's name is like `work-1`",
        )
    })
}

fn log(id: &SessionId) -> Result<SessionLog, LaunchFault> {
    let read = SessionLog::read(&Places::here(), id).map_err(|error| unusable(&error))?;
    read.ok_or_else(|| {
        fault::usage(
            format!("read the log of `{id}`: there is no such session"),
            "`confine audit verify` lists the sessions that there are",
        )
    })
}

/// A fault completes "cannot …", and so does the error by itself.
pub(crate) fn unusable(error: &ApprovalsError) -> LaunchFault {
    let text = error.to_string();
    fault::usage(text.strip_prefix("cannot ").unwrap_or(&text), error.help())
}
