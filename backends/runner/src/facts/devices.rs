//! Whether the device nodes that a root caller owns can be made read-only for what it starts (see `spawn::devices`).

use confine_core::probe::Unusable;
use nix::unistd::Uid;
use rustix::thread::{CapabilitySet, capabilities};

use super::namespaces::is_chroot;

pub(super) fn here() -> Result<(), Unusable> {
    if !Uid::effective().is_root() {
        return Ok(());
    }
    // unshare(2) and mount(2) ask for it.
    if !capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN)) {
        return Err(Unusable::new(
            "root without CAP_SYS_ADMIN cannot make its device nodes read-only",
            "start confine as an ordinary user, or leave root that capability",
        ));
    }
    if is_chroot() {
        return Err(Unusable::new(
            "in a root directory that is no mount point device nodes cannot be made read-only",
            "start confine as an ordinary user, or make its root with pivot_root(2)",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_of_an_ordinary_user_are_somebody_else_s() {
        if !Uid::effective().is_root() {
            assert_eq!(here(), Ok(()));
        }
    }
}
