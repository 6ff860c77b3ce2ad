//! `confine hook`: what a coding agent is about to run, wrapped, before it runs it.
//!
//! Reads one event from stdin and answers on stdout. Every failure blocks: it exits with [`BLOCKED`], the reason on
//! stderr, and nothing on stdout that could be read as a yes. The command is wrapped whatever it looks like; the
//! kernel is the boundary, not what this module recognises.

mod claude_code;
mod generic;
mod wrap;

use std::ffi::OsString;
use std::io::{Read as _, Write as _};

use confine_core::LaunchFault;
use rustix::fs::{FileType, fstat, major, minor};

use crate::arguments::{Agent, Hook};
use crate::fault::{self, Answer};

use wrap::Wrap;

/// By which agents take a command as refused: any other code but 0 lets some of them run it.
pub(crate) const BLOCKED: u8 = 2;

/// The null device, as Linux numbers it.
const NULL: (u32, u32) = (1, 3);

/// The longest event, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Whether these words call a hook: then every failure has to block, also that of reading them.
pub(crate) fn is_called(words: &[OsString]) -> bool {
    words.get(1).is_some_and(|word| word == "hook")
}

/// Answers an event.
pub(crate) fn hook(hook: &Hook) -> Answer {
    let answered = match hook.agent {
        Agent::ClaudeCode => claude_code::answer(&event()?, &Wrap::new(hook, "bash")),
        Agent::Json => generic::answer(&event()?, &Wrap::new(hook, "sh")),
    };
    let (text, code) = answered?;
    say(&text)?;
    Ok(code)
}

/// An answer that nobody gets is none, and no answer could pass for a yes.
fn say(text: &[u8]) -> Result<(), LaunchFault> {
    if text.is_empty() {
        return Ok(());
    }
    let unsaid = |why: &str| {
        fault::usage(format!("answer, so the command is blocked: {why}"), "look at where stdout leads")
    };
    let mut stdout = std::io::stdout().lock();
    // A descriptor that is closed when a program starts is opened on the null device.
    let found = fstat(&stdout).map_err(|errno| unsaid(&fault::cause(&errno.into())))?;
    if (major(found.st_rdev), minor(found.st_rdev)) == NULL
        && FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice
    {
        return Err(unsaid("stdout is closed, or leads nowhere"));
    }
    stdout.write_all(text).and_then(|()| stdout.flush()).map_err(|error| unsaid(&fault::cause(&error)))
}

fn event() -> Result<Vec<u8>, LaunchFault> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(&fault::cause(&error)))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LONGEST) {
        return Err(unreadable(&format!("it has more than {LONGEST} bytes")));
    }
    Ok(bytes)
}

fn unreadable(why: &str) -> LaunchFault {
    fault::usage(
        format!("read the event, so the command is blocked: {why}"),
        "docs/harnesses.md says what a hook reads",
    )
}
