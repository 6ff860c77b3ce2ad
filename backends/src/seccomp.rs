//! The system-call filter: a table, and the program made from it.
//!
//! It refuses what no other layer can: mode bits that outlive the sandbox, rarely used kernel interfaces, input pushed
//! into a terminal. Arguments behind pointers are out of a filter's reach, so calls that hide theirs there answer
//! ENOSYS, and programs fall back (openat2, clone3). Everything else is allowed: a filter is the last layer, not the
//! first. seccomp(2), and Documentation/userspace-api/seccomp_filter.rst.

pub mod bpf;
pub mod table;

use confine_core::Probe;
use confine_core::policy::{NetPlan, Policy};
use confine_core::probe::Arch;

pub use table::{Action, CALLS, Call, Condition, Rule, Test, When};

/// What keeps the host's processes, and its network where the policy says that there is none, out of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Namespaces.
    Namespace,
    /// Nothing but the domain and the filter.
    Filter,
}

/// What the filter depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Whose call numbers.
    pub arch: Arch,
    /// Whether user namespaces and mounts are allowed inside.
    pub nested: bool,
    /// Which network the program has.
    pub net: NetPlan,
    /// What else keeps the host out of reach.
    pub isolation: Isolation,
}

impl Setting {
    /// Whether rules of this kind are part of the program.
    pub const fn includes(self, when: When) -> bool {
        let exposed = matches!(self.isolation, Isolation::Filter);
        match when {
            When::Always => true,
            When::NotNested => !self.nested,
            When::Exposed => exposed,
            When::Offline => exposed && matches!(self.net, NetPlan::Off),
        }
    }
}

/// The program for a policy on a host; empty where filters are not available.
pub(crate) fn for_host(probe: &Probe, policy: &Policy, isolation: Isolation) -> Vec<u8> {
    match (&probe.seccomp, probe.arch) {
        (Ok(()), Some(arch)) => program(Setting { arch, nested: policy.nested, net: policy.net, isolation }),
        _ => Vec::new(),
    }
}

/// The program, as `struct sock_filter` records in native byte order.
pub fn program(setting: Setting) -> Vec<u8> {
    bpf::assemble(setting).into_iter().flat_map(bpf::Instruction::bytes).collect()
}
