//! Whether the mounts are those of the plan (proc_pid_mountinfo(5)).
//!
//! bwrap resolves both ends of a mount by path, and whoever may write a directory above may swap it for a link in
//! between. What it shows then is found here, before the program starts.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use crate::failure::Failure;
use crate::plan::Bound;
use crate::status::Step;

/// Fails on the first bound path that is no mount of its own, and on the first writable mount elsewhere.
pub(crate) fn check(bound: &[Bound], writable: &[OsString]) -> Result<(), Failure> {
    if bound.is_empty() && writable.is_empty() {
        return Ok(());
    }
    let table = std::fs::read("/proc/self/mountinfo")
        .map_err(|_| Failure::words(Step::Verify, "there is no table of mounts"))?;
    let mounts: Vec<Mount> = parse(&table).collect();
    let points: BTreeSet<&Path> = mounts.iter().map(|mount| mount.point.as_path()).collect();
    let at = |path: &Path| Failure::at(Step::Verify, path, Errno::ESTALE);
    if let Some(unmounted) = bound.iter().find(|one| !points.contains(Path::new(&one.path))) {
        return Err(at(Path::new(&unmounted.path)));
    }
    let planned = |mount: &Mount| writable.iter().any(|path| mount.point.starts_with(path));
    let elsewhere = |mount: &&Mount| mount.writable && !planned(mount) && mount.is_in_view(&mounts, None);
    match mounts.iter().find(elsewhere) {
        Some(mount) if !writable.is_empty() => Err(at(&mount.point)),
        _ => Ok(()),
    }
}

struct Mount {
    id: u64,
    parent: u64,
    point: PathBuf,
    writable: bool,
}

impl Mount {
    /// Whether a path can lead into it, or into `below`, which is mounted on it: no other mount covers it, or what it is
    /// mounted on. bwrap cannot make read-only what another mount covers, and nobody can write it.
    fn is_in_view(&self, mounts: &[Self], below: Option<u64>) -> bool {
        let covers = |other: &Self| {
            let on_top = other.parent == self.id && other.point == self.point;
            let above = other.parent == self.parent
                && other.point != self.point
                && self.point.starts_with(&other.point);
            other.id != self.id && Some(other.id) != below && (on_top || above)
        };
        let parent = || mounts.iter().find(|other| other.id == self.parent && other.id != self.id);
        !mounts.iter().any(covers) && parent().is_none_or(|parent| parent.is_in_view(mounts, Some(self.id)))
    }
}

fn parse(table: &[u8]) -> impl Iterator<Item = Mount> + '_ {
    table.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ');
        let (id, parent) = (number(fields.next()?)?, number(fields.next()?)?);
        let mut fields = fields.skip(2);
        let point = PathBuf::from(unescape(fields.next()?));
        let writable = fields.next()?.split(|byte| *byte == b',').any(|option| option == b"rw");
        Some(Mount { id, parent, point, writable })
    })
}

fn number(field: &[u8]) -> Option<u64> {
    OsStr::from_bytes(field).to_str()?.parse().ok()
}

/// The kernel writes space, tab, newline and backslash as three octal digits after a backslash.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let code = rest.get(1..4).filter(|_| *first == b'\\').and_then(octal);
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { rest.get(4..).unwrap_or_default() } else { after };
    }
    OsString::from_vec(bytes)
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(OsStr::from_bytes(digits).to_str()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_and_options_are_read() {
        let table = b"36 35 98:0 /a /mnt\\040x\\134 rw,noatime shared:2 - ext3 /dev/root rw\n1 2 0:1 / /r ro,rw2 - x y rw\n";
        let mounts: Vec<Mount> = parse(table).collect();
        assert_eq!(mounts.len(), 2);
        assert_eq!((mounts[0].point.as_path(), mounts[0].writable), (Path::new("/mnt x\\"), true));
        assert!(!mounts[1].writable);
    }

    #[test]
    fn a_bound_path_that_is_no_mount_and_a_writable_mount_elsewhere_are_refused() {
        let unmounted = Bound { device: 0, inode: 0, path: "/proc/self".into() };
        assert!(check(&[unmounted], &[]).is_err());
        assert!(check(&[], &["/nowhere".into()]).is_err());
        assert!(check(&[], &["/".into()]).is_ok());
        assert!(check(&[], &[]).is_ok());
    }

    #[test]
    fn what_another_mount_covers_is_out_of_view() {
        let table = b"1 0 0:1 / / ro - x y rw\n2 1 0:1 / /dev ro - x y rw\n3 2 0:1 / /dev/shm rw - x y rw\n\
            4 3 0:1 / /dev/shm ro - x y rw\n5 2 0:1 / /dev rw - x y rw\n6 5 0:1 / /dev/shm rw - x y rw\n\
            7 1 0:1 / /a rw - x y rw\n8 1 0:1 / /a/b/c rw - x y rw\n9 7 0:1 / /a/b rw - x y rw\n";
        let mounts: Vec<Mount> = parse(table).collect();
        let in_view = mounts.iter().filter(|mount| mount.is_in_view(&mounts, None)).map(|mount| mount.id);
        assert_eq!(in_view.collect::<Vec<_>>(), [1, 5, 6, 7, 9]);
    }

    proptest::proptest! {
        #[test]
        fn no_table_panics(table: Vec<u8>) {
            parse(&table).count();
        }
    }
}
