//! What Landlock, seccomp and the stage enforce without namespaces and mounts.

use confine_core::{Effect, Layer};

use crate::governance::{NO_FILTER, NO_SOCKET_RIGHT, Need, Otherwise, Row, row};

const LANDLOCK: (Layer, Need) = (Layer::Landlock, Need::Landlock(3));
const SCOPE: (Layer, Need) = (Layer::Landlock, Need::Landlock(6));
const SECCOMP: (Layer, Need) = (Layer::Seccomp, Need::Seccomp);

const NO_SCOPES: &str = "Landlock has scopes from ABI 6 only";

/// Rows of its own; the rest are the shared ones.
pub(super) const OWN: &[Row] = &[
    row(Effect::FsRead, &[LANDLOCK], ""),
    row(Effect::FsHide, &[], "Landlock rules only add up: what lies below a read grant stays readable"),
    row(Effect::FsWrite, &[LANDLOCK], ""),
    row(Effect::FsTruncate, &[LANDLOCK], ""),
    row(Effect::FsRename, &[LANDLOCK], ""),
    row(Effect::FsMetadata, &[], "Landlock does not govern mode, owner, times and extended attributes"),
    row(Effect::FsCarveOut, &[], "Landlock rules only add up: what lies below a write grant stays writable"),
    row(Effect::FsCarveOutNew, &[], "there is no mount to put in the way"),
    // Root reads its own device nodes below a read grant on `/`; an ordinary user is refused by their modes.
    Row {
        effect: Effect::FsDevice,
        requires: &[Need::OrdinaryUser],
        layers: &[(Layer::Landlock, Need::Landlock(5))],
        otherwise: Otherwise::NotGoverned(
            "below a read grant root can read every device node, and ioctl is governed from ABI 5 only",
        ),
    },
    row(Effect::FsSymlink, &[LANDLOCK], ""),
    row(
        Effect::FdStdio,
        &[(Layer::Descriptors, Need::OrdinaryUser)],
        "root owns the host's device nodes: through a descriptor on one it may change its mode and times",
    ),
    row(Effect::NetTcp, &[(Layer::Landlock, Need::Landlock(4)), SECCOMP], NO_FILTER),
    row(Effect::NetUdp, &[SECCOMP], NO_FILTER),
    row(Effect::NetUnixPath, &[(Layer::Landlock, Need::Landlock(9))], NO_SOCKET_RIGHT),
    row(Effect::NetUnixAbstract, &[SCOPE], NO_SCOPES),
    row(Effect::NetOther, &[SECCOMP], NO_FILTER),
    row(Effect::ProcSee, &[], "there is no pid namespace"),
    row(Effect::ProcSignal, &[SCOPE], NO_SCOPES),
    row(Effect::ProcTrace, &[LANDLOCK], ""),
    row(
        Effect::ProcPrivilege,
        &[(Layer::Capabilities, Need::Nothing), (Layer::NoNewPrivs, Need::Nothing)],
        "",
    ),
    // /proc/sys is not writable for anyone; kernel tables are readable for root.
    Row {
        effect: Effect::ProcSysctl,
        requires: &[Need::OrdinaryUser],
        layers: &[LANDLOCK],
        otherwise: Otherwise::NotGoverned("root can read kernel tables in /proc; writing there is refused"),
    },
    row(Effect::ProcNamespace, &[SECCOMP], NO_FILTER),
    row(Effect::IpcSysv, &[], "there is no IPC namespace, and /dev/shm is shared with the host"),
    Row {
        effect: Effect::Orphan,
        requires: &[],
        layers: &[(Layer::Reaper, Need::Landlock(6))],
        otherwise: Otherwise::Detected("below ABI 6 the program can stop the reaper with a signal"),
    },
    row(Effect::IdsMapped, &[], "there is no user namespace"),
];
