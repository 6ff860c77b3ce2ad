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
    /// The stage failed; the program never ran. Nothing follows.
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
    /// Every layer is applied, and execve(2) was next. Sent together with what came of it, [`Record::Started`] or
    /// [`Record::ExecFailed`].
    Staged {
        /// The program's process id as the stage sees it.
        pid: i32,
    },
    /// The program could not be executed. Nothing follows.
    ExecFailed {
        /// Whether the lookup in the sandbox's view found a file: without a valid header, or without its interpreter,
        /// it is found and yet fails.
        found: bool,
        /// execve(2)'s, or that of the lookup: EACCES where a file is there and the Landlock domain denies reading it.
        errno: i32,
        /// What was tried: the path that was found, or where a link or a search ended; else the word as given.
        program: Vec<u8>,
    },
    /// execve(2) succeeded.
    Started,
    /// The program ended; that it stopped or went on is not reported.
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
    /// A process that was left when the program ended, stopped since. At most 64 of these follow `Ended`.
    Leftover {
        /// As the stage sees it.
        pid: i32,
        /// Its command line, arguments separated by spaces, at most 256 bytes.
        command: Vec<u8>,
    },
    /// Nothing follows; the stage ends the tree now.
    Done {
        /// Who was left.
        left: Left,
    },
}

/// Who was left of the program's descent when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nobody, by wait(2): nothing inside changes anything on the host any more.
    Nobody,
    /// This many in all; 0 where there is no `/proc` to see them in, or where they ended meanwhile.
    Counted(u32),
}

/// Runner to stage. End of file is the lifeline: the stage ends the tree and exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// What is owed on the host is written down: go on. For a stage that waits for it, before anything else.
    Go,
    /// Send this signal to the program's process group.
    Signal(i32),
}

/// A message that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed record on the control socket")]
pub struct RecordError;

/// The largest message.
pub const MAX_RECORD: usize = 8192;

/// The longest text in a record, in bytes; [`Record::encode`] cuts a longer one.
pub const MAX_TEXT: usize = 4096;

/// The longest command line in a record, in bytes.
pub const MAX_COMMAND: usize = 256;

/// How many [`Record::Leftover`] the stage sends.
pub const MAX_LEFTOVERS: usize = 64;

impl Step {
    /// Every step; its place is its number on the wire.
    pub const ALL: [Self; 10] = [
        Self::Plan,
        Self::Stdio,
        Self::Verify,
        Self::Terminal,
        Self::Scratch,
        Self::Process,
        Self::Rlimit,
        Self::Capabilities,
        Self::Landlock,
        Self::Seccomp,
    ];
}

/// What the first byte says.
mod tag {
    pub(super) const FAILED: u8 = 1;
    pub(super) const TERMINAL: u8 = 2;
    pub(super) const STAGED: u8 = 3;
    pub(super) const EXEC_FAILED: u8 = 4;
    pub(super) const STARTED: u8 = 5;
    pub(super) const ENDED: u8 = 6;
    pub(super) const LEFTOVER: u8 = 7;
    pub(super) const DONE: u8 = 8;
    pub(super) const SIGNAL: u8 = 64;
    pub(super) const GO: u8 = 65;
}

impl Record {
    /// One message, at most [`MAX_RECORD`] bytes: texts are cut to [`MAX_TEXT`], command lines to [`MAX_COMMAND`].
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Failed { step, errno, detail } => {
                Writer::new(tag::FAILED).step(*step).i32(*errno).text(detail, MAX_TEXT).0
            }
            Self::Terminal => Writer::new(tag::TERMINAL).0,
            Self::Staged { pid } => Writer::new(tag::STAGED).i32(*pid).0,
            Self::ExecFailed { found, errno, program } => {
                Writer::new(tag::EXEC_FAILED).bytes(&[u8::from(*found)]).i32(*errno).text(program, MAX_TEXT).0
            }
            Self::Started => Writer::new(tag::STARTED).0,
            Self::Ended { status, user_us, sys_us, max_rss_bytes } => {
                Writer::new(tag::ENDED).i32(*status).u64(*user_us).u64(*sys_us).u64(*max_rss_bytes).0
            }
            Self::Leftover { pid, command } => {
                Writer::new(tag::LEFTOVER).i32(*pid).text(command, MAX_COMMAND).0
            }
            Self::Done { left } => {
                let (known, count) = match left {
                    Left::Nobody => (0, 0),
                    Left::Counted(count) => (1, *count),
                };
                Writer::new(tag::DONE).bytes(&[known]).bytes(&count.to_le_bytes()).0
            }
        }
    }

    /// # Errors
    /// When `message` is not exactly what [`Record::encode`] writes.
    pub fn decode(message: &[u8]) -> Result<Self, RecordError> {
        let mut reader = Reader(message);
        let record = match reader.u8()? {
            tag::FAILED => {
                Self::Failed { step: reader.step()?, errno: reader.i32()?, detail: reader.text(MAX_TEXT)? }
            }
            tag::TERMINAL => Self::Terminal,
            tag::STAGED => Self::Staged { pid: reader.i32()? },
            tag::EXEC_FAILED => Self::ExecFailed {
                found: reader.flag()?,
                errno: reader.i32()?,
                program: reader.text(MAX_TEXT)?,
            },
            tag::STARTED => Self::Started,
            tag::ENDED => Self::Ended {
                status: reader.i32()?,
                user_us: reader.u64()?,
                sys_us: reader.u64()?,
                max_rss_bytes: reader.u64()?,
            },
            tag::LEFTOVER => Self::Leftover { pid: reader.i32()?, command: reader.text(MAX_COMMAND)? },
            tag::DONE => {
                let known = reader.array::<1>()?;
                let count = u32::from_le_bytes(reader.array()?);
                match (known, count) {
                    ([0], 0) => Self::Done { left: Left::Nobody },
                    ([1], count) => Self::Done { left: Left::Counted(count) },
                    _ => return Err(RecordError),
                }
            }
            _ => return Err(RecordError),
        };
        reader.end()?;
        Ok(record)
    }
}

impl Command {
    /// One message.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Go => Writer::new(tag::GO).0,
            Self::Signal(signal) => Writer::new(tag::SIGNAL).i32(*signal).0,
        }
    }

    /// # Errors
    /// When `message` is not exactly what [`Command::encode`] writes.
    pub fn decode(message: &[u8]) -> Result<Self, RecordError> {
        let mut reader = Reader(message);
        let command = match reader.u8()? {
            tag::GO => Self::Go,
            tag::SIGNAL => Self::Signal(reader.i32()?),
            _ => return Err(RecordError),
        };
        reader.end()?;
        Ok(command)
    }
}

/// A message so far.
struct Writer(Vec<u8>);

impl Writer {
    fn new(tag: u8) -> Self {
        Self(vec![tag])
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn step(self, step: Step) -> Self {
        let place = (0_u8..).zip(Step::ALL).find(|(_, each)| *each == step);
        self.bytes(&[place.map_or(u8::MAX, |(place, _)| place)])
    }

    fn i32(self, value: i32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Two bytes of length, then the text.
    fn text(self, text: &[u8], most: usize) -> Self {
        let text = text.get(..most).unwrap_or(text);
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        self.bytes(&length.to_le_bytes()).bytes(text)
    }
}

/// What is still unread of a message.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(RecordError)?;
        self.0 = rest;
        Ok(*head)
    }

    fn u8(&mut self) -> Result<u8, RecordError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    fn flag(&mut self) -> Result<bool, RecordError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(RecordError),
        }
    }

    fn step(&mut self) -> Result<Step, RecordError> {
        let place = usize::from(self.u8()?);
        Step::ALL.get(place).copied().ok_or(RecordError)
    }

    fn i32(&mut self) -> Result<i32, RecordError> {
        self.array().map(i32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, RecordError> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self, most: usize) -> Result<Vec<u8>, RecordError> {
        let length = usize::from(u16::from_le_bytes(self.array()?));
        if length > most {
            return Err(RecordError);
        }
        let (head, rest) = self.0.split_at_checked(length).ok_or(RecordError)?;
        self.0 = rest;
        Ok(head.to_vec())
    }

    fn end(&self) -> Result<(), RecordError> {
        if self.0.is_empty() { Ok(()) } else { Err(RecordError) }
    }
}
