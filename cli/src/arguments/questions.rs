//! The arguments of questions about policies and outcomes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use super::{PolicyOptions, PolicyQuestion};

/// `confine explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Under which policy.
    #[command(flatten)]
    pub(crate) policy: PolicyOptions,
    /// `auto`, or the name of a backend.
    #[arg(long, value_name = "auto|ID", default_value = "auto", help_heading = "Running")]
    pub(crate) backend: String,
    /// Answer as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// What is to be done.
    #[arg(value_enum)]
    pub(crate) access: Access,
    /// With what: a path, or HOST:PORT.
    #[arg(value_name = "PATH|HOST:PORT")]
    pub(crate) object: OsString,
}

/// What `explain` is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Access {
    /// Read a file, list a directory.
    Read,
    /// Create or change it.
    Write,
    /// Execute it.
    Exec,
    /// Connect to a host.
    Connect,
}

/// `confine classify`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("end").required(true).args(["status", "signal"]))]
pub(crate) struct Classify {
    /// Under which policy it ran.
    #[command(flatten)]
    pub(crate) policy: PolicyOptions,
    /// `auto`, or the name of the backend whose plan was spawned.
    #[arg(long, value_name = "auto|ID", default_value = "auto", help_heading = "Running")]
    pub(crate) backend: String,
    /// The exit status of what was spawned.
    #[arg(long, value_name = "N")]
    pub(crate) status: Option<u8>,
    /// The signal that ended it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=64))]
    pub(crate) signal: Option<i32>,
    /// A file with its standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) stdout: Option<PathBuf>,
    /// A file with its standard error.
    #[arg(long, value_name = "FILE")]
    pub(crate) stderr: Option<PathBuf>,
    /// A file with what bwrap's `--json-status-fd` gave: an `exit-code` in it tells that the program ran.
    #[arg(long, value_name = "FILE")]
    pub(crate) status_record: Option<PathBuf>,
    /// Answer as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// The command and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

/// `confine policy describe`.
#[derive(Debug, Args)]
pub(crate) struct Description {
    /// Which policy.
    #[command(flatten)]
    pub(crate) question: PolicyQuestion,
    /// The backend that commands run with: what it does not enforce is said as well. `auto`, or its name.
    #[arg(long, value_name = "auto|ID")]
    pub(crate) backend: Option<String>,
    /// For whom it is written.
    #[arg(long = "for", value_enum, value_name = "READER")]
    pub(crate) reader: Reader,
}

/// Who reads a description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reader {
    /// A language model that works under the policy.
    Model,
}
