//! What happened: the raw end of a run, and the verdict over it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{AbsPath, Effect};

/// How a run ended, from records; never from text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The program exited by itself.
    Exited {
        /// 0 to 255.
        code: u8,
    },
    /// A signal ended the program.
    Signaled {
        /// Its number.
        signal: i32,
        /// Whether a core was dumped.
        core: bool,
    },
    /// The wall-clock limit was reached; the tree is gone.
    TimedOut {
        /// The limit.
        after: Duration,
    },
    /// Another limit ended it.
    Limit {
        /// Which.
        which: LimitKind,
    },
    /// The caller, a signal to confine, or a lost mask ended it.
    Cancelled {
        /// The program's own status, where it ended by itself on being told.
        code: Option<u8>,
        /// The signal that confine was told to stop with, where it was one.
        signal: Option<i32>,
    },
    /// The sandbox stood, the program could not be started.
    ExecFailed {
        /// Whether there is such a program in the sandbox's view: it may lack a valid header or its interpreter.
        lookup: Lookup,
        /// execve(2)'s, or that of the lookup.
        errno: i32,
        /// The program that was tried.
        program: crate::Text,
    },
    /// A rule or an approver said no.
    NotStarted,
    /// The sandbox did not stand; the program never ran.
    LauncherFailed(LaunchFault),
}

/// The answer of looking a program up with the program's own PATH, in the sandbox's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It is there.
    Found,
    /// It is not.
    NotFound,
}

/// Which limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// Resident memory of the tree.
    Memory,
    /// Processor time (SIGXCPU).
    Cpu,
    /// File size (SIGXFSZ).
    FileSize,
}

/// Where a launch failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchStage {
    /// The call itself is wrong.
    Usage,
    /// The policy is wrong, or does not resolve here.
    Policy,
    /// No backend enforces it here.
    Choose,
    /// The wrapper could not be started.
    Spawn,
    /// Namespaces.
    Namespace,
    /// Mounts.
    Mount,
    /// The view is not what was planned.
    Verify,
    /// Landlock.
    Landlock,
    /// seccomp.
    Seccomp,
    /// The records ended without saying how.
    Status,
}

/// Why the sandbox did not stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFault {
    /// Where.
    pub stage: LaunchStage,
    /// The first missing effect, where one is.
    pub effect: Option<Effect>,
    /// The path it is about.
    pub path: Option<AbsPath>,
    /// The system's error number.
    pub errno: Option<i32>,
    /// A lower-case fragment that completes "cannot …".
    pub text: String,
    /// The next step.
    pub help: Option<String>,
}

impl LaunchFault {
    /// A fault with a text only.
    pub fn new(stage: LaunchStage, text: impl Into<String>) -> Self {
        Self { stage, effect: None, path: None, errno: None, text: text.into(), help: None }
    }

    /// With the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The judgement in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Exit 0.
    Passed,
    /// The program failed by itself.
    Failed,
    /// The program failed because the policy denied it something.
    Denied,
    /// The wall-clock limit.
    TimedOut,
    /// Another limit.
    LimitExceeded,
    /// Ended from outside.
    Cancelled,
    /// A rule or an approver said no.
    Refused,
    /// The sandbox did not stand.
    LauncherFailed,
}

/// Exit codes that confine gives by its own word.
pub mod exit {
    /// Refused before it started, or a violation under `--strict`.
    pub const REFUSED: u8 = 77;
    /// The wall-clock limit.
    pub const TIMED_OUT: u8 = 124;
    /// The sandbox could not be set up; the command never ran.
    pub const LAUNCHER_FAILED: u8 = 125;
    /// Found but not executable.
    pub const NOT_EXECUTABLE: u8 = 126;
    /// Not found.
    pub const NOT_FOUND: u8 = 127;
    /// Added to a signal's number.
    pub const SIGNAL_BASE: u8 = 128;
}

const SIGKILL: u8 = 9;
const SIGXCPU: u8 = 24;
const SIGXFSZ: u8 = 25;

impl Outcome {
    /// The verdict, before denials are weighed.
    pub const fn verdict(&self) -> Verdict {
        match self {
            Self::Exited { code: 0 } => Verdict::Passed,
            Self::Exited { .. } | Self::Signaled { .. } | Self::ExecFailed { .. } => Verdict::Failed,
            Self::TimedOut { .. } => Verdict::TimedOut,
            Self::Limit { .. } => Verdict::LimitExceeded,
            Self::Cancelled { .. } => Verdict::Cancelled,
            Self::NotStarted => Verdict::Refused,
            Self::LauncherFailed(_) => Verdict::LauncherFailed,
        }
    }

    /// The exit code of `confine run`.
    pub fn exit_code(&self) -> u8 {
        let signalled = |signal: i32| exit::SIGNAL_BASE.wrapping_add(u8::try_from(signal).unwrap_or(0));
        match self {
            Self::Exited { code } => *code,
            Self::Signaled { signal, .. } => signalled(*signal),
            Self::TimedOut { .. } => exit::TIMED_OUT,
            Self::Limit { which: LimitKind::Memory } => exit::SIGNAL_BASE + SIGKILL,
            Self::Limit { which: LimitKind::Cpu } => exit::SIGNAL_BASE + SIGXCPU,
            Self::Limit { which: LimitKind::FileSize } => exit::SIGNAL_BASE + SIGXFSZ,
            Self::Cancelled { code, signal } => match (code, signal) {
                (Some(code), _) => *code,
                (None, Some(signal)) => signalled(*signal),
                (None, None) => exit::SIGNAL_BASE + SIGKILL,
            },
            Self::ExecFailed { lookup: Lookup::NotFound, .. } => exit::NOT_FOUND,
            Self::ExecFailed { lookup: Lookup::Found, .. } => exit::NOT_EXECUTABLE,
            Self::NotStarted => exit::REFUSED,
            Self::LauncherFailed(_) => exit::LAUNCHER_FAILED,
        }
    }
}
