//! Reads `/proc/net/unix` (proc_net(5), unix(7)): which pathname sockets a program could talk to.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use confine_core::AbsPath;

/// `__SO_ACCEPTCON`: listen(2) was called.
const LISTENING: u32 = 0x1_0000;
/// `SOCK_DGRAM`: takes messages without listening.
const DATAGRAM: u32 = 2;

/// The absolute paths of sockets that listen or take datagrams, each once, in order. Sockets of other network
/// namespaces are not in the file.
pub(super) fn parse(table: &[u8]) -> Vec<AbsPath> {
    let mut sockets: Vec<AbsPath> = records(table).into_iter().filter_map(Record::reachable).collect();
    sockets.sort();
    sockets.dedup();
    sockets
}

struct Record {
    flags: u32,
    kind: u32,
    path: Vec<u8>,
}

impl Record {
    fn reachable(self) -> Option<AbsPath> {
        let reachable = self.flags & LISTENING != 0 || self.kind == DATAGRAM;
        // Abstract names begin with `@`; a relative one says nothing without its process's directory.
        if !reachable || self.path.first() != Some(&b'/') {
            return None;
        }
        AbsPath::new(PathBuf::from(OsString::from_vec(self.path))).ok()
    }

    /// `address: references protocol flags type state inode path`, numbers in hexadecimal but the inode.
    fn header(line: &[u8]) -> Option<Self> {
        let mut fields = Fields(line);
        let address = fields.next()?.strip_suffix(b":")?;
        number(address)?;
        let (_references, _protocol) = (number(fields.next()?)?, number(fields.next()?)?);
        let flags = u32::try_from(number(fields.next()?)?).ok()?;
        let kind = u32::try_from(number(fields.next()?)?).ok()?;
        let (_state, _inode) = (number(fields.next()?)?, fields.next()?);
        Some(Self { flags, kind, path: fields.0.strip_prefix(b" ").unwrap_or_default().to_vec() })
    }
}

/// The kernel does not escape: a line that is no header goes on with the path above it.
fn records(table: &[u8]) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for line in table.strip_suffix(b"\n").unwrap_or(table).split(|byte| *byte == b'\n') {
        match (Record::header(line), records.last_mut()) {
            (Some(record), _) => records.push(record),
            (None, Some(above)) => {
                above.path.push(b'\n');
                above.path.extend_from_slice(line);
            }
            (None, None) => {}
        }
    }
    records
}

/// Fields separated by any number of spaces; what is not taken keeps its leading space.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|byte| *byte != b' ')?;
        let rest = self.0.get(start..)?;
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        let (field, rest) = rest.split_at_checked(end)?;
        self.0 = rest;
        Some(field)
    }
}

fn number(hexadecimal: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(hexadecimal).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE: &[u8] = b"Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/listening socket
0000000000000000: 00000003 00000000 00000000 0001 03 12346 /run/connected
0000000000000000: 00000002 00000000 00000000 0002 01 12347 /run/datagram
0000000000000000: 00000002 00000000 00010000 0001 01 12348 @abstract
0000000000000000: 00000002 00000000 00010000 0001 01 12349 relative
0000000000000000: 00000002 00000000 00010000 0001 01 12350
0000000000000000: 00000002 00000000 00010000 0001 01 12351 /run/two
lines
";

    #[test]
    fn listening_and_datagram_pathname_sockets_are_found() {
        let expected = ["/run/datagram", "/run/listening socket", "/run/two\nlines"];
        assert_eq!(parse(TABLE), expected.map(|path| AbsPath::new(path).unwrap()));
    }

    #[test]
    fn a_real_listener_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("a b\nc");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let table = std::fs::read("/proc/net/unix").unwrap();
        assert!(parse(&table).contains(&AbsPath::new(&path).unwrap()));
    }

    proptest! {
        #[test]
        fn no_table_panics(table: Vec<u8>) {
            parse(&table);
        }

        #[test]
        fn no_text_after_a_header_panics(line in "[0-9a-f: /@\n]{0,80}") {
            parse(line.as_bytes());
        }
    }
}
