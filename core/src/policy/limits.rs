//! The limits of a resolved policy.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Effect, Effects};

/// What happens to processes that are left when the program ends: ended and listed either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Background {
    /// Nothing more.
    #[default]
    End,
    /// It is a violation.
    Deny,
}

/// Limits; `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// Wall-clock time, by the runner.
    pub time: Option<Duration>,
    /// Resident bytes of the whole tree, by sampling.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Processor time of each process, in whole seconds (RLIMIT_CPU).
    pub cpu: Option<Duration>,
    /// Bytes of one file (RLIMIT_FSIZE).
    pub file_size: Option<u64>,
    /// Open files of each process (RLIMIT_NOFILE).
    pub open_files: Option<u64>,
    /// Processes left at the end.
    pub background: Background,
}

impl Limits {
    /// The effects that this part needs.
    pub fn needs(&self) -> Effects {
        [
            (self.time.is_some(), Effect::LimitTime),
            (self.memory.is_some(), Effect::LimitMemory),
            (self.processes.is_some(), Effect::LimitProcesses),
            (self.cpu.is_some(), Effect::LimitCpu),
            (self.file_size.is_some(), Effect::LimitFileSize),
            (self.open_files.is_some(), Effect::LimitOpenFiles),
        ]
        .into_iter()
        .filter_map(|(set, effect)| set.then_some(effect))
        .collect()
    }
}
