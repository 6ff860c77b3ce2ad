//! What a person needs to know after a run; nothing where it passed.

use std::io;

use confine_core::outcome::Lookup;
use confine_core::report::{Quarantined, Violation};
use confine_core::{AbsPath, LimitKind, Outcome, Report, Verdict};

use crate::fault;

/// Says on stderr what the exit code alone does not.
pub(super) fn say(report: &Report, outcome: &Outcome) {
    found(&report.violations, &report.quarantined);
    made(&report.new_repositories);
    end(outcome);
    let ran = matches!(outcome, Outcome::Exited { .. } | Outcome::Signaled { .. });
    if ran && report.verdict == Verdict::Failed && report.environment.dropped > 0 {
        environment(report.environment.dropped);
    }
}

/// Says what the checks after a run found.
pub(crate) fn found(violations: &[Violation], quarantined: &[Quarantined]) {
    for violation in violations {
        fault::line(&sentence(violation));
    }
    for moved in quarantined {
        fault::line(&format!("`{}` was moved to `{}`", moved.path, moved.to));
    }
    if !quarantined.is_empty() {
        fault::help_line(
            "look at it first; `confine quarantine list` and `confine quarantine restore ID` put it back",
        );
    }
}

/// The host's git runs what the settings of a repository say, also from above it where an index names it.
pub(crate) fn made(repositories: &[AbsPath]) {
    const SHOWN: usize = 5;
    if repositories.is_empty() {
        return;
    }
    let mut names: Vec<String> = repositories.iter().take(SHOWN).map(|path| format!("`{path}`")).collect();
    if repositories.len() > SHOWN {
        names.push(format!("{} more", repositories.len() - SHOWN));
    }
    fault::line(&format!("made by the run, look before you use git there or above: {}", names.join(", ")));
}

fn end(outcome: &Outcome) {
    match outcome {
        Outcome::LauncherFailed(launch) => fault::say(launch),
        Outcome::ExecFailed { lookup, errno, program } => {
            fault::line(&format!("cannot execute `{program}`: {}", exec_cause(*lookup, *errno)));
            fault::help_line(exec_help(*lookup));
        }
        Outcome::TimedOut { after } => {
            fault::line(&format!("the time limit of {after:?} was reached, and every process was ended"));
        }
        Outcome::Limit { which } => {
            fault::line(&format!("the {} limit was reached, and every process was ended", limit(*which)));
        }
        Outcome::Exited { .. }
        | Outcome::Signaled { .. }
        | Outcome::Cancelled { .. }
        | Outcome::NotStarted => {}
    }
}

fn environment(dropped: usize) {
    let variables = if dropped == 1 { "variable" } else { "variables" };
    fault::line(&format!("{dropped} {variables} removed by policy; `--env NAME` lets one pass"));
}

fn sentence(violation: &Violation) -> String {
    match violation {
        Violation::ProtectedAppeared { path } => {
            format!("violation: the protected name `{path}` was created")
        }
        Violation::LinkReplaced { path } => format!("violation: the protected link `{path}` was replaced"),
        Violation::MaskLost { path } => {
            format!(
                "violation: `{path}` was replaced from outside and lost its mask, so every process was ended"
            )
        }
        Violation::GitTodo { path } => {
            format!("violation: a git operation that runs commands was prepared in `{path}`")
        }
        Violation::Leftovers { count: 1 } => {
            "violation: a process was left in the background, and ended".to_owned()
        }
        Violation::Leftovers { count } => {
            format!("violation: {count} processes were left in the background, and ended")
        }
    }
}

fn exec_cause(lookup: Lookup, errno: i32) -> String {
    let cause = fault::cause(&io::Error::from_raw_os_error(errno));
    match lookup {
        Lookup::NotFound => format!("not found in the sandbox ({cause})"),
        Lookup::Found => cause,
    }
}

const fn exec_help(lookup: Lookup) -> &'static str {
    match lookup {
        Lookup::NotFound => {
            "it is looked up with the program's own PATH, in the sandbox's view; `--read DIR` shows more of the host"
        }
        Lookup::Found => {
            "it needs execute permission, a valid header, and an interpreter that is visible in the sandbox"
        }
    }
}

const fn limit(which: LimitKind) -> &'static str {
    match which {
        LimitKind::Memory => "memory",
        LimitKind::Cpu => "cpu",
        LimitKind::FileSize => "file-size",
    }
}
