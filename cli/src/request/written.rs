//! The options as the last layer of the policy.

use std::collections::BTreeMap;
use std::path::PathBuf;

use confine_core::policy::PolicyFile;
use confine_core::policy::file::{
    Approval, ApprovalDefault, Enforcement, EnvironmentTable, Filesystem, LimitsTable,
    Network as NetworkTable, NetworkAccess,
};
use confine_core::policy::git::Git as GitRule;
use confine_core::{Effects, Text};

use crate::arguments::{Git, Network, PolicyOptions, Variable};

/// What the options say, as a file would.
pub(super) fn file(options: &PolicyOptions) -> PolicyFile {
    PolicyFile {
        filesystem: filesystem(options),
        network: NetworkTable { access: options.network.map(NetworkAccess::from), ..NetworkTable::default() },
        environment: environment(&options.variables),
        limits: LimitsTable {
            time: options.timeout,
            memory: options.memory,
            processes: options.processes,
            ..LimitsTable::default()
        },
        enforcement: Enforcement {
            accept_missing: options.accept_missing.iter().flat_map(Effects::iter).collect(),
            ..Enforcement::default()
        },
        approval: Approval { default: options.ask.then_some(ApprovalDefault::Ask), audit: None },
        ..PolicyFile::default()
    }
}

fn filesystem(options: &PolicyOptions) -> Filesystem {
    Filesystem {
        read: Some(texts(&options.read)).filter(|paths| !paths.is_empty()),
        write: texts(&options.write),
        hide: texts(&options.hide),
        protect: texts(&options.protect),
        git: options.git.map(GitRule::from),
        sockets: texts(&options.socket),
        devices: texts(&options.device),
        precreate: texts(&options.precreate),
        ..Filesystem::default()
    }
}

fn texts(paths: &[PathBuf]) -> Vec<Text> {
    paths.iter().map(|path| Text::from(path.as_os_str())).collect()
}

fn environment(variables: &[Variable]) -> EnvironmentTable {
    let mut pass = Vec::new();
    let mut set = BTreeMap::new();
    for Variable { name, value } in variables {
        match value {
            Some(value) => drop(set.insert(name.clone(), Text::from(value.as_os_str()))),
            None => pass.push(name.clone()),
        }
    }
    EnvironmentTable { pass: Some(pass).filter(|names| !names.is_empty()), set }
}

impl From<Git> for GitRule {
    fn from(git: Git) -> Self {
        match git {
            Git::Work => Self::Work,
            Git::Protect => Self::Protect,
            Git::Open => Self::Open,
        }
    }
}

impl From<Network> for NetworkAccess {
    fn from(network: Network) -> Self {
        match network {
            Network::Off => Self::Off,
            Network::Open => Self::Open,
        }
    }
}
