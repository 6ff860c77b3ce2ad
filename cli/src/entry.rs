//! From the process's arguments to its exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::arguments::{Arguments, Command, DialectCommand, PolicyCommand, Probe, QuarantineCommand};
use crate::fault::{self, Answer};
use crate::{
    answer, audit, backend, classify, describe, dialect, explain, generated, hook, plan, plugin_host, policy,
    preset, probe, quarantine, recovery, run, serve, usage, version,
};

/// Does what the process's arguments say. Exit codes are documented in the man page.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = probe::attempted(&words) {
        return ExitCode::from(code);
    }
    if let Some(fault) = plugin_host::become_it(&words) {
        fault::say(&fault);
        return ExitCode::from(fault::EXIT_CODE);
    }
    let answer = match Arguments::read(&words) {
        Ok(arguments) => dispatch(arguments),
        Err(error) if usage::is_answer(&error) => answer::text(&error.to_string()).map(|()| 0),
        Err(error) => Err(run::unparsed(&words, usage::fault(&error))),
    };
    ExitCode::from(answer.unwrap_or_else(|fault| {
        fault::say(&fault);
        if hook::is_called(&words) { hook::BLOCKED } else { fault::EXIT_CODE }
    }))
}

fn dispatch(arguments: Arguments) -> Answer {
    let Some(command) = arguments.command else { return question(&arguments) };
    recovery::recover();
    match command {
        Command::Run(run) => run::run(&run),
        Command::Serve(service) => serve::serve(&service),
        Command::Hook(event) => hook::hook(&event),
        Command::Plan(plan) => plan::plan(&plan),
        Command::Explain(question) => explain::explain(&question),
        Command::Classify(question) => classify::classify(&question),
        Command::Probe(question) => probe::probe(&question),
        Command::Policy { command } => match command {
            PolicyCommand::Check(question) => policy::check(&question),
            PolicyCommand::Show(question) => policy::show(&question),
            PolicyCommand::Describe(description) => describe::describe(&description),
            PolicyCommand::Schema => generated::schema(),
        },
        Command::Dialect { command } => match command {
            DialectCommand::List { json } => dialect::list(json),
            DialectCommand::Show { id, json } => dialect::show(&id, json),
            DialectCommand::Verify { json } => dialect::verify(json),
        },
        Command::Backend { command } => backend::backend(&command),
        Command::Audit { command } => audit::audit(&command),
        Command::Preset { command } => preset::preset(&command),
        Command::Quarantine { command } => match command {
            QuarantineCommand::List { json } => quarantine::list(json),
            QuarantineCommand::Restore { id } => quarantine::restore(&id),
        },
        Command::Completions { shell } => generated::completions(shell),
        Command::Man => generated::man(),
    }
}

/// The questions that are options of `confine` itself.
fn question(arguments: &Arguments) -> Answer {
    if arguments.version {
        return version::version(arguments.json);
    }
    if arguments.probe {
        return probe::probe(&Probe { json: arguments.json, require: arguments.require.clone() });
    }
    Err(fault::usage("read the arguments: a command is missing", "`confine --help` lists the commands"))
}
