//! What the stage does, as an ordered list of options, in the manner of bwrap's: printable, comparable in golden files,
//! and the same whether it travels in an argv or, NUL-separated, through a descriptor.
//!
//! The command line is `confine-stage [--args FD | OPTION…] -- COMMAND…`: with `--args FD` the options are read from the
//! descriptor, each ended by a NUL, as bwrap does.

use std::ffi::OsString;

/// Who the stage is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Process 1 of a pid namespace: when it exits, the kernel ends the namespace.
    #[default]
    Init,
    /// A supervisor on the host: session leader and subreaper outside the program's Landlock domain, which at its end
    /// stops and kills the whole descent.
    Supervisor,
}

/// The resources that the plan may limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// RLIMIT_CPU, seconds.
    Cpu,
    /// RLIMIT_FSIZE, bytes.
    FileSize,
    /// RLIMIT_NOFILE.
    OpenFiles,
    /// RLIMIT_NPROC: counts every process of the user; nothing for root.
    Processes,
}

/// One `LANDLOCK_RULE_PATH_BENEATH`. The path is in the sandbox's view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `LANDLOCK_ACCESS_FS_*` bits; only file bits where the path is no directory.
    pub access: u64,
    /// Absolute.
    pub path: OsString,
}

/// A Landlock ruleset. Applying it fails, and so the launch, where the kernel does not know a bit or a path is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruleset {
    /// `handled_access_fs`.
    pub handled_fs: u64,
    /// `handled_access_net`.
    pub handled_net: u64,
    /// `scoped`.
    pub scoped: u64,
    /// In any order: rules only add up.
    pub rules: Vec<Rule>,
}

/// A terminal's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Columns.
    pub columns: u16,
}

/// The plan of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Who the stage is.
    pub role: Role,
    /// `--cwd DIR`: the program's directory; absent or unreachable is a launcher failure.
    pub cwd: OsString,
    /// `--control FD`: the control socket; none for a foreign spawner.
    pub control: Option<i32>,
    /// `--stderr FD`: the program's standard error is this descriptor; until the program starts, descriptor 2 is a pipe
    /// of the runner's, so that the launcher's words and the program's can never be taken for each other. The program
    /// gets FD duplicated onto 2; process 1 keeps the pipe. Checked like 0 to 2.
    pub stderr: Option<i32>,
    /// `--landlock FS NET SCOPED` and `--rule ACCESS PATH`, numbers in hexadecimal with `0x`.
    pub landlock: Option<Ruleset>,
    /// `--seccomp BASE64`: `struct sock_filter` records in native byte order.
    pub seccomp: Vec<u8>,
    /// `--rlimit NAME VALUE`: cpu, file-size, open-files, processes.
    pub rlimits: Vec<(Resource, u64)>,
    /// `--scratch PREFIX`: make a private directory (0700) by mkdtemp(3) with this prefix, give it to the program as
    /// `TMPDIR` with a write rule of `access`, and remove it at the end. Only for a supervisor.
    pub scratch: Option<Rule>,
    /// `--stdio-access FILE_ACCESS`: add a rule with these bits for each of descriptors 0 to 2 that is a terminal, a
    /// pipe or a file opened for writing (so that `/dev/stdout` works) and is not covered. Only with Landlock.
    pub stdio_access: Option<u64>,
    /// `--tty ROWS COLUMNS`: run the program on a pseudo-terminal from `/dev/ptmx`, and pass the master out.
    pub tty: Option<TerminalSize>,
    /// `--masked PATH`: verify before the start that the path is masked: neither its content nor, for a directory, an
    /// entry can be read.
    pub masked: Vec<OsString>,
}

/// Why words are no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Unknown option.
    #[error("unknown option `{0}`")]
    Unknown(String),
    /// An option lacks a value.
    #[error("option `{0}` lacks a value")]
    Lacking(&'static str),
    /// A value is malformed.
    #[error("`{value}` is no value for `{option}`")]
    Malformed {
        /// Which option.
        option: &'static str,
        /// What it got.
        value: String,
    },
}

impl Plan {
    /// The words, without the closing `--`. Empty fields leave no word.
    pub fn encode(&self) -> Vec<OsString> {
        todo!()
    }

    /// Reads the words up to `--` or the end; answers what follows `--` too.
    ///
    /// # Errors
    /// Anything that [`Plan::encode`] would not write.
    pub fn decode(_words: impl IntoIterator<Item = OsString>) -> Result<(Self, Vec<OsString>), PlanError> {
        todo!()
    }
}
