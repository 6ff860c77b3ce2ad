//! The system-call filter, installed last: whatever it refuses, the stage needs no more but write(2) and execve(2).

use nix::errno::Errno;

use crate::failure::Failure;
use crate::status::Step;
use crate::sys;

/// Bytes of `struct sock_filter`.
const RECORD: usize = 8;

/// Reads the plan's bytes.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<libc::sock_filter>, Failure> {
    let (records, []) = bytes.as_chunks::<RECORD>() else {
        return Err(Failure::of(Step::Seccomp, "a part of a record")(Errno::EINVAL));
    };
    Ok(records.iter().map(|[a, b, jt, jf, k @ ..]| record([*a, *b], *jt, *jf, *k)).collect())
}

/// Filters this process and all that come of it.
pub(crate) fn install(program: &mut [libc::sock_filter]) -> Result<(), Failure> {
    sys::install_filter(program).map_err(Failure::of(Step::Seccomp, "seccomp"))
}

fn record(code: [u8; 2], jt: u8, jf: u8, k: [u8; 4]) -> libc::sock_filter {
    libc::sock_filter { code: u16::from_ne_bytes(code), jt, jf, k: u32::from_ne_bytes(k) }
}
