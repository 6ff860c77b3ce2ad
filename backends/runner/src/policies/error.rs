//! Why a policy as written cannot be loaded.

use std::io;

use confine_core::policy::file::ParseError;
use confine_core::policy::resolve::ResolveError;
use confine_core::{AbsPath, Text};

/// Each names the file, and the line where one is known.
#[derive(Debug, thiserror::Error)]
pub enum PoliciesError {
    /// Neither a file nor a built-in name.
    #[error("`{0}` is no built-in policy")]
    Unknown(Text),
    /// It does not exist, or may not be read.
    #[error("policy file `{path}`: {source}")]
    Unreadable {
        /// Which.
        path: Text,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// It, or something above it, is a link, a directory or a special file.
    #[error("policy file `{0}` is not a regular file")]
    Special(AbsPath),
    /// It is longer than a policy can be.
    #[error("policy file `{path}` is longer than {bound} bytes")]
    TooLarge {
        /// Which.
        path: AbsPath,
        /// The longest, in bytes.
        bound: u64,
    },
    /// It is not UTF-8.
    #[error("policy file `{path}` line {line}: not UTF-8")]
    NotText {
        /// Which.
        path: AbsPath,
        /// The first wrong line, from 1.
        line: usize,
    },
    /// It is no policy.
    #[error("policy file `{path}` {source}")]
    Parse {
        /// Which.
        path: AbsPath,
        /// Where and why.
        #[source]
        source: ParseError,
    },
    /// It extends itself.
    #[error("policy file `{0}` extends itself")]
    Cycle(AbsPath),
    /// Too many files extend one another.
    #[error("policy file `{path}` is more than {bound} files away from the one named")]
    TooDeep {
        /// The first one too many.
        path: AbsPath,
        /// How many are allowed.
        bound: usize,
    },
    /// A workspace's policy has a key that would put another policy in the place of the caller's.
    #[error("policy file `{0}` lies in a workspace and has the key `extends`")]
    ProjectExtends(AbsPath),
    /// A workspace's policy allows what the caller does not have.
    #[error("the workspace's policy `{0}` allows more than the caller's policy does, and it may only narrow")]
    ProjectWidens(AbsPath),
    /// It does not resolve on this host.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

impl PoliciesError {
    /// The next step for the user.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Unknown(_) => Some(
                "use `read-only`, `workspace-write`, or a file: a word with `/`, `.toml` or `.json`"
                    .to_owned(),
            ),
            Self::Unreadable { .. } => Some(
                "name a file that exists and that you may read, or a built-in policy: `read-only`, `workspace-write`"
                    .to_owned(),
            ),
            Self::TooLarge { .. } => Some("name a policy file".to_owned()),
            Self::Special(_) => Some("put the policy itself there, not a link to it".to_owned()),
            Self::NotText { .. } => Some("save it as UTF-8".to_owned()),
            Self::Parse { source, .. } => source.help.clone(),
            Self::Cycle(_) | Self::TooDeep { .. } => Some("take out one `extends`".to_owned()),
            Self::ProjectWidens(_) => Some(
                "move what adds (read, write, sockets, devices, a network, a longer limit) to the user's policy.toml or the command line".to_owned(),
            ),
            Self::Resolve(source) => source.help(),
            Self::ProjectExtends(_) => {
                Some("take the key out: a workspace's policy only narrows the caller's".to_owned())
            }
        }
    }
}
