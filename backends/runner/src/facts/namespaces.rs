//! Whether user namespaces may be made (user_namespaces(7)), as far as files say.

use std::path::Path;

use confine_core::Reason;
use confine_core::probe::Unusable;
use nix::unistd::Uid;
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

use super::MARKER;
use crate::view::{mountinfo, table};

const LIMIT: &str = "/proc/sys/user/max_user_namespaces";
/// Debian's and Arch's patch: 0 takes them from ordinary users.
const CLONE: &str = "/proc/sys/kernel/unprivileged_userns_clone";
/// AppArmor 4 (Ubuntu 23.10 and later): 1 takes the capabilities inside from programs without a profile.
const APPARMOR: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

pub(super) fn here() -> Result<(), Unusable> {
    if !Path::new("/proc/self").exists() {
        return Err(Unusable::new("`/proc` is not mounted", "mount -t proc proc /proc"));
    }
    if !Path::new("/proc/self/ns/user").exists() {
        return Err(Unusable::new("the kernel has no user namespaces", "use a kernel with CONFIG_USER_NS"));
    }
    if number(LIMIT) == Some(0) {
        return Err(Unusable::new(
            "no user namespace may be made here: `user.max_user_namespaces` is 0",
            "sysctl -w user.max_user_namespaces=10000, in the namespace that set it to 0",
        ));
    }
    if !Uid::effective().is_root() && number(CLONE) == Some(0) {
        return Err(Unusable::new(
            "ordinary users may make no user namespace: `kernel.unprivileged_userns_clone` is 0",
            "sysctl -w kernel.unprivileged_userns_clone=1",
        ));
    }
    if is_chroot() {
        return Err(Unusable::new(
            "the process is in a chroot, where the kernel refuses user namespaces",
            "start confine outside it, or make its root with pivot_root(2)",
        ));
    }
    Ok(())
}

/// The next step after a launch could not set its namespaces up although the facts allowed it.
pub fn launch_hint() -> Option<Reason> {
    if std::env::var_os(MARKER).is_some() {
        return Some(Reason::new(
            "this is inside a sandbox of confine's already, where bwrap cannot start: use `--backend landlock`",
        ));
    }
    if !Uid::effective().is_root() && number(APPARMOR) == Some(1) {
        return Some(Reason::new(
            "AppArmor restricts user namespaces: give bwrap a profile with `userns`, or sysctl -w \
             kernel.apparmor_restrict_unprivileged_userns=0",
        ));
    }
    None
}

/// statx(2) tells whether `/` is the root of a mount (Linux 5.8) without the list of all mounts, which costs 0.1 ms.
pub(super) fn is_chroot() -> bool {
    match statx(CWD, "/", AtFlags::empty(), StatxFlags::empty()) {
        Ok(root) if root.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) => {
            !root.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
        }
        _ => in_chroot(&table("/proc/self/mountinfo")),
    }
}

/// mountinfo lists what is reachable from the process's root. After chroot(2) into an ordinary directory nothing is
/// mounted at `/` (a chroot into a mount point looks like any root: a launch tells).
fn in_chroot(mountinfo: &[u8]) -> bool {
    let mut lines = mountinfo::parse(mountinfo).peekable();
    lines.peek().is_some() && !lines.any(|line| line.point.as_path() == Path::new("/"))
}

fn number(file: &str) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_judged_as_by_the_list_of_mounts() {
        assert_eq!(is_chroot(), in_chroot(&table("/proc/self/mountinfo")));
    }

    #[test]
    fn a_root_that_is_no_mount_point_is_a_chroot() {
        assert!(in_chroot(b"22 27 0:21 / /proc rw - proc proc rw\n"));
        assert!(!in_chroot(b"27 1 254:0 / / rw - ext4 /dev/vda rw\n22 27 0:21 / /proc rw - proc proc rw\n"));
        assert!(!in_chroot(b""), "without /proc nothing is known");
    }
}
