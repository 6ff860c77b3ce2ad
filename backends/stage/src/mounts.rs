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
    let planned = |mount: &&Mount| writable.iter().any(|path| mount.point.starts_with(path));
    match mounts.iter().filter(|mount| mount.writable).find(|mount| !planned(mount)) {
        Some(elsewhere) if !writable.is_empty() => Err(at(&elsewhere.point)),
        _ => Ok(()),
    }
}

struct Mount {
    point: PathBuf,
    writable: bool,
}

fn parse(table: &[u8]) -> impl Iterator<Item = Mount> + '_ {
    table.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ').skip(4);
        let point = PathBuf::from(unescape(fields.next()?));
        let writable = fields.next()?.split(|byte| *byte == b',').any(|option| option == b"rw");
        Some(Mount { point, writable })
    })
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

    proptest::proptest! {
        #[test]
        fn no_table_panics(table: Vec<u8>) {
            parse(&table).count();
        }
    }
}
