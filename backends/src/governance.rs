//! How a backend answers for effects: one table of rows each, and the facts of a host.

use std::collections::BTreeMap;

use confine_core::probe::Unusable;
use confine_core::{Effect, Governed, Layer, Probe, Reason};

use crate::landlock::rights::FLOOR;

/// What a layer needs to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing.
    Nothing,
    /// A Landlock ABI at least as high, and never below the floor.
    Landlock(u32),
    /// System-call filters, and a table for the architecture.
    Seccomp,
    /// A caller that is not root.
    OrdinaryUser,
    /// Device nodes that the program cannot change.
    SafeNodes,
}

impl Need {
    pub(crate) fn is_met(self, probe: &Probe) -> bool {
        match self {
            Self::Nothing => true,
            Self::Landlock(abi) => probe.landlock.as_ref().is_ok_and(|have| *have >= abi.max(FLOOR)),
            Self::Seccomp => probe.seccomp.is_ok() && probe.arch.is_some(),
            Self::OrdinaryUser => probe.uid != 0,
            Self::SafeNodes => probe.device_nodes.is_ok(),
        }
    }
}

/// One effect: every need of `requires` must be met, and then each of the layers whose need is met enforces it alone.
pub(crate) struct Row {
    pub(crate) effect: Effect,
    pub(crate) requires: &'static [Need],
    pub(crate) layers: &'static [(Layer, Need)],
    pub(crate) otherwise: Otherwise,
}

/// What is said where nothing enforces it.
pub(crate) enum Otherwise {
    Detected(&'static str),
    NotGoverned(&'static str),
    Untestable(&'static str),
    /// Why device nodes can be changed.
    UnsafeNodes,
}

impl Row {
    fn answer(&self, probe: &Probe) -> Governed {
        let layers: Vec<Layer> =
            self.layers.iter().filter(|(_, need)| need.is_met(probe)).map(|(layer, _)| *layer).collect();
        if !layers.is_empty() && self.requires.iter().all(|need| need.is_met(probe)) {
            return Governed::Enforced { layers };
        }
        match self.otherwise {
            Otherwise::UnsafeNodes => match &probe.device_nodes {
                Err(Unusable { reason, .. }) => Governed::NotGoverned { reason: reason.clone() },
                Ok(()) => Governed::not("device nodes can be changed"),
            },
            Otherwise::Detected(reason) => Governed::Detected { reason: Reason::new(reason) },
            Otherwise::NotGoverned(reason) => Governed::not(reason),
            Otherwise::Untestable(reason) => Governed::Untestable { reason: Reason::new(reason) },
        }
    }
}

/// What a table says on such a host; where the backend is unusable, that is the reason for every effect.
pub(crate) fn answers<const N: usize>(
    tables: [&[Row]; N],
    usable: Result<(), &Reason>,
    probe: &Probe,
) -> BTreeMap<Effect, Governed> {
    let answer = |row: &Row| match usable {
        Ok(()) => row.answer(probe),
        Err(reason) => Governed::NotGoverned { reason: reason.clone() },
    };
    tables.into_iter().flatten().map(|row| (row.effect, answer(row))).collect()
}

/// The rows that every backend shares: what the stage and the runner do.
pub(crate) const SHARED: &[Row] = &[
    row(Effect::FsSetid, &[(Layer::Seccomp, Need::Seccomp)], NO_FILTER),
    row(Effect::FsExec, &[], "confine has no key for executing"),
    row(Effect::FsLock, &[], "a lock needs no more than reading"),
    row(Effect::FdInherit, &[(Layer::Descriptors, Need::Nothing)], ""),
    row(Effect::NetHost, &[], "only a proxy tells hosts apart, and there is none yet"),
    row(Effect::NetUnixPathNew, &[(Layer::Landlock, Need::Landlock(9))], NO_SOCKET_RIGHT),
    row(Effect::ProcKernel, &[(Layer::Seccomp, Need::Seccomp)], NO_FILTER),
    row(Effect::TtyInject, &[(Layer::Session, Need::Nothing), (Layer::Seccomp, Need::Seccomp)], ""),
    row(Effect::EnvLeak, &[(Layer::Environment, Need::Nothing)], ""),
    row(Effect::LimitTime, &[(Layer::Runner, Need::Nothing)], ""),
    row(Effect::LimitMemory, &[(Layer::Runner, Need::Nothing)], ""),
    row(
        Effect::LimitProcesses,
        &[(Layer::Rlimit, Need::OrdinaryUser)],
        "the kernel's limit on processes does not bind root",
    ),
    row(Effect::LimitFileSize, &[(Layer::Rlimit, Need::Nothing)], ""),
    row(Effect::LimitCpu, &[(Layer::Rlimit, Need::Nothing)], ""),
    row(Effect::LimitOpenFiles, &[(Layer::Rlimit, Need::Nothing)], ""),
];

pub(crate) const NO_FILTER: &str = "system-call filters are not available";
pub(crate) const NO_SOCKET_RIGHT: &str = "Landlock governs pathname sockets from ABI 9 only";

/// A row without a need of its own.
pub(crate) const fn row(effect: Effect, layers: &'static [(Layer, Need)], otherwise: &'static str) -> Row {
    Row { effect, requires: &[], layers, otherwise: Otherwise::NotGoverned(otherwise) }
}
