//! What the stage does, as an ordered list of options, in the manner of bwrap's: printable, comparable in golden files,
//! and the same whether it travels in an argv or, NUL-separated, through a descriptor.
//!
//! The command line is `confine-stage [--args FD | OPTION…] -- COMMAND…`: with `--args FD` the options are read from the
//! descriptor, each ended by a NUL, as bwrap does.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

mod reader;
mod words;

pub(crate) use reader::descriptor;
use reader::{Reader, malformed};
use words::{Words, hexadecimal};

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

/// A file of the host that the launch shows or opens by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// Absolute, in the sandbox's view and on the host.
    pub path: OsString,
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
    /// `--role supervisor`; no word for process 1.
    pub role: Role,
    /// `--cwd DIR`: the program's directory, and its `PWD`; absent or unreachable is a launcher failure.
    pub cwd: OsString,
    /// `--control FD`: the control socket; none for a foreign spawner.
    pub control: Option<i32>,
    /// `--await-word`: look at nothing of the host and start nothing before [`Command::Go`](crate::status::Command::Go).
    pub await_word: bool,
    /// `--stderr FD`: the program's standard error is this descriptor; until the program starts, descriptor 2 is a pipe
    /// of the runner's, so that the launcher's words and the program's can never be taken for each other. The program
    /// gets FD duplicated onto 2, after the terminal where there is one; process 1 keeps the pipe. Checked like 0 to 2.
    pub stderr: Option<i32>,
    /// `--landlock FS NET SCOPED` and `--rule ACCESS PATH`, numbers in hexadecimal with `0x`.
    pub landlock: Option<Ruleset>,
    /// `--seccomp BASE64`: `struct sock_filter` records in native byte order.
    pub seccomp: Vec<u8>,
    /// `--rlimit NAME VALUE`: cpu, file-size, open-files, processes.
    pub rlimits: Vec<(Resource, u64)>,
    /// `--scratch ACCESS PREFIX`: make a private directory (0700) by mkdtemp(3) with this prefix, give it to the program as
    /// `TMPDIR` with a rule of `access`, and remove it at the end. Only for a supervisor.
    pub scratch: Option<Rule>,
    /// `--stdio-access FILE_ACCESS`: add a rule with these bits for each of descriptors 0 to 2 that is a terminal, or a
    /// device, a named pipe or a file opened for writing (so that `/dev/stdout` works). Unnamed pipes and sockets are
    /// outside what Landlock governs. No effect without Landlock.
    pub stdio_access: Option<u64>,
    /// `--tty ROWS COLUMNS`: run the program on a pseudo-terminal from `/dev/ptmx`, and pass the master out.
    pub tty: Option<TerminalSize>,
    /// `--masked PATH`: verify before the start that the path is masked: neither its content nor, for a directory, an
    /// entry can be read.
    pub masked: Vec<OsString>,
    /// `--bound DEVICE INODE PATH`: verify before the start that the path is this file, and, as process 1, a mount of its
    /// own. bwrap mounts by path, and whoever may write a directory above can put a link there meanwhile.
    pub bound: Vec<Bound>,
    /// `--writable PATH`: as process 1, verify before the start that every writable mount is at or below one of these;
    /// without any, nothing is verified.
    pub writable: Vec<OsString>,
}

/// Why words are no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Unknown option.
    #[error("unknown option `{0}`")]
    Unknown(String),
    /// An option that may be given once was given again, or `--rule` comes before `--landlock`.
    #[error("option `{0}` is out of place")]
    Misplaced(&'static str),
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
        let mut words = Words(Vec::new());
        if self.role == Role::Supervisor {
            words.option("--role", ["supervisor"]);
        }
        if !self.cwd.is_empty() {
            words.option("--cwd", [&self.cwd]);
        }
        self.encode_descriptors(&mut words);
        self.encode_layers(&mut words);
        if let Some(scratch) = &self.scratch {
            words.option("--scratch", [&hexadecimal(scratch.access), &scratch.path]);
        }
        if let Some(size) = self.tty {
            words.option("--tty", [size.rows.to_string(), size.columns.to_string()]);
        }
        self.encode_checks(&mut words);
        words.0
    }

    /// The words as `--args FD` reads them: each ended by a NUL.
    ///
    /// # Errors
    /// When a word holds a NUL itself.
    pub fn encode_args(&self) -> Result<Vec<u8>, PlanError> {
        let mut bytes = Vec::new();
        for word in self.encode() {
            if word.as_encoded_bytes().contains(&0) {
                return Err(malformed("--args", &word));
            }
            bytes.extend_from_slice(word.as_encoded_bytes());
            bytes.push(0);
        }
        Ok(bytes)
    }

    /// Reads the words up to `--` or the end, in any order but for `--rule`, which follows `--landlock`; answers what
    /// follows `--` too.
    ///
    /// # Errors
    /// An unknown or repeated option, a lacking value, or a value that [`Plan::encode`] would write otherwise.
    pub fn decode(words: impl IntoIterator<Item = OsString>) -> Result<(Self, Vec<OsString>), PlanError> {
        let mut reader = Reader::new(words.into_iter());
        while let Some(word) = reader.words.next() {
            if word == "--" {
                return Ok((reader.plan, reader.words.collect()));
            }
            reader.option(&word)?;
        }
        Ok((reader.plan, Vec::new()))
    }

    /// Reads what [`Plan::encode_args`] writes, and what follows `--` after it: a command too long for a wrapper that
    /// counts its words.
    ///
    /// # Errors
    /// As [`Plan::decode`]; a last word without its NUL.
    pub fn decode_args(bytes: &[u8]) -> Result<(Self, Vec<OsString>), PlanError> {
        let Some(bytes) = bytes.strip_suffix(&[0]) else {
            return if bytes.is_empty() {
                Ok((Self::default(), Vec::new()))
            } else {
                Err(PlanError::Lacking("--args"))
            };
        };
        Self::decode(bytes.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())))
    }

    fn encode_checks(&self, words: &mut Words) {
        for path in &self.masked {
            words.option("--masked", [path]);
        }
        for Bound { device, inode, path } in &self.bound {
            words.option("--bound", [&device.to_string().into(), &inode.to_string().into(), path]);
        }
        for path in &self.writable {
            words.option("--writable", [path]);
        }
    }

    fn encode_descriptors(&self, words: &mut Words) {
        if let Some(fd) = self.control {
            words.option("--control", [fd.to_string()]);
        }
        if self.await_word {
            words.option("--await-word", [""; 0]);
        }
        if let Some(fd) = self.stderr {
            words.option("--stderr", [fd.to_string()]);
        }
    }

    fn encode_layers(&self, words: &mut Words) {
        if let Some(ruleset) = &self.landlock {
            let bits = [ruleset.handled_fs, ruleset.handled_net, ruleset.scoped];
            words.option("--landlock", bits.map(hexadecimal));
            for rule in &ruleset.rules {
                words.option("--rule", [&hexadecimal(rule.access), &rule.path]);
            }
        }
        if let Some(access) = self.stdio_access {
            words.option("--stdio-access", [hexadecimal(access)]);
        }
        if !self.seccomp.is_empty() {
            words.option("--seccomp", [words::base64(&self.seccomp)]);
        }
        for (resource, value) in &self.rlimits {
            words.option("--rlimit", [resource.word(), &value.to_string()]);
        }
    }
}
