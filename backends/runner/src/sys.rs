//! The one system call that no crate has a safe function for: which Landlock the kernel has.
//!
//! landlock(7) keeps the number to itself in the `landlock` crate, and how the kernel refuses tells why.

#![allow(unsafe_code, reason = "a raw system call, see the module's first line")]

use nix::errno::Errno;

/// `LANDLOCK_CREATE_RULESET_VERSION`, landlock_create_ruleset(2).
const VERSION: libc::c_uint = 1;

/// The kernel's Landlock ABI, from 1 (Linux 5.13).
///
/// # Errors
/// `ENOSYS` where the kernel has no Landlock, `EOPNOTSUPP` where it is off since boot; whatever a filter around this
/// process says.
pub(crate) fn landlock_abi() -> Result<u32, Errno> {
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes a null pointer of size 0, reads no memory and makes no descriptor.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    Errno::result(abi).and_then(|abi| u32::try_from(abi).map_err(|_| Errno::ERANGE))
}
