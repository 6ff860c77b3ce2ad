//! `confine run`: confine a command, run it, exit as it did.

pub(crate) mod account;
mod ask;
mod asking;
mod call;
mod follow;
mod input;
mod sink;
mod stop;
mod terminal;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use confine_core::outcome::exit;
use confine_core::{AbsPath, LaunchFault, LaunchStage, Outcome, Policy, Report};
use confine_runner::unstarted;

use crate::arguments::Run;
use crate::fault::{self, Answer};
use crate::request::{self, Resolved};
use crate::{annotate, answer};

use call::Call;
use sink::Sink;
use stop::Stops;

/// A run that came to its end: what is reported, and how it ended by the records.
struct Ended {
    report: Report,
    outcome: Outcome,
}

/// What is known of a call before it fails.
#[derive(Default)]
struct Known {
    cwd: Option<AbsPath>,
    policy: Option<Policy>,
}

/// Confines and runs the command.
pub(crate) fn run(arguments: &Run) -> Answer {
    let mut sink = arguments.run.report.as_deref().map(Sink::open).transpose()?;
    let mut known = Known::default();
    let ended = attempt(arguments, &mut sink, &mut known).unwrap_or_else(|fault| Ended {
        report: unstarted(&arguments.words, known.cwd.as_ref(), known.policy.as_ref(), fault.clone()),
        outcome: Outcome::LauncherFailed(fault),
    });
    account::say(&ended.report, &ended.outcome);
    if arguments.run.annotate {
        annotate::say(&ended.report);
    }
    let code = exit_code(arguments, &ended);
    let written = sink.map_or(Ok(()), |sink| sink.write(&ended.report));
    let printed = if arguments.json { answer::json(&ended.report) } else { Ok(()) };
    // The run is over: a report that cannot be written is said, and does not change how the run ended.
    for lost in [written, printed].into_iter().filter_map(Result::err) {
        fault::say(&lost);
    }
    Ok(code)
}

/// Writes the report of a call that is wrong, where its `--report` can be understood all the same.
pub(crate) fn unparsed(words: &[OsString], fault: LaunchFault) -> LaunchFault {
    let Some((destination, command)) = intended(words) else { return fault };
    if let Ok(sink) = Sink::open(destination)
        && let Err(lost) = sink.write(&unstarted(command, None, None, fault.clone()))
    {
        fault::say(&lost);
    }
    fault
}

/// The value of `--report` before `--`, and the words after it, of a call of `run`.
fn intended(words: &[OsString]) -> Option<(&OsStr, &[OsString])> {
    let is_separator = |word: &OsString| word == "--";
    let mut parts = words.splitn(2, is_separator);
    let (options, command) = (parts.next()?, parts.next().unwrap_or_default());
    if options.get(1)? != "run" {
        return None;
    }
    let at = options.iter().position(|word| word.as_bytes().starts_with(b"--report"))?;
    let destination = match options.get(at)?.as_bytes().strip_prefix(b"--report=") {
        Some(value) => OsStr::from_bytes(value),
        None => options.get(at + 1)?.as_os_str(),
    };
    Some((destination, command))
}

fn attempt(arguments: &Run, sink: &mut Option<Sink>, known: &mut Known) -> Result<Ended, LaunchFault> {
    let Resolved { policy, cwd, basis } = request::resolve_to_run(&arguments.policy)?;
    *known = Known { cwd: Some(cwd.clone()), policy: Some(policy.clone()) };
    if let Some(Err(refused)) = sink.as_ref().map(|sink| sink.check(&policy)) {
        *sink = None;
        return Err(refused);
    }
    let confine = request::detect(&arguments.run.backend, &policy)?;
    let call = Call { arguments, confine, cwd, policy };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| fault::system(LaunchStage::Spawn, "start the runtime", &error))?;
    let ended = runtime.block_on(async {
        let mut stops = Stops::install()
            .map_err(|error| fault::system(LaunchStage::Spawn, "watch for signals", &error))?;
        match call.asks() && !arguments.run.tty {
            true => ask::follow(&call, basis, sink.as_ref().and_then(Sink::path), &mut stops).await,
            false => follow::follow(call.command(&call.policy)?, &mut stops, arguments.run.tty).await,
        }
    })?;
    // Nothing of the run is left in it, and this process ends next.
    std::mem::forget(runtime);
    Ok(ended)
}

fn exit_code(arguments: &Run, ended: &Ended) -> u8 {
    let code = ended.outcome.exit_code();
    let violated = !ended.report.violations.is_empty();
    if arguments.run.strict && code == 0 && violated { exit::REFUSED } else { code }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_report_of_a_wrong_call_goes_where_it_says() {
        for line in ["confine run --nope --report r -- a b", "confine run --report=r --nope -- a b"] {
            let words = words(line);
            let (destination, command) = intended(&words).unwrap();
            assert_eq!(destination, "r");
            assert_eq!(command, ["a", "b"]);
        }
    }

    #[test]
    fn a_report_option_of_the_command_or_of_another_command_is_not_ours() {
        for line in [
            "confine run --nope -- a --report r",
            "confine plan --report r",
            "confine run --report",
            "confine",
        ] {
            assert_eq!(intended(&words(line)), None, "{line}");
        }
    }
}
