//! Why a benchmark does not run.

use std::fmt;
use std::process::ExitStatus;

/// Each completes "cannot …".
#[derive(Debug)]
pub(crate) enum Fault {
    /// A word of the command line.
    Option(String),
    /// A value that an option takes.
    Value(&'static str, String),
    /// The path of `confine` is missing on the command line.
    NoConfine,
    /// Something of the system: what was done, to what, and the error.
    System(&'static str, String, std::io::Error),
    /// A program that should have exited 0.
    Failed(&'static str, ExitStatus, String),
    /// The library refused, or what it ran did not pass.
    Library(String),
    /// Every backend refused the policy, and accepting losses would not help.
    Refused(String),
    /// A file that is not as it should be.
    Unexpected(String),
}

const USAGE: &str = "help: bench [--json] [--rounds N] [--row NAME]… CONFINE";

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(word) => write!(f, "understand `{word}`\n{USAGE}"),
            Self::Value(option, value) => write!(f, "take `{value}` as the value of `{option}`\n{USAGE}"),
            Self::NoConfine => write!(f, "measure without the path of `confine`\n{USAGE}"),
            Self::System(act, thing, error) => write!(f, "{act} `{thing}`: {error}"),
            Self::Failed(row, status, words) => {
                write!(f, "go on: {row} ended with {status}: {}", words.trim())
            }
            Self::Library(text) => write!(f, "launch by the library: {text}"),
            Self::Refused(text) => write!(f, "confine: {text}"),
            Self::Unexpected(text) => write!(f, "understand {text}"),
        }
    }
}

/// `System`, for `map_err`.
pub(crate) fn system(act: &'static str, thing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Fault {
    let thing = thing.into();
    move |error| Fault::System(act, thing, error)
}
