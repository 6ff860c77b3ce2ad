//! The facts of this host, with those of our own programs refused that a run in the current directory would refuse too:
//! a probe starts what it finds, and `PATH` may name a directory of a workspace whose content is anybody's.

use confine_core::policy::Policy;
use confine_core::probe::{Tool, Unusable};
use confine_core::{AbsPath, Probe};
use confine_runner::facts;
use confine_runner::find::{self, Find};

use crate::arguments::PolicyOptions;
use crate::request;

/// The facts. Starts nothing.
pub(crate) fn facts() -> Probe {
    let facts = facts::probe(&Find::here());
    // Where there is no policy for this directory no run starts anything; the directory itself counts all the same.
    let policy = request::resolve(&PolicyOptions::default()).ok().map(|resolved| resolved.policy);
    let here = std::env::current_dir().ok().and_then(|here| AbsPath::new(here).ok());
    let trusted = |found| trusted(found, policy.as_ref(), here.as_ref());
    Probe { bwrap: trusted(facts.bwrap), stage: trusted(facts.stage), ..facts }
}

fn trusted(
    found: Result<Tool, Unusable>,
    policy: Option<&Policy>,
    here: Option<&AbsPath>,
) -> Result<Tool, Unusable> {
    let tool = found?;
    policy.map_or(Ok(()), |policy| find::safe_for(&tool.path, policy))?;
    here.map_or(Ok(()), |here| find::apart_from(&tool.path, here))?;
    Ok(tool)
}
