//! The program's descriptors 0 to 2, from what the caller asked for.
//!
//! A regular file never reaches the program, for whatever it is open: fchmod(2), futimens(3) and fsetxattr(2) need only a
//! descriptor. The runner relays it through a pipe.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use confine_core::report::Output;
use nix::sys::stat::{SFlag, fstat};

use crate::events::{Announcer, Event};
use crate::feed::Feed;
use crate::relay::{Announced, Kept, Relay, Targets};
use crate::run::Stdio;
use crate::sink::Sink;

/// How much of the launcher's own words is kept, in bytes.
const WORDS_BOUND: u64 = 16 * 1024;

/// What the program gets.
pub(crate) struct Program {
    /// 0.
    pub(crate) stdin: OwnedFd,
    /// 1.
    pub(crate) stdout: OwnedFd,
    /// 2; `None` where it is a pseudo-terminal.
    pub(crate) stderr: Option<OwnedFd>,
    /// Rows and columns of a pseudo-terminal.
    pub(crate) terminal: Option<(u16, u16)>,
}

/// What the runner keeps.
pub(crate) struct Streams {
    /// To be run until the end.
    pub(crate) relays: Vec<Relay>,
    /// Likewise: what the program reads, where that is a file.
    pub(crate) feed: Option<Feed>,
    stdout: Option<Kept>,
    stderr: Option<Kept>,
    words: Kept,
}

/// What is kept of each captured stream where nobody says otherwise, in bytes.
const MAX_OUTPUT: u64 = 1024 * 1024;

/// What was asked for.
pub(crate) struct Wishes {
    /// Standard input.
    pub(crate) stdin: Stdio,
    /// Standard output.
    pub(crate) stdout: Stdio,
    /// Standard error.
    pub(crate) stderr: Stdio,
    /// What is kept of each captured stream, in bytes.
    pub(crate) max_output: u64,
}

impl Wishes {
    /// Whether anything of the output is kept, to be judged by.
    pub(crate) fn keeps(&self) -> bool {
        let kept = |wish: &Stdio| matches!(wish, Stdio::Capture | Stdio::Tee);
        !matches!(self.stdin, Stdio::Pty { .. }) && (kept(&self.stdout) || kept(&self.stderr))
    }
}

impl Default for Wishes {
    fn default() -> Self {
        let (stdout, stderr) = (Stdio::Capture, Stdio::Capture);
        Self { stdin: Stdio::Null, stdout, stderr, max_output: MAX_OUTPUT }
    }
}

impl Program {
    /// For another launch of the same run.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        let stderr = self.stderr.as_ref().map(OwnedFd::try_clone).transpose()?;
        let (stdin, stdout) = (self.stdin.try_clone()?, self.stdout.try_clone()?);
        Ok(Self { stdin, stdout, stderr, terminal: self.terminal })
    }
}

/// The program's end of an output stream.
enum End {
    /// As the caller has it.
    Direct(OwnedFd),
    /// A regular file, to be relayed.
    File(OwnedFd),
    /// To be captured, and written to the caller's as well where there is one.
    Kept(Option<OwnedFd>),
}

/// Every descriptor of a launch: the program's, the launcher's own standard error, and what the runner keeps.
///
/// # Errors
/// A wish that does not fit its stream; what the system says.
pub(crate) fn open(wishes: Wishes, announcer: &Announcer) -> io::Result<(Program, OwnedFd, Streams)> {
    let words = Kept::new(WORDS_BOUND);
    let (relay, launcher) = Relay::new(Targets { kept: Some(words.clone()), ..Targets::default() })?;
    let mut streams = Streams { relays: vec![relay], feed: None, stdout: None, stderr: None, words };
    if let Stdio::Pty { rows, columns } = wishes.stdin {
        let (stdin, stdout, terminal) = (null_input()?, null_output()?, Some((rows, columns)));
        return Ok((Program { stdin, stdout, stderr: None, terminal }, launcher, streams));
    }
    let stdin = streams.input(wishes.stdin)?;
    let stdout = end(wishes.stdout, io::stdout().as_fd())?;
    let stderr = end(wishes.stderr, io::stderr().as_fd())?;
    let shared = same_file(&stdout, &stderr);
    let (stdout, kept) = streams.output(stdout, wishes.max_output, (announcer.clone(), Event::Stdout))?;
    streams.stdout = kept;
    if shared {
        // `> log 2>&1`: one pipe keeps the order of the lines.
        let stderr = Some(stdout.try_clone()?);
        return Ok((Program { stdin, stdout, stderr, terminal: None }, launcher, streams));
    }
    let (stderr, kept) = streams.output(stderr, wishes.max_output, (announcer.clone(), Event::Stderr))?;
    streams.stderr = kept;
    Ok((Program { stdin, stdout, stderr: Some(stderr), terminal: None }, launcher, streams))
}

impl Streams {
    fn input(&mut self, wish: Stdio) -> io::Result<OwnedFd> {
        let descriptor = match wish {
            Stdio::Null => return null_input(),
            Stdio::Inherit => io::stdin().as_fd().try_clone_to_owned()?,
            Stdio::Fd(descriptor) => descriptor,
            Stdio::Capture | Stdio::Tee | Stdio::Pty { .. } => return Err(unfit("standard input")),
        };
        if !is_file(descriptor.as_fd())? {
            return Ok(descriptor);
        }
        let (feed, descriptor) = Feed::new(descriptor)?;
        self.feed = Some(feed);
        Ok(descriptor)
    }

    fn output(&mut self, end: End, bound: u64, announced: Announced) -> io::Result<(OwnedFd, Option<Kept>)> {
        let targets = match end {
            End::Direct(descriptor) => return Ok((descriptor, None)),
            End::File(file) => Targets { sink: Some(Sink::new(file)), ..Targets::default() },
            End::Kept(callers) => Targets {
                kept: Some(Kept::new(bound)),
                announced: Some(announced),
                sink: callers.map(Sink::new),
            },
        };
        let kept = targets.kept.clone();
        let (relay, descriptor) = Relay::new(targets)?;
        self.relays.push(relay);
        Ok((descriptor, kept))
    }

    /// What was captured; `None` where nothing was to be.
    pub(crate) fn captured(&self) -> Option<Output> {
        let take = |kept: &Option<Kept>| kept.as_ref().map(Kept::take);
        let (stdout, stderr) = (take(&self.stdout), take(&self.stderr));
        (stdout.is_some() || stderr.is_some())
            .then(|| Output { stdout: stdout.unwrap_or_default(), stderr: stderr.unwrap_or_default() })
    }

    /// What the launcher itself said.
    pub(crate) fn words(&self) -> String {
        self.words.take().text.as_os_str().to_string_lossy().into_owned()
    }
}

fn null_input() -> io::Result<OwnedFd> {
    Ok(File::open("/dev/null")?.into())
}

fn null_output() -> io::Result<OwnedFd> {
    Ok(OpenOptions::new().write(true).open("/dev/null")?.into())
}

fn end(wish: Stdio, callers: BorrowedFd<'_>) -> io::Result<End> {
    let descriptor = match wish {
        Stdio::Null => return Ok(End::Direct(null_output()?)),
        Stdio::Capture => return Ok(End::Kept(None)),
        Stdio::Tee => return Ok(End::Kept(Some(callers.try_clone_to_owned()?))),
        Stdio::Inherit => callers.try_clone_to_owned()?,
        Stdio::Fd(descriptor) => descriptor,
        Stdio::Pty { .. } => return Err(unfit("an output stream alone")),
    };
    Ok(if is_file(descriptor.as_fd())? { End::File(descriptor) } else { End::Direct(descriptor) })
}

fn unfit(stream: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("that does not fit {stream}"))
}

fn is_file(descriptor: BorrowedFd<'_>) -> io::Result<bool> {
    let kind = SFlag::from_bits_retain(fstat(descriptor)?.st_mode) & SFlag::S_IFMT;
    Ok(kind == SFlag::S_IFREG)
}

fn same_file(one: &End, other: &End) -> bool {
    let (End::File(one), End::File(other)) = (one, other) else { return false };
    match (fstat(one), fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}
