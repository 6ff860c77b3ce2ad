//! What a profile enforces on macOS, by what its language says.

use confine_core::{Effect, Layer};

use crate::governance::{Need, Otherwise, Row, row};

const SEATBELT: (Layer, Need) = (Layer::Seatbelt, Need::Nothing);

const NO_STAGE: &str = "there is no stage on macOS that looks after descriptors";
const NO_LIMITS: &str = "there is neither a stage nor a runner on macOS to set limits";

/// Not tried: a word of the language that may or may not cover all of the effect.
const fn untried(effect: Effect, reason: &'static str) -> Row {
    Row { effect, requires: &[], layers: &[], otherwise: Otherwise::Untestable(reason) }
}

pub(super) const OWN: &[Row] = &[
    row(Effect::FsRead, &[SEATBELT], ""),
    row(Effect::FsHide, &[SEATBELT], ""),
    row(Effect::FsWrite, &[SEATBELT], ""),
    row(Effect::FsTruncate, &[SEATBELT], ""),
    row(Effect::FsRename, &[SEATBELT], ""),
    row(Effect::FsMetadata, &[SEATBELT], ""),
    untried(
        Effect::FsSetid,
        "`file-write-setugid` is denied; nobody has tried whether that covers a file made with those bits",
    ),
    row(Effect::FsCarveOut, &[SEATBELT], ""),
    row(
        Effect::FsCarveOutNew,
        &[],
        "missing names are denied as they are spelled, and most volumes of macOS take other capitals for the same name",
    ),
    row(Effect::FsDevice, &[SEATBELT], ""),
    row(Effect::FsSymlink, &[SEATBELT], ""),
    row(Effect::FsExec, &[], "confine has no key for executing"),
    row(Effect::FsLock, &[], "a lock needs no more than reading"),
    row(Effect::FdInherit, &[], NO_STAGE),
    row(Effect::FdStdio, &[], NO_STAGE),
    row(Effect::NetTcp, &[SEATBELT], ""),
    row(Effect::NetUdp, &[SEATBELT], ""),
    row(Effect::NetHost, &[], "only a proxy tells hosts apart, and there is none yet"),
    row(Effect::NetUnixPath, &[SEATBELT], ""),
    row(Effect::NetUnixPathNew, &[SEATBELT], ""),
    // macOS has none; the rule against every other socket stands.
    row(Effect::NetUnixAbstract, &[SEATBELT], ""),
    row(Effect::NetOther, &[SEATBELT], ""),
    row(Effect::ProcSee, &[SEATBELT], ""),
    row(Effect::ProcSignal, &[SEATBELT], ""),
    untried(
        Effect::ProcTrace,
        "task ports of others are denied; nobody has tried whether ptrace(2) is refused as well",
    ),
    // The kernel refuses set-id programs below a profile; root itself stays root.
    row(
        Effect::ProcPrivilege,
        &[(Layer::Seatbelt, Need::OrdinaryUser)],
        "there are no capabilities to drop: root stays root inside",
    ),
    row(Effect::ProcSysctl, &[SEATBELT], ""),
    row(Effect::ProcNamespace, &[SEATBELT], ""),
    row(Effect::ProcKernel, &[], "a profile names operations, not system calls"),
    row(Effect::IpcSysv, &[SEATBELT], ""),
    untried(
        Effect::TtyInject,
        "`file-ioctl` is denied; nobody has tried whether that covers a terminal that is open already",
    ),
    row(Effect::EnvLeak, &[(Layer::Environment, Need::Nothing)], ""),
    row(Effect::Orphan, &[], "nothing on macOS ends a tree of processes with its parent"),
    row(Effect::IdsMapped, &[], "there is no user namespace"),
    row(Effect::LimitTime, &[], NO_LIMITS),
    row(Effect::LimitMemory, &[], NO_LIMITS),
    row(Effect::LimitProcesses, &[], NO_LIMITS),
    row(Effect::LimitFileSize, &[], NO_LIMITS),
    row(Effect::LimitCpu, &[], NO_LIMITS),
    row(Effect::LimitOpenFiles, &[], NO_LIMITS),
];
