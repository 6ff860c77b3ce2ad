//! Whether a directory lets a user without capabilities pass: owner, groups and mode bits (path_resolution(7)).

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::unistd::{Gid, Uid, getgroups};
use rustix::io::Errno;

const GROUP: u32 = 0o010;
const OTHERS: u32 = 0o001;
/// Where a directory's access control list is kept (acl(5)): the group's bits are its upper bound.
const LIST: &str = "system.posix_acl_access";
/// Those of network file systems, which the mode need not show.
const REMOTE: &[&str] = &["system.nfs4_acl", "system.cifs_acl"];

/// Whether the user `uid`, with this process's groups, may search `directory`, or could come to without a capability:
/// its owner can change its mode, and a group can be left in a user namespace. `true` in doubt.
pub(super) fn may_pass(directory: &Path, uid: Uid) -> bool {
    let Ok(metadata) = directory.symlink_metadata() else { return true };
    let mode = metadata.mode();
    if metadata.uid() == uid.as_raw() || mode & OTHERS != 0 {
        return true;
    }
    let by_group = mode & GROUP != 0;
    (by_group && (is_member(Gid::from_raw(metadata.gid())) || may_have(directory, LIST)))
        || REMOTE.iter().any(|list| may_have(directory, list))
}

fn is_member(group: Gid) -> bool {
    Gid::effective() == group || getgroups().is_ok_and(|groups| groups.contains(&group))
}

fn may_have(directory: &Path, list: &str) -> bool {
    let mut nothing: [u8; 0] = [];
    let found = rustix::fs::lgetxattr(directory, list, &mut nothing);
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, chown};

    const NOBODY: u32 = 65534;

    fn directory(mode: u32, owner: u32, group: u32) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        chown(directory.path(), Some(owner), Some(group)).unwrap();
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        directory
    }

    #[test]
    fn only_what_neither_mode_nor_group_nor_ownership_opens_is_closed() {
        if !Uid::effective().is_root() {
            eprintln!("SKIP only_what_neither_mode_nor_group_nor_ownership_opens_is_closed: not root");
            return;
        }
        let own = Gid::effective().as_raw();
        let rows = [
            (0o700, NOBODY, NOBODY, false),
            (0o766, NOBODY, NOBODY, false),
            (0o750, NOBODY, NOBODY, false),
            (0o701, NOBODY, NOBODY, true),
            (0o750, NOBODY, own, true),
            (0o740, NOBODY, own, false),
            // The group could be left.
            (0o701, NOBODY, own, true),
            // Its owner can open it.
            (0o000, 0, 0, true),
        ];
        for (mode, owner, group, expected) in rows {
            let directory = directory(mode, owner, group);
            let passes = may_pass(directory.path(), Uid::effective());
            assert_eq!(passes, expected, "{mode:o} of {owner}:{group}");
        }
        assert!(may_pass(Path::new("/nonexistent"), Uid::effective()), "in doubt");
    }

    #[test]
    fn an_access_control_list_leaves_it_in_doubt_unless_the_mode_bounds_it() {
        let lists = directory(0o750, Uid::effective().as_raw(), Gid::effective().as_raw());
        // Version 2; the owner rwx, uid 12345 --x, the group ---, the mask --x, others --- (linux/posix_acl_xattr.h).
        let entries: [(u16, u16, u32); 5] =
            [(1, 7, u32::MAX), (2, 1, 12345), (4, 0, u32::MAX), (0x10, 1, u32::MAX), (0x20, 0, u32::MAX)];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            list.extend([tag.to_le_bytes(), permissions.to_le_bytes()].concat());
            list.extend(id.to_le_bytes());
        }
        let set = rustix::fs::setxattr(lists.path(), LIST, &list, rustix::fs::XattrFlags::empty());
        if set.is_err() {
            eprintln!("SKIP an_access_control_list_…: the file system has none");
            return;
        }
        // For some other user, that is.
        let other = Uid::from_raw(Uid::effective().as_raw() + 4321);
        assert!(may_pass(lists.path(), other));
        std::fs::set_permissions(lists.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!may_pass(lists.path(), other));
    }
}
