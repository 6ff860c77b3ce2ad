//! Reads `/proc/self/mountinfo` (proc_pid_mountinfo(5)).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use confine_core::AbsPath;
use confine_core::policy::view::Mount;

/// Every line that is one; others are skipped (a mount outside the process's root has no usable path).
pub(crate) fn parse(mountinfo: &[u8]) -> impl Iterator<Item = Mount> + '_ {
    mountinfo.split(|byte| *byte == b'\n').filter_map(line)
}

fn line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    let device = String::from_utf8(fields.next()?.to_vec()).ok()?;
    let root = PathBuf::from(unescape(fields.next()?));
    let point = AbsPath::new(PathBuf::from(unescape(fields.next()?))).ok()?;
    // Optional fields end with a single hyphen.
    fields.any(|field| field == b"-").then_some(Mount { point, root, device })
}

/// The kernel writes space, tab, newline and backslash as three octal digits after a backslash.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        match octal(rest) {
            Some((byte, after)) => {
                bytes.push(byte);
                rest = after;
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes)
}

fn octal(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] = text else { return None };
    Some(((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt as _;

    #[test]
    fn escapes_and_optional_fields_are_understood() {
        let text =
            b"36 35 98:0 /mnt1\\040x /mnt\\0112\\134 rw,noatime master:1 shared:2 - ext3 /dev/root rw\n";
        let point = AbsPath::new("/mnt\t2\\").unwrap();
        let mount = Mount { point, root: "/mnt1 x".into(), device: "98:0".to_owned() };
        assert_eq!(parse(text).collect::<Vec<_>>(), [mount]);
    }

    #[test]
    fn this_host_has_a_root() {
        let text = std::fs::read("/proc/self/mountinfo").unwrap();
        assert!(parse(&text).any(|line| line.point == AbsPath::root()));
    }

    proptest! {
        #[test]
        fn no_text_panics(text: Vec<u8>) {
            parse(&text).count();
        }

        #[test]
        fn what_the_kernel_escapes_comes_back(name in proptest::collection::vec(1u8.., 0..40)) {
            let escaped: Vec<u8> = name
                .iter()
                .flat_map(|byte| match byte {
                    b' ' | b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
                    other => vec![*other],
                })
                .collect();
            let back = unescape(&escaped);
            prop_assert_eq!(back.as_bytes(), &name);
        }
    }
}
