//! How a helper ended, from records, never from text.

use std::fmt;

use confine_core::report::OutcomeNote;
use confine_core::{LimitKind, Report};

/// The most of its standard error that is shown, in bytes.
const WORDS: usize = 400;

/// How a helper ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It exited, although nobody told it to.
    Exited {
        /// 0 to 255.
        code: u8,
        /// The end of its standard error.
        words: String,
    },
    /// A signal that is not ours ended it: it crashed, or the system ended it.
    Signaled {
        /// Its number.
        signal: i32,
        /// The end of its standard error.
        words: String,
    },
    /// It reached a limit.
    Limit(LimitKind),
    /// We ended it.
    Killed,
    /// The sandbox did not stand, or the program in it could not be started.
    NotStarted(String),
    /// It closed its sockets and went on; we ended it.
    Closed,
    /// Nobody knows.
    Unknown,
}

impl End {
    pub(crate) fn of(report: &Report) -> Self {
        let words = || last_words(report);
        match &report.outcome {
            OutcomeNote::Exited { code } => Self::Exited { code: *code, words: words() },
            OutcomeNote::Signaled { signal, .. } => Self::Signaled { signal: *signal, words: words() },
            OutcomeNote::Limit { which } => Self::Limit(*which),
            OutcomeNote::Cancelled => Self::Killed,
            OutcomeNote::TimedOut { .. } => Self::Killed,
            OutcomeNote::ExecFailed { errno } => Self::NotStarted(format!("execve fails with errno {errno}")),
            OutcomeNote::NotStarted => Self::NotStarted("it was refused".into()),
            OutcomeNote::LauncherFailed => {
                let fault = report.launch_fault.as_ref().map(|fault| fault.text.clone());
                Self::NotStarted(fault.unwrap_or_else(|| "the sandbox did not stand".into()))
            }
        }
    }
}

fn last_words(report: &Report) -> String {
    let Some(output) = &report.output else { return String::new() };
    let text = output.stderr.text.to_string();
    let start = text.len().saturating_sub(WORDS);
    let start = (start..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default().trim().to_owned()
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |f: &mut fmt::Formatter<'_>, words: &str| match words {
            "" => Ok(()),
            words => write!(f, ", and said: {words}"),
        };
        match self {
            Self::Exited { code, words } => {
                write!(f, "it exited with code {code}")?;
                said(f, words)
            }
            Self::Signaled { signal, words } => {
                write!(f, "signal {signal} ended it")?;
                said(f, words)
            }
            Self::Limit(LimitKind::Memory) => f.write_str("it used more memory than it may"),
            Self::Limit(LimitKind::Cpu) => f.write_str("it used more processor time than it may"),
            Self::Limit(LimitKind::FileSize) => f.write_str("it wrote a larger file than it may"),
            Self::Killed => f.write_str("it was ended"),
            Self::NotStarted(why) => write!(f, "it did not start: {why}"),
            Self::Closed => f.write_str("it closed its sockets"),
            Self::Unknown => f.write_str("nobody knows how"),
        }
    }
}
