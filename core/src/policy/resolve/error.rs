//! Why a policy does not resolve here.

use std::io::ErrorKind;

use crate::policy::Source;
use crate::policy::pattern::PatternError;
use crate::{AbsPath, Text};

/// Why a policy does not resolve here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// An entry is wrong.
    #[error("the `{key}` entry `{entry}` of {} {fault}", origin(.source_of))]
    Entry {
        /// The key it stands under.
        key: &'static str,
        /// As written.
        entry: Text,
        /// Who wrote it.
        source_of: Source,
        /// What is wrong.
        fault: EntryFault,
    },
    /// A workspace root is wrong.
    #[error("the workspace `{path}` {fault}")]
    Workspace {
        /// As spelt.
        path: AbsPath,
        /// What is wrong.
        fault: WorkspaceFault,
    },
    /// A file of this call does not exist yet, and the program could make it.
    #[error("`{path}` lies in the write grant `{grant}`, where the program could write it")]
    OwnFile {
        /// The file.
        path: AbsPath,
        /// The grant.
        grant: AbsPath,
    },
    /// A write grant of a workspace root at or below a place of confine's own.
    #[error("the workspace `{path}` lies in `{place}`, which confine keeps for itself")]
    OwnWorkspace {
        /// The workspace root.
        path: AbsPath,
        /// confine's place.
        place: AbsPath,
    },
    /// More directories than are looked at for repositories, or in one. Whoever can make directories could otherwise hide
    /// a repository from protection.
    #[error("`{place}` holds more than {bound} directories to look for git settings in")]
    TooManyDirectories {
        /// Where.
        place: AbsPath,
        /// How many are looked at.
        bound: usize,
    },
    /// An index that is too long to be read for the submodules that its repository has: they would not be protected.
    #[error("`{path}` is longer than {bound} bytes, and may name submodules")]
    LargeIndex {
        /// The index.
        path: AbsPath,
        /// In bytes.
        bound: u64,
    },
    /// A key asks for a feature that this version does not have. A parsed file is refused earlier.
    #[error("`{key}` needs {feature}, which this version does not have")]
    Feature {
        /// The key.
        key: &'static str,
        /// What it needs.
        feature: &'static str,
    },
    /// The name of a variable is empty or holds `=` or NUL, or a `*` that is not its end.
    #[error("`{0}` is no name of a variable")]
    Variable(Text),
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryFault {
    /// Nothing is there.
    #[error("does not exist")]
    Missing,
    /// Something is there, and cannot be looked at.
    #[error("cannot be opened: {0}")]
    Unopenable(ErrorKind),
    /// Its links lead in a circle, or through more than 40 links.
    #[error("leads through too many links")]
    Loop,
    /// It is empty or holds a NUL byte.
    #[error("is no path")]
    NoPath,
    /// It begins with `~`, and there is no home directory.
    #[error("needs a home directory, and there is none")]
    NoHome,
    /// It is at or below `/proc` or `/dev`, which the sandbox has of its own.
    #[error("lies in `{0}`, of which the sandbox has its own")]
    Template(&'static str),
    /// It is not what its key is for.
    #[error("is no {0}")]
    NotA(&'static str),
    /// It is a socket or a device, which have keys of their own.
    #[error("is a {what}")]
    Special {
        /// `socket` or `device`.
        what: &'static str,
        /// The key for it.
        key: &'static str,
    },
    /// A link that the program could have made leads out of the write grants.
    #[error("leads through the link `{link}`, which lies in a write grant, to `{target}` outside of it")]
    LinkOut {
        /// The link.
        link: AbsPath,
        /// Where it leads.
        target: AbsPath,
    },
    /// Its pattern is malformed, or over a bound.
    #[error("{0}")]
    Pattern(PatternError),
    /// A grant may not replace or re-open what is hidden.
    #[error("would open `{0}`, which is hidden")]
    Hidden(AbsPath),
    /// It is at or below a place of confine's own.
    #[error("lies in `{0}`, which confine keeps for itself")]
    Own(AbsPath),
}

/// What is wrong with a workspace root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceFault {
    /// Nothing is there.
    #[error("does not exist")]
    Missing,
    /// It cannot be looked at.
    #[error("cannot be opened")]
    Unopenable,
    /// It is no directory.
    #[error("is no directory")]
    NotADirectory,
    /// It is `/`, the home directory or above it, and was not named.
    #[error("is `/`, the home directory or above it")]
    TooWide,
    /// It lies in a place that is hidden by default, and was not named.
    #[error("lies in a place that is hidden by default")]
    Hidden,
    /// It lies inside a git directory, and was not named.
    #[error("lies inside a git directory")]
    GitDirectory,
    /// It lies in `/proc` or `/dev`, of which the sandbox has its own.
    #[error("lies in `/proc` or `/dev`, of which the sandbox has its own")]
    Template,
}

impl ResolveError {
    /// The next step for the user.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Entry { fault, .. } => fault.help(),
            Self::Workspace { fault, .. } => fault.help(),
            Self::OwnFile { .. } => Some("choose a place outside every write grant".into()),
            Self::OwnWorkspace { .. } => Some("start in another directory".into()),
            Self::TooManyDirectories { .. } | Self::LargeIndex { .. } => {
                Some("name a smaller `--workspace`, or leave git unprotected with `--git open`".into())
            }
            Self::Feature { .. } => Some("leave it out".into()),
            Self::Variable(_) => Some("a name, or the beginning of names followed by `*`".into()),
        }
    }
}

impl EntryFault {
    fn help(&self) -> Option<String> {
        match self {
            Self::Missing => {
                Some("create it first, or for a file that shall be written use `--precreate`".into())
            }
            Self::Unopenable(_) | Self::Loop => Some("remove the entry, or make it accessible".into()),
            Self::NoPath => Some("write a path".into()),
            Self::NoHome => Some("set HOME, or write an absolute path".into()),
            Self::Template(_) => Some("grant device nodes one by one, with `devices` or `--device`".into()),
            Self::NotA(_) => None,
            Self::Special { key, .. } => Some(format!("list it under `{key}`")),
            Self::LinkOut { target, .. } => Some(format!("name `{target}` itself")),
            Self::Pattern(error) => Some(error.help().into()),
            Self::Hidden(_) => Some("only the policy file and the command line open what is hidden".into()),
            Self::Own(_) => Some("remove the entry".into()),
        }
    }
}

impl WorkspaceFault {
    fn help(&self) -> Option<String> {
        match self {
            Self::TooWide | Self::Hidden | Self::GitDirectory => {
                Some("start in a project's directory, or name it with `--workspace`".into())
            }
            Self::Missing | Self::Unopenable | Self::NotADirectory | Self::Template => {
                Some("name another directory with `--workspace`".into())
            }
        }
    }
}

fn origin(source: &Source) -> String {
    match source {
        Source::File(path) => format!("`{path}`"),
        Source::CommandLine => "the command line".into(),
        Source::Grant => "a grant".into(),
        _ => "the built-in policy".into(),
    }
}
