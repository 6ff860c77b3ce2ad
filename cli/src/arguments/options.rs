//! The options that `run`, `plan` and `policy` share.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use confine_core::Effects;
use confine_core::policy::quantity::{Size, Span};

/// What is allowed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Policy")]
pub(crate) struct PolicyOptions {
    /// `read-only`, `workspace-write`, or a file: a word with `/`, `.toml` or `.json`.
    ///
    /// Without it, `workspace-write`, extended by the user's policy.toml where that exists.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) policy: Option<OsString>,
    /// A workspace root; repeatable. Without it, the current directory.
    #[arg(long = "workspace", value_name = "DIR")]
    pub(crate) workspaces: Vec<PathBuf>,
    /// Where the program starts. Without it, the current directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// May be read and executed; repeatable, as all of these.
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// May be read, created, changed and deleted.
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,
    /// A file that may be created: confine makes it empty, and removes it afterwards if it still is.
    #[arg(long, value_name = "PATH")]
    pub(crate) precreate: Vec<PathBuf>,
    /// Is not there.
    #[arg(long, value_name = "PATH")]
    pub(crate) hide: Vec<PathBuf>,
    /// Stays as it is inside a write grant.
    #[arg(long, value_name = "PATH")]
    pub(crate) protect: Vec<PathBuf>,
    /// A pathname socket that may be reached.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Vec<PathBuf>,
    /// A device node that may be opened.
    #[arg(long, value_name = "PATH")]
    pub(crate) device: Vec<PathBuf>,
    /// What of `.git` may be written.
    #[arg(long, value_enum)]
    pub(crate) git: Option<Git>,
    /// Which network there is.
    #[arg(long, value_enum)]
    pub(crate) network: Option<Network>,
    /// Effects to go without where no backend enforces them; listed in every report.
    #[arg(long, value_name = "EFFECT,…")]
    pub(crate) accept_missing: Option<Effects>,
    /// A variable that passes, or is set; repeatable.
    #[arg(long = "env", value_name = "NAME[=VALUE]", value_parser = OsStringValueParser::new().try_map(Variable::parse))]
    pub(crate) variables: Vec<Variable>,
    /// Wall-clock limit: `30s`, `10min`, `1h`; a bare number is seconds.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub(crate) timeout: Option<Span>,
    /// Resident memory of all processes together: `512MiB`, `2GiB`; a bare number is bytes.
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) memory: Option<Size>,
    /// Processes and threads.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) processes: Option<u64>,
    /// After a denial, ask on the terminal for the smallest grant that would lift it, and run again with exactly that.
    #[arg(long)]
    pub(crate) ask: bool,
}

/// How it runs.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Running")]
pub(crate) struct RunOptions {
    /// `auto`, or the name of a backend.
    #[arg(long, value_name = "auto|ID", default_value = "auto")]
    pub(crate) backend: String,
    /// What is kept of each captured stream, half from its head and half from its tail.
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) max_output: Option<Size>,
    /// Give the program a pseudo-terminal of its own.
    #[arg(long, conflicts_with = "ask")]
    pub(crate) tty: bool,
    /// Write the report to a file outside every write grant, or to an open descriptor.
    #[arg(long, value_name = "FILE|fd:N")]
    pub(crate) report: Option<OsString>,
    /// Say in one bracketed line on stderr how it went: what was denied, in which mode, and the smallest grant that would
    /// help; or that nothing was.
    #[arg(long)]
    pub(crate) annotate: bool,
    /// Exit 77 where a violation was seen and the program exited 0.
    #[arg(long)]
    pub(crate) strict: bool,
}

/// `--git`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Git {
    /// Committing works; hooks, settings and attributes are protected.
    Work,
    /// `.git` is read-only.
    Protect,
    /// Nothing special.
    Open,
}

/// `--network`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Network {
    /// None.
    Off,
    /// The host's.
    Open,
}

/// `--env`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: String,
    /// What it is set to; `None` passes the caller's.
    pub(crate) value: Option<OsString>,
}

/// Why a word is no variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VariableError {
    /// Nothing before `=`.
    #[error("the name is empty")]
    Empty,
    /// Policies are text.
    #[error("the name is not UTF-8")]
    Encoding,
}

impl Variable {
    fn parse(word: OsString) -> Result<Self, VariableError> {
        use std::os::unix::ffi::OsStrExt as _;
        let bytes = word.as_bytes();
        let mut parts = bytes.splitn(2, |byte| *byte == b'=');
        let name = parts.next().unwrap_or_default();
        let value = parts.next().map(|value| OsStr::from_bytes(value).to_owned());
        let name = std::str::from_utf8(name).map_err(|_| VariableError::Encoding)?;
        if name.is_empty() {
            return Err(VariableError::Empty);
        }
        Ok(Self { name: name.to_owned(), value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_passes_or_is_set_and_its_value_may_hold_anything() {
        let parse = |word: &str| Variable::parse(word.into());
        assert_eq!(parse("A"), Ok(Variable { name: "A".into(), value: None }));
        assert_eq!(parse("A="), Ok(Variable { name: "A".into(), value: Some("".into()) }));
        assert_eq!(parse("A=b=c"), Ok(Variable { name: "A".into(), value: Some("b=c".into()) }));
        assert_eq!(parse("=b"), Err(VariableError::Empty));
        assert_eq!(parse(""), Err(VariableError::Empty));
    }
}
