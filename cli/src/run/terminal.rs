//! The caller's terminal under `--tty`: raw while the program runs, restored whatever happens, and relayed both ways.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::termios::{OptionalActions, Termios, Winsize, isatty, tcgetwinsize, tcsetwinsize};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::modes::{self, Changed};

/// End of file, as a terminal's line discipline knows it.
const END_OF_FILE: &[u8] = &[4];
/// How long output may still come once every process is gone.
const REST: Duration = Duration::from_secs(1);
/// A size for callers without a terminal.
const DEFAULT_SIZE: Winsize = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// The caller's terminal, relayed. Dropped, it is as before.
pub(crate) struct Terminal {
    master: OwnedFd,
    resized: Signal,
    drained: Receiver<()>,
    _raw: Option<Changed>,
}

/// The size of the caller's terminal: of stdin, else stdout, else stderr.
pub(crate) fn size() -> Winsize {
    [tcgetwinsize(io::stdin()), tcgetwinsize(io::stdout()), tcgetwinsize(io::stderr())]
        .into_iter()
        .find_map(Result::ok)
        .filter(|size| size.ws_row > 0 && size.ws_col > 0)
        .unwrap_or(DEFAULT_SIZE)
}

impl Terminal {
    /// Relays between the caller and `master`, with the caller's terminal raw. Inside a runtime.
    ///
    /// # Errors
    /// tcsetattr(3)'s and those of making threads and duplicating descriptors.
    pub(crate) fn attach(master: OwnedFd) -> io::Result<Self> {
        let resized = signal(SignalKind::window_change())?;
        let output = File::from(master.try_clone()?);
        let input = File::from(master.try_clone()?);
        let raw = make_raw()?;
        let (done, drained) = channel();
        let mut terminal = Self { master, resized, drained, _raw: raw };
        terminal.resize();
        thread::Builder::new().name("terminal-output".into()).spawn(move || {
            copy(output, io::stdout());
            let _ = done.send(());
        })?;
        // Blocks in read(2) when the run ends, and ends with the process.
        thread::Builder::new().name("terminal-input".into()).spawn(move || feed(input))?;
        Ok(terminal)
    }

    /// Waits until the caller's terminal has another size, and passes it on. Cancel-safe.
    pub(crate) async fn follow_size(&mut self) {
        let _ = self.resized.recv().await;
        self.resize();
    }

    /// Once every process is gone: the rest of the output, and the terminal as before.
    pub(crate) fn detach(self) {
        let _ = self.drained.recv_timeout(REST);
    }

    /// Nothing is to be done where the program's terminal is gone.
    fn resize(&mut self) {
        let _ = tcsetwinsize(self.master.as_fd(), size());
    }
}

/// `None` where the caller's stdin is no terminal.
fn make_raw() -> io::Result<Option<Changed>> {
    let stdin = io::stdin();
    if !isatty(&stdin) {
        return Ok(None);
    }
    modes::change(stdin, OptionalActions::Drain, Termios::make_raw).map(Some)
}

/// Until the terminal is gone (EIO) or nobody reads.
fn copy(mut from: impl Read, mut to: impl Write) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let Some(bytes) = buffer.get(..count) else { return };
        if to.write_all(bytes).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

/// A caller's stdin that is no terminal ends; the program must see that end.
fn feed(mut master: File) {
    copy(io::stdin().lock(), &mut master);
    let _ = master.write_all(END_OF_FILE);
}
