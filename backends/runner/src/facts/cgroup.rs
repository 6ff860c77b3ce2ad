//! Finds a control group in which the caller may make groups of its own (cgroups(7), version 2).

use std::path::Path;

use confine_core::AbsPath;
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, faccessat};

use crate::view::mountinfo;

/// The controllers that a group of ours needs.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// The nearest group above this process that the caller may write and that hands `memory` and `pids` down: a process
/// moves into a new group below it without breaking the rule that inner groups hold no processes.
pub(super) fn delegated() -> Option<AbsPath> {
    let groups = std::fs::read("/proc/self/cgroup").ok()?;
    let own = own_group(&groups)?;
    let mounts = std::fs::read("/proc/self/mountinfo").ok()?;
    let mount = mountinfo::parse(&mounts).find(|line| line.file_system == "cgroup2")?;
    let below = own.as_path().strip_prefix(&mount.root).ok()?;
    let directory = mount.point.join(below).ok()?;
    directory
        .ancestors()
        .take_while(|above| above.is_within(&mount.point))
        .find(|group| usable(group.as_path()))
}

/// The line of the unified hierarchy: `0::/path`.
fn own_group(groups: &[u8]) -> Option<AbsPath> {
    let text = std::str::from_utf8(groups).ok()?;
    AbsPath::new(text.lines().find_map(|line| line.strip_prefix("0::"))?).ok()
}

fn usable(group: &Path) -> bool {
    let writable = |path: &Path| faccessat(AT_FDCWD, path, AccessFlags::W_OK, AtFlags::AT_EACCESS).is_ok();
    let handed_down = std::fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    let has = |controller: &&str| handed_down.split_whitespace().any(|one| one == *controller);
    CONTROLLERS.iter().all(has) && writable(group) && writable(&group.join("cgroup.procs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_unified_hierarchy_is_the_line_with_number_0() {
        let groups = b"4:memory:/a\n0::/user.slice/b\n";
        assert_eq!(own_group(groups), Some(AbsPath::new("/user.slice/b").unwrap()));
        assert_eq!(own_group(b"4:memory:/a\n"), None);
        assert_eq!(own_group(b"0::/../outside\n"), None, "outside this cgroup namespace");
    }

    proptest! {
        #[test]
        fn a_list_of_groups_never_panics(groups: Vec<u8>) {
            own_group(&groups);
        }
    }
}
