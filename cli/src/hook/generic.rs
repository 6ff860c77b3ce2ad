//! The hook of any other agent: one JSON object in, one out.
//!
//! In: `{"version": 1, "command": "a shell command" or ["word", …], "cwd": "/…", "workspace": "/…"}`, the last one where
//! it is another than `cwd`. Out: `{"version": 1, "decision": "allow", "argv": […], "command": "…"}`; with exit code 2,
//! `{"version": 1, "decision": "deny", "reason": "…"}`.

use confine_core::{AbsPath, LaunchFault};
use serde::Deserialize;
use serde_json::json;

use super::wrap::{Workspace, Wrap, Wrapped};
use super::{BLOCKED, unreadable};
use crate::fault;

/// The version of both objects.
const VERSION: u32 = 1;

#[derive(Deserialize)]
struct Event {
    version: u32,
    command: Words,
    cwd: AbsPath,
    workspace: Option<AbsPath>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    Shell(String),
    Argv(Vec<String>),
}

/// What goes to stdout, and the exit code.
pub(super) fn answer(event: &[u8], wrap: &Wrap<'_>) -> Result<(Vec<u8>, u8), LaunchFault> {
    let (answer, code) = match wrapped(event, wrap) {
        Ok(Wrapped { argv, command }) => {
            let decision = if wrap.asks { "ask" } else { "allow" };
            (json!({ "version": VERSION, "decision": decision, "argv": argv, "command": command }), 0)
        }
        Err(blocked) => {
            fault::say(&blocked);
            let reason = format!("cannot {}", blocked.text);
            (json!({ "version": VERSION, "decision": "deny", "reason": reason }), BLOCKED)
        }
    };
    Ok((format!("{answer}\n").into_bytes(), code))
}

fn wrapped(event: &[u8], wrap: &Wrap<'_>) -> Result<Wrapped, LaunchFault> {
    let event: Event = confine_core::json::read(event).map_err(|error| unreadable(&error.to_string()))?;
    if event.version != VERSION {
        return Err(unreadable(&format!("version {} is not read here: {VERSION} is", event.version)));
    }
    let workspace = event.workspace.map_or_else(|| Workspace::Found(event.cwd.clone()), Workspace::Named);
    match &event.command {
        Words::Shell(command) if command.trim().is_empty() => Err(unreadable("`command` is empty")),
        Words::Shell(command) => wrap.shell(command, &event.cwd, &workspace),
        Words::Argv(words) if words.is_empty() => Err(unreadable("`command` is empty")),
        Words::Argv(words) => wrap.argv(words, &event.cwd, &workspace),
    }
}
