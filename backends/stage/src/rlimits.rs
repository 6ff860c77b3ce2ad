//! Resource limits: never more than there was.

use nix::sys::resource::{self, getrlimit, setrlimit};

use crate::failure::Failure;
use crate::plan::Resource;
use crate::status::Step;

/// Limits this process and all that come of it.
pub(crate) fn apply(limits: &[(Resource, u64)]) -> Result<(), Failure> {
    limits.iter().try_for_each(|(resource, value)| {
        limit(*resource, *value).map_err(Failure::of(Step::Rlimit, resource.word()))
    })
}

fn limit(resource: Resource, value: u64) -> nix::Result<()> {
    let which = match resource {
        Resource::Cpu => resource::Resource::RLIMIT_CPU,
        Resource::FileSize => resource::Resource::RLIMIT_FSIZE,
        Resource::OpenFiles => resource::Resource::RLIMIT_NOFILE,
        Resource::Processes => resource::Resource::RLIMIT_NPROC,
    };
    let (_, most) = getrlimit(which)?;
    // A hard CPU limit kills; a second more lets SIGXCPU name the limit first.
    let grace = u64::from(resource == Resource::Cpu);
    let hard = value.saturating_add(grace).min(most);
    setrlimit(which, value.min(hard), hard)
}
