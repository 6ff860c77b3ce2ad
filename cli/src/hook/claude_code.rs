//! The `PreToolUse` hook of Claude Code: its event on stdin; on stdout, with exit code 0, a decision and the input that
//! takes the place of the tool's own; exit code 2 blocks, and gives stderr to the model.
//!
//! Its `updatedInput` replaces the whole input, so every other field is given back as it came.

use confine_core::{AbsPath, LaunchFault};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::unreadable;
use super::wrap::{Workspace, Wrap, Wrapped};

/// The event that comes before a tool is used.
const EVENT: &str = "PreToolUse";
/// The tool that runs a shell command.
const TOOL: &str = "Bash";
/// The project, where Claude Code says it.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// What is read of the event; the rest is of no concern here.
#[derive(Deserialize)]
struct Event {
    hook_event_name: String,
    cwd: AbsPath,
    tool_name: String,
    tool_input: Map<String, Value>,
}

/// What goes to stdout, and the exit code.
pub(super) fn answer(event: &[u8], wrap: &Wrap<'_>) -> Result<(Vec<u8>, u8), LaunchFault> {
    let Event { hook_event_name, cwd, tool_name, tool_input } = read(event)?;
    if hook_event_name != EVENT {
        return Err(unreadable(&format!("it is no `{EVENT}`")));
    }
    let command = tool_input.get("command");
    if tool_name != TOOL {
        return match command {
            // No shell command: nothing to say, and the agent goes on as without a hook.
            None => Ok((Vec::new(), 0)),
            Some(_) => Err(unreadable(&format!(
                "only the commands of `{TOOL}` can be wrapped; register it for that"
            ))),
        };
    }
    let command = command.and_then(Value::as_str).filter(|command| !command.trim().is_empty());
    let command = command.ok_or_else(|| unreadable("`tool_input.command` is no text, or empty"))?;
    let workspace = Workspace::Found(project().unwrap_or_else(|| cwd.clone()));
    let wrapped = wrap.shell(command, &cwd, &workspace)?;
    Ok((decision(wrap, tool_input.clone(), wrapped), 0))
}

fn read(event: &[u8]) -> Result<Event, LaunchFault> {
    confine_core::json::read(event).map_err(|error| unreadable(&error.to_string()))
}

fn decision(wrap: &Wrap<'_>, mut input: Map<String, Value>, wrapped: Wrapped) -> Vec<u8> {
    input.insert("command".to_owned(), Value::String(wrapped.command));
    let decision = if wrap.asks { "ask" } else { "allow" };
    let answer = json!({
        "hookSpecificOutput": {
            "hookEventName": EVENT,
            "permissionDecision": decision,
            "permissionDecisionReason": "it runs confined",
            "updatedInput": input,
        }
    });
    format!("{answer}\n").into_bytes()
}

fn project() -> Option<AbsPath> {
    std::env::var_os(PROJECT).and_then(|path| AbsPath::new(path).ok())
}
