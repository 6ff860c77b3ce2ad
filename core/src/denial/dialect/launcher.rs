//! How the launcher's own failures are told from the program's, where there is no record.

use super::file;
use crate::backend::RunnerFailure;

/// Lines of the beginning that are looked at, and as many of the end.
const LINES: usize = 256;

impl file::Launcher {
    /// As plans have it.
    pub(super) fn runner_failure(&self) -> RunnerFailure {
        RunnerFailure {
            exit_codes: self.exit_codes.clone(),
            prefixes: self.prefixes.clone(),
            informational: self.informational.clone(),
        }
    }

    /// The line that says that the launcher failed.
    pub(super) fn failure<'a>(&self, exit: u8, stderr: &'a [u8]) -> Option<&'a [u8]> {
        if !self.exit_codes.contains(&exit) {
            return None;
        }
        let told = |line: &&[u8]| {
            let begins = |prefix: &String| line.starts_with(prefix.as_bytes());
            !self.informational.iter().any(|one| one.as_bytes() == *line) && self.prefixes.iter().any(begins)
        };
        let lines =
            || stderr.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let first = lines().take(LINES).find(told);
        first.or_else(|| lines().rev().take(LINES).find(told))
    }
}
