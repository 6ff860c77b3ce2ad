//! What went wrong, for people: one line that says what cannot be done and why, and one that says what helps.
//!
//! Whatever a program, a file or the caller put into a text is escaped, so that it cannot move the cursor.

use std::io::Write as _;

use confine_core::outcome::exit;
use confine_core::{LaunchFault, LaunchStage, Text};
use nix::errno::Errno;

/// What every command answers: an exit code, or why it cannot answer (125).
pub(crate) type Answer = Result<u8, LaunchFault>;

/// The exit code of every fault.
pub(crate) const EXIT_CODE: u8 = exit::LAUNCHER_FAILED;

/// The call itself is wrong.
pub(crate) fn usage(text: impl Into<String>, help: impl Into<String>) -> LaunchFault {
    LaunchFault::new(LaunchStage::Usage, text).help(help)
}

/// A system call failed on the way.
pub(crate) fn system(stage: LaunchStage, doing: &str, error: &std::io::Error) -> LaunchFault {
    let text = format!("{doing}: {}", cause(error));
    LaunchFault { errno: error.raw_os_error(), ..LaunchFault::new(stage, text) }
}

/// An error of the system in the system's words, without its number.
pub(crate) fn cause(error: &std::io::Error) -> String {
    let errno = error.raw_os_error().map(Errno::from_raw);
    errno.map_or_else(|| error.to_string(), |errno| errno.desc().to_lowercase())
}

/// Prints a fault.
pub(crate) fn say(fault: &LaunchFault) {
    line(&format!("cannot {}", fault.text));
    help_line(fault.help.as_deref().unwrap_or(next_step(fault.stage)));
}

/// What helps where a fault knows nothing better.
const fn next_step(stage: LaunchStage) -> &'static str {
    match stage {
        LaunchStage::Usage => "`confine --help` and `confine COMMAND --help` list what there is",
        LaunchStage::Policy => "`confine policy check` looks at a policy without running anything",
        _ => "`confine --probe` tries every backend on this host and says what works",
    }
}

/// One line of ours on stderr.
pub(crate) fn line(text: &str) {
    write("confine: ", text);
}

/// The next step.
pub(crate) fn help_line(text: &str) {
    write("help: ", text);
}

/// Nothing is to be done where stderr is gone.
fn write(prefix: &str, text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{prefix}{}", Text::from(text));
}
