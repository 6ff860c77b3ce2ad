//! The terminal of the person who called: `/dev/tty`, which no redirection takes away and no confined program has.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{getpgrp, tcgetpgrp};
use rustix::fs::OFlags;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios, tcflush,
    tcgetwinsize,
};
use tokio::task::spawn_blocking;

use super::line::END_OF_FILE;
use crate::modes::{self, Changed};

/// The controlling terminal of whoever opens it.
pub(super) const PLACE: &str = "/dev/tty";
/// How often a terminal that takes no output is tried again.
const ROOM: Duration = Duration::from_millis(250);

/// What makes text readable again, and keys plain, whatever a program printed before it ended; after it the cursor is in an
/// empty last line, so that no row of the question goes on in a program's text. Sequences of ECMA-48, DEC and xterm; a
/// terminal that does not know one of them ignores it.
const PLAIN: &[&str] = &[
    // Ends a sequence or a string that is not complete, and VT52's own ones.
    "\x18\x1b\\\x1b<",
    // The main screen, on the terminal and not on its printer or status line, and shown as it changes.
    "\x1b[4i\x1b[?4i\x1b[0$}\x1b[?1049l\x1b[?1047l\x1b[?47l\x1b[?2026l",
    // A soft reset; no margins, no origin in them.
    "\x1b[!p\x1b[?69l\x1b[?6l\x1b[r",
    // Lines wrap, characters replace each other and can be erased, the cursor shows.
    "\x1b[?7h\x1b[4l\x1b[20l\x1b[0\"q\x1bW\x1b[?25h",
    // No attributes, no link, ASCII and UTF-8, and the terminal's own colours.
    "\x1b[0m\x1b[?5l\x1b]8;;\x1b\\\x1b(B\x0f\x1b%G\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\",
    // Keys come as their characters.
    "\x1b[>4m\x1b[=0u",
    // Below whatever is there.
    "\x1b[9999;1H\r\n\x1b[J",
];

/// The next row, empty. Erased only there: in a row that is full, it would take the last character with it.
const NEXT: &str = "\r\n\x1b[K";
/// The columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// A row of its own below a program's text, on a terminal that knows no sequences.
const PLAIN_GAP: &str = "\n\n";

/// The terminal. Dropped, its modes are as before.
pub(super) struct Device {
    file: Arc<File>,
    style: Style,
    _modes: Changed,
}

/// What the terminal is taken to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Sequences, and keys one by one.
    Sequences,
    /// Lines alone, which it edits itself: `TERM` is unset or `dumb`.
    Lines,
}

/// Says `text` in a row of its own, on a terminal whose modes are as before.
pub(super) fn say(text: &str) {
    if let Some(file) = open().ok().filter(is_foreground) {
        let _ = (&file).write(format!("{text}\r\n").as_bytes());
    }
}

/// Whether somebody is there to be asked: there is a controlling terminal, and this process is in its foreground. In the
/// background, a question would stop the process.
pub(crate) fn is_there() -> bool {
    open().is_ok_and(|file| is_foreground(&file))
}

impl Device {
    /// Takes the terminal. What was typed before is dropped. Inside a runtime.
    ///
    /// # Errors
    /// ENXIO without a controlling terminal, EIO in the background, those of changing modes.
    pub(super) fn take() -> io::Result<Self> {
        let file = open()?;
        if !is_foreground(&file) {
            return Err(Errno::EIO.into());
        }
        let style = Style::here();
        let modes = modes::change(&file, OptionalActions::Flush, |modes| style.set(modes))?;
        Ok(Self { file: Arc::new(file), style, _modes: modes })
    }

    /// What it is taken to know.
    pub(super) const fn style(&self) -> Style {
        self.style
    }

    /// Shows `text` in rows of its own, whatever a program did to the terminal. What was typed before it stood there is
    /// dropped.
    ///
    /// # Errors
    /// write(2)'s.
    pub(super) async fn show(&self, text: &str) -> io::Result<()> {
        match self.style {
            Style::Sequences => self.write(PLAIN.concat().as_bytes()).await?,
            Style::Lines => self.write(PLAIN_GAP.as_bytes()).await?,
        }
        self.print(text).await?;
        Ok(tcflush(&*self.file, QueueSelector::IFlush)?)
    }

    /// Writes `text` instead of the row that the cursor is in, which is empty where rows cannot be erased.
    ///
    /// # Errors
    /// write(2)'s.
    pub(super) async fn replace(&self, text: &str) -> io::Result<()> {
        let erase = match self.style {
            Style::Sequences => "\r\x1b[K",
            Style::Lines => "",
        };
        self.write(format!("{erase}{text}").as_bytes()).await
    }

    /// How many columns there are now.
    pub(super) fn columns(&self) -> usize {
        let size = tcgetwinsize(&*self.file).ok().filter(|size| size.ws_col > 0);
        size.map_or(COLUMNS, |size| usize::from(size.ws_col))
    }

    /// Writes `text` where the cursor is, each further line into an empty row.
    ///
    /// # Errors
    /// write(2)'s.
    pub(super) async fn print(&self, text: &str) -> io::Result<()> {
        self.write(self.rows(text).as_bytes()).await
    }

    /// Likewise, as far as the terminal takes it at once.
    pub(super) fn print_now(&self, text: &str) {
        let _ = (&*self.file).write(self.rows(text).as_bytes());
    }

    fn rows(&self, text: &str) -> String {
        match self.style {
            Style::Sequences => text.replace('\n', NEXT),
            Style::Lines => text.to_owned(),
        }
    }

    /// Waits for keys; none came where there are none. Cancel-safe.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub(super) async fn keys(&self, at_most: Duration) -> io::Result<Vec<u8>> {
        self.ready(PollFlags::POLLIN, at_most).await?;
        let mut buffer = [0; 256];
        match (&*self.file).read(&mut buffer) {
            Ok(0) if self.style == Style::Lines => Ok(vec![END_OF_FILE]),
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(buffer.get(..count).unwrap_or_default().to_vec()),
            Err(error) if is_only_early(&error) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match (&*self.file).write(bytes) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) if is_only_early(&error) => self.ready(PollFlags::POLLOUT, ROOM).await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// On a thread that only waits: it takes no key with it where nobody waits for it any more.
    async fn ready(&self, flags: PollFlags, at_most: Duration) -> io::Result<()> {
        let file = self.file.clone();
        let timeout = PollTimeout::try_from(at_most).unwrap_or(PollTimeout::ZERO);
        let waited = spawn_blocking(move || poll(&mut [PollFd::new(file.as_fd(), flags)], timeout));
        match waited.await.map_err(io::Error::other)? {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn is_only_early(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// An open file of our own: that it does not block is nobody else's affair.
fn open() -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    OpenOptions::new().read(true).write(true).custom_flags(flags.bits().cast_signed()).open(PLACE)
}

fn is_foreground(file: &File) -> bool {
    tcgetpgrp(file.as_fd()).is_ok_and(|group| group == getpgrp())
}

impl Style {
    /// By `TERM`.
    fn here() -> Self {
        match std::env::var_os("TERM") {
            Some(term) if !term.is_empty() && term != "dumb" => Self::Sequences,
            _ => Self::Lines,
        }
    }

    fn set(self, modes: &mut Termios) {
        match self {
            Self::Sequences => key_by_key(modes),
            Self::Lines => line_by_line(modes),
        }
    }
}

/// The terminal echoes, edits and hands over a line; its keys for signals are signals.
fn line_by_line(modes: &mut Termios) {
    modes.local_modes.insert(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHOE | LocalModes::ISIG);
    modes.output_modes.insert(OutputModes::OPOST | OutputModes::ONLCR);
    modes.input_modes.remove(InputModes::IGNCR | InputModes::INLCR | InputModes::ISTRIP);
    modes.input_modes.insert(InputModes::ICRNL);
}

/// No echo, no lines, no signals from keys; a key is there at once, and Enter is one byte. Output is what we write.
fn key_by_key(modes: &mut Termios) {
    modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
    modes.output_modes.remove(OutputModes::OPOST);
    modes.input_modes.remove(InputModes::IGNCR | InputModes::INLCR | InputModes::ISTRIP);
    modes.input_modes.insert(InputModes::ICRNL);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
}
