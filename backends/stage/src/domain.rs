//! The Landlock domain, with exactly the bits of the plan: a bit that the kernel lacks is a failure, never left out.
//!
//! Collected with the rights that the stage still has, since a path may be reachable to it alone, and entered after they
//! are gone. Kernel 5.13; which bits need which ABI is the planner's business.

use std::os::fd::{AsFd, BorrowedFd};

use landlock::{
    AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope,
};
use nix::errno::Errno;
use nix::sys::stat::{SFlag, fstat};
use nix::sys::statfs::{FsType, fstatfs};
use nix::unistd::isatty;

use crate::descriptors::{file_type, is_writable};
use crate::failure::Failure;
use crate::plan::{Bound, Rule, Ruleset};
use crate::status::Step;
use crate::{sys, view};

/// A domain that is not entered yet.
pub(crate) struct Domain(RulesetCreated);

impl Domain {
    /// An empty one, in which nothing that is handled is allowed.
    pub(crate) fn create(plan: &Ruleset) -> Result<Self, Failure> {
        let mut ruleset = landlock::Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        if plan.handled_fs != 0 {
            ruleset = ruleset.handle_access(fs_bits(plan.handled_fs)?).map_err(refused)?;
        }
        if plan.handled_net != 0 {
            let bits =
                BitFlags::<AccessNet>::from_bits(plan.handled_net).map_err(|_| unknown(plan.handled_net))?;
            ruleset = ruleset.handle_access(bits).map_err(refused)?;
        }
        if plan.scoped != 0 {
            let bits = BitFlags::<Scope>::from_bits(plan.scoped).map_err(|_| unknown(plan.scoped))?;
            ruleset = ruleset.scope(bits).map_err(refused)?;
        }
        ruleset.create().map(Self).map_err(refused)
    }

    /// Allows what a rule says, where its path still is the file that the runner saw.
    pub(crate) fn allow(self, rule: &Rule, seen: Option<&Bound>) -> Result<Self, Failure> {
        let at = |errno| Failure::at(Step::Landlock, &rule.path, errno);
        let path = PathFd::new(&rule.path).map_err(|error| at(cause(error)))?;
        if let Some(seen) = seen
            && !fstat(path.as_fd()).is_ok_and(|stat| view::is(seen, &stat))
        {
            return Err(at(Errno::ESTALE));
        }
        let rule = PathBeneath::new(path, fs_bits(rule.access)?);
        self.0.add_rule(rule).map(Self).map_err(|error| at(cause(error)))
    }

    /// Allows `access` to each of descriptors 0 to 2 that is a terminal or was opened for writing.
    pub(crate) fn allow_stdio(self, access: u64) -> Result<Self, Failure> {
        (0..=2).map(sys::borrow).filter(|fd| needs_rule(*fd)).try_fold(self, |domain, fd| {
            let rule = PathBeneath::new(fd.as_fd(), fs_bits(access)?);
            domain.0.add_rule(rule).map(Self).map_err(refused)
        })
    }

    /// Confines this process and all that come of it; sets no_new_privs too.
    pub(crate) fn enter(self) -> Result<(), Failure> {
        self.0.restrict_self().map(drop).map_err(refused)
    }
}

/// Sockets and unnamed pipes are outside what Landlock governs, and refused as rules.
fn needs_rule(fd: BorrowedFd<'_>) -> bool {
    match file_type(fd) {
        Ok(SFlag::S_IFCHR) => is_writable(fd) || isatty(fd).unwrap_or(false),
        Ok(SFlag::S_IFREG) => is_writable(fd),
        Ok(SFlag::S_IFIFO) => is_writable(fd) && is_named(fd),
        _ => false,
    }
}

/// An unnamed pipe lives on a file system of its own, with this magic number.
fn is_named(fd: BorrowedFd<'_>) -> bool {
    const PIPEFS_MAGIC: FsType = FsType(0x5049_5045);
    fstatfs(fd).is_ok_and(|statfs| statfs.filesystem_type() != PIPEFS_MAGIC)
}

fn fs_bits(bits: u64) -> Result<BitFlags<AccessFs>, Failure> {
    BitFlags::from_bits(bits).map_err(|_| unknown(bits))
}

fn unknown(bits: u64) -> Failure {
    Failure::of(Step::Landlock, &format!("{bits:#x}"))(Errno::EINVAL)
}

fn refused(error: RulesetError) -> Failure {
    let words = error.to_string();
    Failure::of(Step::Landlock, &words)(cause(error))
}

fn cause(error: impl std::error::Error) -> Errno {
    Errno::from_raw(*landlock::Errno::from(error))
}
