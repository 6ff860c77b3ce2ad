//! What namespaces, mounts and the stage enforce together.

use confine_core::{Effect, Layer};

use crate::governance::{NO_FILTER, Need, Otherwise, Row, row};

const MOUNT: (Layer, Need) = (Layer::Mount, Need::Nothing);
const NAMESPACE: (Layer, Need) = (Layer::Namespace, Need::Nothing);
const SECCOMP: (Layer, Need) = (Layer::Seccomp, Need::Seccomp);
const LANDLOCK: (Layer, Need) = (Layer::Landlock, Need::Landlock(3));
const SCOPE: (Layer, Need) = (Layer::Landlock, Need::Landlock(6));

/// Rows of its own; the rest are the shared ones.
pub(super) const OWN: &[Row] = &[
    row(Effect::FsRead, &[MOUNT, LANDLOCK], ""),
    row(Effect::FsHide, &[MOUNT], ""),
    row(Effect::FsWrite, &[MOUNT, LANDLOCK], ""),
    row(Effect::FsTruncate, &[MOUNT, LANDLOCK], ""),
    row(Effect::FsRename, &[MOUNT, LANDLOCK], ""),
    with_safe_nodes(Effect::FsMetadata, &[(Layer::Mount, Need::SafeNodes)]),
    row(Effect::FsCarveOut, &[MOUNT], ""),
    Row {
        effect: Effect::FsCarveOutNew,
        requires: &[],
        layers: &[],
        otherwise: Otherwise::Detected(
            "compared after the run, and moved away where it appeared; only inside an existing `.git` it is prevented",
        ),
    },
    row(Effect::FsDevice, &[MOUNT, LANDLOCK], ""),
    row(Effect::FsSymlink, &[LANDLOCK], "only Landlock tells links from files, from ABI 3"),
    with_safe_nodes(Effect::FdStdio, &[(Layer::Descriptors, Need::SafeNodes)]),
    row(Effect::NetTcp, &[NAMESPACE], ""),
    row(Effect::NetUdp, &[NAMESPACE], ""),
    row(Effect::NetUnixPath, &[MOUNT], ""),
    row(Effect::NetUnixAbstract, &[NAMESPACE, SCOPE], ""),
    // A namespace alone leaves vsock and io_uring.
    Row {
        effect: Effect::NetOther,
        requires: &[Need::Seccomp],
        layers: &[NAMESPACE, SECCOMP],
        otherwise: Otherwise::NotGoverned(NO_FILTER),
    },
    row(Effect::ProcSee, &[NAMESPACE], ""),
    row(Effect::ProcSignal, &[NAMESPACE, SCOPE], ""),
    row(Effect::ProcTrace, &[NAMESPACE, LANDLOCK], ""),
    row(
        Effect::ProcPrivilege,
        &[(Layer::Capabilities, Need::Nothing), NAMESPACE, (Layer::NoNewPrivs, Need::Nothing)],
        "",
    ),
    row(Effect::ProcSysctl, &[MOUNT, LANDLOCK], ""),
    row(Effect::ProcNamespace, &[NAMESPACE, SECCOMP], ""),
    row(Effect::IpcSysv, &[NAMESPACE], ""),
    row(Effect::Orphan, &[NAMESPACE, (Layer::Reaper, Need::Nothing)], ""),
    row(
        Effect::IdsMapped,
        &[],
        "only the caller's own user is mapped: files of others show as 65534 and cannot be given away",
    ),
];

/// Root owns the device nodes in sight: it may change their mode and times unless they are on read-only mounts.
const fn with_safe_nodes(effect: Effect, layers: &'static [(Layer, Need)]) -> Row {
    Row { effect, requires: &[], layers, otherwise: Otherwise::UnsafeNodes }
}
