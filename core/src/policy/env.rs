//! The environment part of a resolved policy.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use serde::{Deserialize, Serialize};

use crate::Text;

/// Which variables pass, and which are set. Everything else is dropped and counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnvPlan {
    /// Names; a trailing `*` matches any rest.
    pub pass: Vec<String>,
    /// Set after passing.
    pub set: BTreeMap<String, Text>,
}

/// The environment of a program, and how many variables were dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Sorted by name.
    pub variables: BTreeMap<OsString, OsString>,
    /// How many of the caller's did not pass.
    pub dropped: usize,
}

impl EnvPlan {
    /// Whether the caller's variable `name` passes.
    pub fn passes(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        self.pass.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix.as_bytes()),
            None => name == pattern.as_bytes(),
        })
    }

    /// The program's environment, from the caller's. Markers of an outer sandbox (`CONFINE`, `CONFINE_*`) never pass.
    pub fn apply(&self, caller: impl IntoIterator<Item = (OsString, OsString)>) -> Environment {
        let mut environment = Environment::default();
        for (name, value) in caller {
            if is_marker(&name) {
                continue;
            }
            if self.passes(&name) {
                environment.variables.insert(name, value);
            } else {
                environment.dropped += 1;
            }
        }
        let set = self.set.iter().map(|(name, value)| (name.into(), value.as_os_str().to_owned()));
        environment.variables.extend(set);
        environment
    }
}

fn is_marker(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name == b"CONFINE" || name.starts_with(b"CONFINE_")
}
