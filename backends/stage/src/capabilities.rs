//! Capabilities: none are left in any set.
//!
//! A sandbox started by root keeps all of them unless somebody drops them, and with them the masks can be unmounted.

use nix::errno::Errno;

use crate::failure::Failure;
use crate::status::Step;
use crate::sys::{self, CapabilitySets};

/// CAP_SETPCAP, as a bit.
const SETPCAP: u32 = 1 << 8;

/// Root is nobody, for good: an execve(2) by uid 0 gives no capability back.
const SECUREBITS: i32 = libc::SECBIT_NOROOT
    | libc::SECBIT_NOROOT_LOCKED
    | libc::SECBIT_NO_SETUID_FIXUP
    | libc::SECBIT_NO_SETUID_FIXUP_LOCKED
    | libc::SECBIT_KEEP_CAPS_LOCKED
    | libc::SECBIT_NO_CAP_AMBIENT_RAISE
    | libc::SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

/// Takes from this process what an execve(2) could give back: bounding set and securebits.
///
/// In the program's process alone: it costs a hundred microseconds, and the stage never calls execve(2). It takes no
/// right that is there. Without CAP_SETPCAP both stay as they are, and no_new_privs keeps them without effect.
pub(crate) fn bound() -> Result<(), Failure> {
    let own = sys::capabilities().map_err(refused("capget"))?;
    let [low, high] = own;
    if low.permitted & SETPCAP == 0 {
        return Ok(());
    }
    let raised = CapabilitySets { effective: low.effective | SETPCAP, ..low };
    sys::set_capabilities([raised, high]).map_err(refused("capset"))?;
    drop_bounding()?;
    let bits = u64::try_from(SECUREBITS).unwrap_or(0);
    sys::prctl(libc::PR_SET_SECUREBITS, [bits, 0]).map_err(refused("securebits"))?;
    sys::set_capabilities(own).map_err(refused("capset"))
}

/// Drops every capability of this process that is there: ambient, inheritable, permitted, effective.
pub(crate) fn drop_all() -> Result<(), Failure> {
    let clear = u64::try_from(libc::PR_CAP_AMBIENT_CLEAR_ALL).unwrap_or(0);
    sys::prctl(libc::PR_CAP_AMBIENT, [clear, 0]).map_err(refused("ambient set"))?;
    sys::set_capabilities([CapabilitySets::default(); 2]).map_err(refused("capset"))?;
    let left = sys::capabilities().map_err(refused("capget"))?;
    if left == [CapabilitySets::default(); 2] { Ok(()) } else { Err(refused("still there")(Errno::EPERM)) }
}

/// Up to the last that the kernel knows, which answers EINVAL beyond it.
fn drop_bounding() -> Result<(), Failure> {
    for capability in 0..64 {
        match sys::prctl(libc::PR_CAPBSET_DROP, [capability, 0]) {
            Ok(_) => {}
            Err(Errno::EINVAL) => return Ok(()),
            Err(errno) => return Err(refused("bounding set")(errno)),
        }
    }
    Ok(())
}

fn refused(words: &'static str) -> impl FnOnce(Errno) -> Failure {
    Failure::of(Step::Capabilities, words)
}
