//! One operation on the mount view, and its words for bwrap.

use std::ffi::OsString;
use std::path::PathBuf;

use confine_core::AbsPath;

/// What an operation does at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Shows the host's file or directory, writable, without device nodes.
    Bind,
    /// Likewise, read-only.
    ReadOnlyBind,
    /// Shows what is elsewhere on the host, read-only.
    ReadOnlyBindFrom(AbsPath),
    /// Shows the host's file, writable; nothing where it does not exist.
    BindIfPresent,
    /// Likewise, read-only.
    ReadOnlyBindIfPresent,
    /// Shows a device node, which can be opened.
    DeviceBind,
    /// Puts `/dev/null` over a file: without device nodes, so that opening it is EACCES.
    Mask,
    /// An empty directory in memory, to be made read-only later.
    Blank,
    /// An empty directory in memory that anyone may write, with a bound in bytes.
    Scratch(u64),
    /// A symbolic link.
    Symlink(PathBuf),
    /// bwrap's own `/dev`: null, zero, full, random, urandom, tty, and a devpts of its own.
    Devices,
    /// A procfs of the sandbox's own pid namespace.
    Processes,
    /// Makes a mount read-only that is already there; not what is mounted below it.
    RemountReadOnly,
}

/// One operation on the mount view. Only [`lower`](super::lower) makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    operation: Operation,
    at: AbsPath,
}

impl Mount {
    pub(super) const fn new(operation: Operation, at: AbsPath) -> Self {
        Self { operation, at }
    }

    /// What is done.
    pub const fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Where, in the sandbox's view; for binds the host's path as well.
    pub const fn at(&self) -> &AbsPath {
        &self.at
    }

    /// Whether it shows the host's file of the same path.
    pub(super) const fn shows_its_own(&self) -> bool {
        use Operation::*;
        matches!(self.operation, Bind | ReadOnlyBind | BindIfPresent | ReadOnlyBindIfPresent | DeviceBind)
    }

    /// Whether something below it can be written, once everything is mounted.
    pub(super) const fn is_writable(&self) -> bool {
        use Operation::*;
        matches!(self.operation, Bind | BindIfPresent | DeviceBind | Scratch(_))
    }

    /// As options of bwrap.
    pub fn words(&self) -> Vec<OsString> {
        let at = || self.at.to_os_string();
        let bind = |option: &str| vec![option.into(), at(), at()];
        match &self.operation {
            Operation::Bind => bind("--bind"),
            Operation::ReadOnlyBind => bind("--ro-bind"),
            Operation::ReadOnlyBindFrom(from) => vec!["--ro-bind".into(), from.to_os_string(), at()],
            Operation::BindIfPresent => bind("--bind-try"),
            Operation::ReadOnlyBindIfPresent => bind("--ro-bind-try"),
            Operation::DeviceBind => bind("--dev-bind"),
            Operation::Mask => vec!["--ro-bind".into(), "/dev/null".into(), at()],
            Operation::Blank => vec!["--tmpfs".into(), at()],
            Operation::Scratch(bytes) => vec![
                "--perms".into(),
                "1777".into(),
                "--size".into(),
                bytes.to_string().into(),
                "--tmpfs".into(),
                at(),
            ],
            Operation::Symlink(target) => vec!["--symlink".into(), target.into(), at()],
            Operation::Devices => vec!["--dev".into(), at()],
            Operation::Processes => vec!["--proc".into(), at()],
            Operation::RemountReadOnly => vec!["--remount-ro".into(), at()],
        }
    }
}

/// A Landlock rule: the path in the sandbox's view, and rights of any ABI. Only [`lower`](super::lower) makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    at: AbsPath,
    rights: u64,
}

impl Grant {
    pub(super) const fn new(at: AbsPath, rights: u64) -> Self {
        Self { at, rights }
    }

    /// Where, and below it.
    pub const fn at(&self) -> &AbsPath {
        &self.at
    }

    /// What is allowed there.
    pub const fn rights(&self) -> u64 {
        self.rights
    }
}
