//! A regular file on its way to the program's standard input.
//!
//! Whoever shares the file's offset (the next command of a script, the loop that reads the file line by line) goes on
//! where the program stopped reading, although more of the file was on its way to it: what nobody took is counted at
//! the end.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::{pipe2, write};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::relay::Phase;
use crate::spawn;

const CHUNK: usize = 64 * 1024;

/// A file, and the pipe that it is written to.
pub(crate) struct Feed {
    source: Arc<File>,
    /// The file's offset before.
    start: u64,
    sink: AsyncFd<Arc<OwnedFd>>,
    /// A read end of the pipe, for what nobody takes.
    rest: OwnedFd,
}

impl Feed {
    /// With the end for the program. Inside a runtime.
    ///
    /// # Errors
    /// pipe(2)'s and lseek(2)'s.
    pub(crate) fn new(source: OwnedFd) -> io::Result<(Self, OwnedFd)> {
        let mut source = File::from(source);
        let start = source.stream_position()?;
        let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
        // Each end is an open file of its own: the program's stays blocking.
        fcntl(&ours, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let sink = spawn::watched_for_room(Arc::new(ours))?;
        let rest = theirs.try_clone()?;
        Ok((Self { source: Arc::new(source), start, sink, rest }, theirs))
    }

    /// Until the tree is dead.
    pub(crate) async fn run(self, mut phase: watch::Receiver<Phase>) {
        let Self { source, start, sink, rest } = self;
        let mut written = 0;
        tokio::select! {
            biased;
            _ = phase.wait_for(|phase| *phase == Phase::Dead) => {}
            () = copy(&source, start, &sink, &mut written) => {}
        }
        // The end of file for the program.
        drop(sink);
        let _ = phase.wait_for(|phase| *phase == Phase::Dead).await;
        let left = io::copy(&mut File::from(rest), &mut io::sink()).unwrap_or(0);
        let taken = written.saturating_sub(left);
        // Where somebody else has moved it meanwhile, it is theirs.
        if (&*source).stream_position().is_ok_and(|offset| offset == start) {
            let _ = (&*source).seek(SeekFrom::Start(start.saturating_add(taken)));
        }
    }
}

/// Until the end of the file, counting what the pipe took.
async fn copy(source: &Arc<File>, start: u64, sink: &AsyncFd<Arc<OwnedFd>>, written: &mut u64) {
    while let Some(chunk) = read(source.clone(), start.saturating_add(*written)).await {
        let mut rest = chunk.as_slice();
        while !rest.is_empty() {
            let Ok(count) = sink.async_io(Interest::WRITABLE, |sink| Ok(write(sink, rest)?)).await else {
                return;
            };
            rest = rest.get(count..).unwrap_or_default();
            *written = written.saturating_add(u64::try_from(count).unwrap_or(0));
        }
    }
}

/// `None` at the end of the file, or where it cannot be read. A file may be on a slow file system.
async fn read(source: Arc<File>, offset: u64) -> Option<Vec<u8>> {
    let read = spawn_blocking(move || {
        let mut chunk = vec![0; CHUNK];
        let count = source.read_at(&mut chunk, offset)?;
        chunk.truncate(count);
        io::Result::Ok(chunk)
    });
    read.await.ok()?.ok().filter(|chunk| !chunk.is_empty())
}
