//! The file part of a resolved policy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};

use crate::text::Text;
use crate::{AbsPath, Effect, Effects, Reason};

/// What the program may do at a path and below it. The nearest listed ancestor decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Not there, or unreadable.
    Hide,
    /// Read-only inside a write grant: it can be neither changed, nor replaced, nor reached by renaming a parent.
    Protect,
    /// Read and execute.
    Read,
    /// A private, writable, initially empty directory that vanishes with the run; the host's is out of sight.
    Scratch,
    /// Read, execute, create, change, delete.
    Write,
}

impl Access {
    /// Whether the host's file can be read there.
    pub const fn shows_host(self) -> bool {
        matches!(self, Self::Protect | Self::Read | Self::Write)
    }
}

/// What is at a listed path. Special files are never opened to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A regular file (or a FIFO, which is treated like one).
    File,
    /// A directory.
    Directory,
    /// A pathname socket.
    Socket,
    /// A character or block device node.
    Device,
}

/// Where an entry comes from. Later variants replace earlier ones at the same path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A built-in set or default.
    BuiltIn,
    /// The git rules.
    Git,
    /// A workspace root.
    Workspace,
    /// A listening socket of the host.
    Listening,
    /// Another mount of a hidden directory.
    Alias(AbsPath),
    /// confine's own places and the files of this call.
    Own,
    /// A policy file.
    File(AbsPath),
    /// The command line, or the library's caller.
    CommandLine,
    /// An approval.
    Grant,
}

/// A listed path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// What is allowed there.
    pub access: Access,
    /// What is there.
    pub kind: Kind,
    /// Who said so.
    pub source: Source,
}

/// An entry of a policy file that grants nothing here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotGranted {
    /// As written.
    pub entry: Text,
    /// Why: missing, a link out of the grant, a snapshot of a pattern.
    pub reason: Reason,
}

/// `[filesystem] tmp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tmp {
    /// A private one.
    #[default]
    Private,
    /// The host's, writable.
    Host,
    /// No entry of its own: what else is listed decides.
    None,
}

/// `[filesystem] proc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Proc {
    /// A fresh one for the sandbox's own processes.
    #[default]
    Fresh,
    /// The host's; loses proc-see.
    Host,
}

/// `[filesystem] symlinks`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Symlinks {
    /// New symbolic links may be made in a write grant.
    #[default]
    Allow,
    /// None.
    Deny,
}

/// `[filesystem] missing-protected`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MissingProtected {
    /// Compared after the run; what appeared is quarantined.
    #[default]
    Watch,
    /// The run is refused while one is missing.
    Refuse,
}

/// What an inert placeholder holds, so that it changes nothing for git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Placeholder {
    /// An empty directory.
    Directory,
    /// An empty file.
    Empty,
    /// A file that holds `.` and a newline (`commondir`).
    Dot,
}

/// A protected name that is a symbolic link: its target is protected by a mount, the link is compared afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProtectedLink {
    /// The link.
    pub path: AbsPath,
    /// What it held at launch.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    #[serde(serialize_with = "as_text")]
    pub target: PathBuf,
}

/// The file part of a policy, expanded against one view of the host. Every path is canonical unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FsPlan {
    /// Listed paths, all of which exist; `/` is always among them (`Read` or `Hide`).
    pub entries: BTreeMap<AbsPath, Entry>,
    /// Symbolic links that were crossed on the way to an entry, the working directory or the home directory, by their
    /// own (uncanonical) path: made again where their place is not visible, so that both spellings work.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, crate::Text>"))]
    #[serde(serialize_with = "links_as_text")]
    pub links: BTreeMap<AbsPath, PathBuf>,
    /// Protected names that do not exist: watched, or refused.
    pub missing: BTreeSet<AbsPath>,
    /// Protected names inside an existing `.git` that do not exist: made before the run and removed after it.
    pub placeholders: BTreeMap<AbsPath, Placeholder>,
    /// Protected names that are links.
    pub protected_links: Vec<ProtectedLink>,
    /// Repositories found at the start, by their git directory.
    pub repositories: BTreeSet<AbsPath>,
    /// Workspace roots.
    pub workspaces: BTreeSet<AbsPath>,
    /// Files that the runner creates empty (0600) and removes if still empty. Each parent exists; each is a write
    /// grant that is *not* in `entries`, because it does not exist yet.
    pub precreate: BTreeSet<AbsPath>,
    /// Entries that grant nothing here.
    pub not_granted: Vec<NotGranted>,
    /// `/tmp`.
    pub tmp: Tmp,
    /// `/proc`.
    pub proc: Proc,
    /// New symbolic links.
    pub symlinks: Symlinks,
    /// What happens while a protected name is missing.
    pub missing_protected: MissingProtected,
}

impl FsPlan {
    /// What is allowed at `path`: the word of the nearest listed ancestor (a precreated file is a write grant).
    pub fn access_at(&self, path: &AbsPath) -> Access {
        if self.precreate.contains(path) {
            return Access::Write;
        }
        self.listed_at(path).map_or(Access::Hide, |(_, entry)| entry.access)
    }

    /// The nearest listed ancestor of `path`, or itself.
    pub fn listed_at(&self, path: &AbsPath) -> Option<(AbsPath, &Entry)> {
        path.ancestors().find_map(|above| self.entries.get(&above).map(|entry| (above.clone(), entry)))
    }

    /// The effects that this part needs.
    pub fn needs(&self) -> Effects {
        let mut needs = Effects::default();
        let has = |access| self.entries.values().any(|entry| entry.access == access);
        if self.access_at(&AbsPath::root()) == Access::Hide {
            needs.insert(Effect::FsRead);
        }
        if has(Access::Hide) {
            needs.insert(Effect::FsHide);
        }
        if has(Access::Protect) {
            needs.insert(Effect::FsCarveOut);
        }
        if !self.missing.is_empty() || !self.placeholders.is_empty() {
            needs.insert(Effect::FsCarveOutNew);
        }
        if self.symlinks == Symlinks::Deny {
            needs.insert(Effect::FsSymlink);
        }
        needs
    }

    /// Effects that a setting of this part gives up.
    pub fn chosen_losses(&self) -> Vec<(Effect, Reason)> {
        match self.proc {
            Proc::Fresh => Vec::new(),
            Proc::Host => vec![(Effect::ProcSee, Reason::new("the policy says `proc = \"host\"`"))],
        }
    }
}

fn as_text<S: Serializer>(path: &std::path::Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&Text::from(path.as_os_str()))
}

fn links_as_text<S: Serializer>(
    links: &BTreeMap<AbsPath, PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer
        .collect_map(links.iter().map(|(link, target)| (link.to_string(), Text::from(target.as_os_str()))))
}
