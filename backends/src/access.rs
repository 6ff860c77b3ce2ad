//! What each level of access means to each layer: one row, every column.

use confine_core::policy::{Access, Kind};

use crate::landlock::rights;

/// What a mount shows at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Showing {
    /// Nothing that can be read.
    Nothing,
    /// A private empty directory.
    Empty,
    /// The host's, read-only.
    ReadOnly,
    /// The host's, writable.
    Writable,
}

/// What a Seatbelt profile says about operations of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `allow`.
    Allow,
    /// `deny`.
    Deny,
}

/// The columns of a level of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What the mount shows.
    pub showing: Showing,
    /// Landlock rights of a rule on a directory.
    pub directory: u64,
    /// Landlock rights of a rule on a file.
    pub file: u64,
    /// Landlock rights of a rule on a device node.
    pub device: u64,
    /// Landlock rights of a rule on a socket.
    pub socket: u64,
    /// What a profile says to reading and executing.
    pub reading: Verdict,
    /// What a profile says to creating, changing and deleting.
    pub writing: Verdict,
}

/// The row of `access`. A new level does not compile without all its columns.
pub const fn row(access: Access) -> Row {
    let read = rights::READ & rights::FILE;
    match access {
        Access::Hide => Row {
            showing: Showing::Nothing,
            directory: 0,
            file: 0,
            device: 0,
            socket: 0,
            reading: Verdict::Deny,
            writing: Verdict::Deny,
        },
        Access::Protect | Access::Read => Row {
            showing: Showing::ReadOnly,
            directory: rights::READ,
            file: read,
            device: read,
            socket: read,
            reading: Verdict::Allow,
            writing: Verdict::Deny,
        },
        // A profile has no private directory to give, so the host's is only out of reach.
        Access::Scratch => Row {
            showing: Showing::Empty,
            directory: rights::WRITE,
            file: 0,
            device: 0,
            socket: 0,
            reading: Verdict::Deny,
            writing: Verdict::Deny,
        },
        Access::Write => Row {
            showing: Showing::Writable,
            directory: rights::WRITE,
            file: rights::WRITE & rights::FILE,
            device: rights::DEVICE,
            socket: rights::SOCKET,
            reading: Verdict::Allow,
            writing: Verdict::Allow,
        },
    }
}

impl Row {
    /// The Landlock rights for what is there.
    pub const fn rights(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Directory => self.directory,
            Kind::File => self.file,
            Kind::Device => self.device,
            Kind::Socket => self.socket,
        }
    }
}
