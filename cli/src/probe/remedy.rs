//! What helps where an effect is not enforced: another backend that is usable here, else what the effect itself wants.

use confine_core::{Effect, Governed};

use super::found::Backend;

/// What an effect wants that no backend here gives. A table; an effect that is not in it has no remedy.
const WANTS: &[(Effect, &str)] = &[
    (
        Effect::FsCarveOutNew,
        "`missing-protected = \"refuse\"` in the policy refuses to run while a protected name is missing",
    ),
    (Effect::FsSymlink, LANDLOCK),
    (Effect::NetUnixPath, "install bubblewrap, or use a kernel with Landlock ABI 9"),
    (
        Effect::NetUnixPathNew,
        "use a kernel with Landlock ABI 9, or keep sockets that matter in hidden directories",
    ),
    (Effect::NetUnixAbstract, "use Linux 6.12 or later with Landlock (ABI 6), or install bubblewrap"),
    (Effect::ProcSignal, "use Linux 6.12 or later with Landlock (ABI 6), or install bubblewrap"),
    (Effect::IdsMapped, "run confine as the user whose files they are"),
    (Effect::LimitProcesses, "run confine as an ordinary user: the kernel's limit binds those"),
    (Effect::FsHide, BWRAP),
    (Effect::FsMetadata, BWRAP),
    (Effect::FsCarveOut, BWRAP),
    (Effect::FsDevice, BWRAP),
    (Effect::ProcSee, BWRAP),
    (Effect::ProcSysctl, BWRAP),
    (Effect::IpcSysv, BWRAP),
];
const LANDLOCK: &str =
    "use a kernel with CONFIG_SECURITY_LANDLOCK, and `landlock` in the list after `lsm=` on its command line";
const BWRAP: &str = "install bubblewrap, and allow user namespaces";

/// Gives each row of a usable backend its remedy; an unusable one has a single remedy for all.
pub(super) fn fill(backends: &mut [Backend]) {
    let enforced: Vec<_> =
        backends.iter().filter(|one| one.usable).map(|one| (one.id.clone(), one.enforced())).collect();
    for backend in backends.iter_mut().filter(|backend| backend.usable) {
        for (effect, row) in &mut backend.effects {
            if matches!(row.governed, Governed::Enforced { .. } | Governed::Untestable { .. }) {
                continue;
            }
            let other = enforced.iter().find(|(id, effects)| *id != backend.id && effects.contains(*effect));
            let other = other.map(|(id, _)| format!("`--backend {id}` enforces it"));
            row.remedy = other.or_else(|| wanted(*effect));
        }
    }
}

fn wanted(effect: Effect) -> Option<String> {
    WANTS.iter().find(|(one, _)| *one == effect).map(|(_, text)| (*text).to_owned())
}
