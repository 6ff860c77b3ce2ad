//! The records on the control socket (SOCK_SEQPACKET, so one message is one record).
//!
//! The stage sends [`Record`]s, the runner sends [`Command`]s. The program never holds the socket, so it can forge
//! neither. A record is a tag byte and little-endian fields of fixed width; `Staged` and all later ones come once.

/// Where the stage failed before the program started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its own arguments.
    Plan,
    /// Descriptors 0 to 2.
    Stdio,
    /// The working directory, or a mask that does not mask.
    Verify,
    /// The pseudo-terminal.
    Terminal,
    /// The private temporary directory.
    Scratch,
    /// Fork, session, parent-death signal.
    Process,
    /// Resource limits.
    Rlimit,
    /// Capabilities.
    Capabilities,
    /// no_new_privs or the Landlock domain.
    Landlock,
    /// The system-call filter.
    Seccomp,
}

/// Stage to runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The stage failed; the program never ran.
    Failed {
        /// Where.
        step: Step,
        /// The system's error number, 0 where there is none.
        errno: i32,
        /// What it is about: a path, or a few words. At most 4,096 bytes.
        detail: Vec<u8>,
    },
    /// The master of the pseudo-terminal travels with this record (SCM_RIGHTS).
    Terminal,
    /// Every layer is applied; execve(2) is next.
    Staged {
        /// The program's process id as the stage sees it.
        pid: i32,
    },
    /// The program could not be executed.
    ExecFailed {
        /// Whether the lookup in the sandbox's view found a file: without a valid header, or without its interpreter,
        /// it is found and yet fails.
        found: bool,
        /// execve(2)'s, or that of the lookup.
        errno: i32,
        /// What was tried: the resolved path where one was found.
        program: Vec<u8>,
    },
    /// execve(2) succeeded.
    Started,
    /// The program stopped or continued is not reported; it ended with this status.
    Ended {
        /// As wait(2) gives it.
        status: i32,
        /// User time in microseconds, of the program and its waited-for children.
        user_us: u64,
        /// System time, likewise.
        sys_us: u64,
        /// Largest resident size in bytes.
        max_rss_bytes: u64,
    },
    /// A process that was left when the program ended. At most 64 of these follow `Ended`.
    Leftover {
        /// As the stage sees it.
        pid: i32,
        /// Its command line, arguments separated by spaces, at most 256 bytes.
        command: Vec<u8>,
    },
    /// Nothing follows; the stage ends the tree now.
    Done {
        /// How many were left in all.
        leftovers: u32,
    },
}

/// Runner to stage. End of file is the lifeline: the stage ends the tree and exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send this signal to the program's process group.
    Signal(i32),
}

/// A message that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed record on the control socket")]
pub struct RecordError;

/// The largest message.
pub const MAX_RECORD: usize = 8192;

impl Record {
    /// One message.
    pub fn encode(&self) -> Vec<u8> {
        todo!()
    }

    /// # Errors
    /// When `message` is not exactly what [`Record::encode`] writes.
    pub fn decode(_message: &[u8]) -> Result<Self, RecordError> {
        todo!()
    }
}

impl Command {
    /// One message.
    pub fn encode(&self) -> Vec<u8> {
        todo!()
    }

    /// # Errors
    /// When `message` is not exactly what [`Command::encode`] writes.
    pub fn decode(_message: &[u8]) -> Result<Self, RecordError> {
        todo!()
    }
}
