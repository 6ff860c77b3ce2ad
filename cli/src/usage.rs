//! Wrong arguments, in our own words. Names of features that come later are told from spelling mistakes.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use confine_core::LaunchFault;

use crate::fault;

/// What later versions bring: the word on the command line, and the feature it belongs to.
const LATER: &[(&str, &str)] = &[
    ("--network proxy", "the network proxy"),
    ("--allow", "the network proxy"),
    ("--resolve", "the network proxy"),
    ("--rules", "command rules"),
    ("dialect", "the classification of denials"),
    ("rules", "command rules"),
    ("session", "the service for other languages"),
    ("approvals", "approvals"),
    ("audit", "approvals"),
    ("conform", "third-party backends"),
    ("plugin", "egress tools"),
    ("plugin-host", "egress tools"),
    ("tool", "egress tools"),
    ("preset", "policy presets"),
    ("learn", "policy presets"),
];

/// What helps, by the beginning of the argument that is wrong.
const HELP: &[(&str, &str)] = &[
    ("<COMMAND>", "put the command to confine after `--`: `confine run -- COMMAND`"),
    ("--accept-missing", "`confine --probe` lists every effect; separate several by commas"),
    ("--require", "`confine --probe` lists every effect; separate several by commas"),
    ("--timeout", "write for example `30s`, `10min` or `1h`"),
    ("--memory", "write for example `512MiB` or `2GiB`"),
    ("--max-output", "write for example `1MiB`"),
    ("--processes", "write a whole number"),
    ("--env", "write `NAME` to let a variable pass, `NAME=VALUE` to set it"),
];

/// Whether the error is an answer: the help that was asked for.
pub(crate) fn is_answer(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}

/// The fault of wrong arguments.
pub(crate) fn fault(error: &Error) -> LaunchFault {
    let (text, help) = later(error).unwrap_or_else(|| (cause(error), help(error)));
    fault::usage(format!("read the arguments: {text}"), help)
}

fn later(error: &Error) -> Option<(String, String)> {
    let word = match error.kind() {
        ErrorKind::UnknownArgument => strings(error, ContextKind::InvalidArg),
        ErrorKind::InvalidSubcommand => strings(error, ContextKind::InvalidSubcommand),
        ErrorKind::InvalidValue => {
            let option = strings(error, ContextKind::InvalidArg);
            let option = option.split(' ').next().unwrap_or_default();
            format!("{option} {}", strings(error, ContextKind::InvalidValue))
        }
        _ => return None,
    };
    let (_, feature) = LATER.iter().find(|(name, _)| *name == word)?;
    Some((
        format!("`{word}` belongs to {feature}, which this version does not have"),
        "`confine --help` lists what it has".to_owned(),
    ))
}

fn cause(error: &Error) -> String {
    let argument = strings(error, ContextKind::InvalidArg);
    let value = strings(error, ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::UnknownArgument if argument.starts_with('-') => format!("there is no option `{argument}`"),
        ErrorKind::UnknownArgument => format!("`{argument}` is out of place"),
        ErrorKind::InvalidSubcommand => {
            format!("there is no command `{}`", strings(error, ContextKind::InvalidSubcommand))
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("`{argument}` lacks its value"),
        ErrorKind::InvalidValue => format!("`{value}` is no value for `{argument}`"),
        ErrorKind::ValueValidation => format!("`{value}` is no value for `{argument}`: {}", source(error)),
        ErrorKind::MissingRequiredArgument => format!("`{argument}` is missing"),
        ErrorKind::ArgumentConflict if argument == strings(error, ContextKind::PriorArg) => {
            format!("`{argument}` is given twice")
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "a command is missing".to_owned()
        }
        ErrorKind::ArgumentConflict => {
            format!("`{argument}` does not go with `{}`", strings(error, ContextKind::PriorArg))
        }
        _ => first_paragraph(error),
    }
}

fn help(error: &Error) -> String {
    let valid = strings(error, ContextKind::ValidValue);
    if !valid.is_empty() {
        return format!("one of: {valid}");
    }
    let suggestions = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
    let suggestion = suggestions.into_iter().map(|kind| strings(error, kind)).find(|word| !word.is_empty());
    if let Some(word) = suggestion {
        return format!("did you mean `{word}`?");
    }
    let argument = strings(error, ContextKind::InvalidArg);
    let out_of_place = error.kind() == ErrorKind::UnknownArgument && !argument.starts_with('-');
    let row = HELP.iter().find(|(name, _)| argument.starts_with(name));
    match row {
        _ if out_of_place => "put the command to confine after `--`: `confine run -- COMMAND`".to_owned(),
        Some((_, help)) => (*help).to_owned(),
        None => "`confine --help` and `confine COMMAND --help` list what there is".to_owned(),
    }
}

fn strings(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(word)) => word.clone(),
        Some(ContextValue::Strings(words)) => words.join(", "),
        _ => String::new(),
    }
}

fn source(error: &Error) -> String {
    std::error::Error::source(error).map_or_else(String::new, ToString::to_string)
}

/// clap's own words, for kinds that have none of ours.
fn first_paragraph(error: &Error) -> String {
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    paragraph.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ")
}
