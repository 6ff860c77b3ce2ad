//! Whether the device nodes that a root caller owns can be made read-only for what it starts (see `spawn::devices`).

use confine_core::probe::Unusable;
use nix::unistd::Uid;

use super::namespaces::in_chroot;

/// CAP_SYS_ADMIN (capabilities(7)): unshare(2) and mount(2) ask for it.
const SYS_ADMIN: u32 = 21;

pub(super) fn here() -> Result<(), Unusable> {
    if !Uid::effective().is_root() {
        return Ok(());
    }
    if !holds(&std::fs::read_to_string("/proc/self/status").unwrap_or_default(), SYS_ADMIN) {
        return Err(Unusable::new(
            "root without CAP_SYS_ADMIN cannot make its device nodes read-only",
            "start confine as an ordinary user, or leave root that capability",
        ));
    }
    if in_chroot(&std::fs::read("/proc/self/mountinfo").unwrap_or_default()) {
        return Err(Unusable::new(
            "in a root directory that is no mount point device nodes cannot be made read-only",
            "start confine as an ordinary user, or make its root with pivot_root(2)",
        ));
    }
    Ok(())
}

/// Whether the effective set in `/proc/self/status` has this capability; not where nothing can be read.
fn holds(status: &str, capability: u32) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = set.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    set.is_some_and(|set| set & (1 << capability) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_held_where_its_bit_is_in_the_effective_set() {
        let status = |set: &str| format!("Name:\tx\nCapPrm:\t000001ffffffffff\nCapEff:\t{set}\n");
        assert!(holds(&status("000001ffffffffff"), SYS_ADMIN));
        assert!(holds(&status("0000000000200000"), SYS_ADMIN));
        assert!(!holds(&status("000001ffffdfffff"), SYS_ADMIN));
        assert!(!holds(&status("0000000000000000"), SYS_ADMIN));
        assert!(!holds(&status("nothing"), SYS_ADMIN) && !holds("", SYS_ADMIN));
    }

    #[test]
    fn the_nodes_of_an_ordinary_user_are_somebody_else_s() {
        if !Uid::effective().is_root() {
            assert_eq!(here(), Ok(()));
        }
    }
}
