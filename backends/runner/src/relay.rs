//! One output stream of the program on its way through the runner: kept, announced, passed on.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use confine_core::report::Stream;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::{pipe2, read};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use crate::capture::Capture;
use crate::events::{Announcer, Event};
use crate::sink::{Closed, Sink};
use crate::spawn;

/// Most commands say a line or nothing; who fills this gets the whole.
const FIRST: usize = 4 * 1024;
const CHUNK: usize = 32 * 1024;

/// What is kept of a stream, shared so that nothing already read is lost, however its relay ends.
#[derive(Clone)]
pub(crate) struct Kept(Arc<Mutex<Capture>>);

impl Kept {
    /// At most `bound` bytes.
    pub(crate) fn new(bound: u64) -> Self {
        Self(Arc::new(Mutex::new(Capture::new(bound))))
    }

    fn push(&self, chunk: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
    }

    /// What there is.
    pub(crate) fn take(&self) -> Stream {
        let mut capture = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *capture, Capture::new(0)).finish()
    }
}

/// To whom a stream is announced, and as what.
pub(crate) type Announced = (Announcer, fn(Vec<u8>) -> Event);

/// Where a relay's chunks go.
#[derive(Default)]
pub(crate) struct Targets {
    /// Kept for the report.
    pub(crate) kept: Option<Kept>,
    /// Sent as events of this kind.
    pub(crate) announced: Option<Announced>,
    /// Passed on.
    pub(crate) sink: Option<Sink>,
}

/// How far a run is, for its relays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The program has not started.
    Launch,
    /// It has.
    Running,
    /// The whole tree is gone.
    Dead,
}

/// A pipe whose other end is the program's.
pub(crate) struct Relay {
    source: AsyncFd<Arc<OwnedFd>>,
    targets: Targets,
}

impl Relay {
    /// With the end for the program.
    ///
    /// # Errors
    /// pipe(2)'s.
    pub(crate) fn new(targets: Targets) -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = pipe2(OFlag::O_CLOEXEC)?;
        // Each end is an open file of its own: the program's stays blocking.
        fcntl(&ours, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok((Self { source: spawn::watched(Arc::new(ours))?, targets }, theirs))
    }

    /// Until the end of file; once the tree is dead, until there is nothing more, because the other end may have been
    /// handed to somebody outside the tree. Where the sink closes, so does the pipe, and the program gets SIGPIPE. What
    /// is announced waits for the program's start to be announced first.
    pub(crate) async fn run(mut self, mut phase: watch::Receiver<Phase>) {
        if self.targets.announced.is_some() {
            let _ = phase.wait_for(|phase| *phase != Phase::Launch).await;
        }
        let mut buffer = vec![0; FIRST];
        loop {
            let count = self.read(&mut buffer, &mut phase).await;
            let chunk = buffer.get(..count).unwrap_or_default();
            if chunk.is_empty() || self.pass(chunk).await.is_err() {
                break;
            }
            if count == buffer.len() {
                buffer.resize(CHUNK, 0);
            }
        }
        drop(self.source);
        if let Some(sink) = self.targets.sink.take() {
            sink.finish().await;
        }
    }

    async fn read(&self, buffer: &mut [u8], phase: &mut watch::Receiver<Phase>) -> usize {
        while *phase.borrow() != Phase::Dead {
            tokio::select! {
                biased;
                ready = self.source.readable() => {
                    let Ok(mut ready) = ready else { return 0 };
                    if let Ok(count) = ready.try_io(|source| Ok(read(source.get_ref(), buffer)?)) {
                        return count.unwrap_or(0);
                    }
                }
                _ = phase.wait_for(|phase| *phase == Phase::Dead) => {}
            }
        }
        read(self.source.get_ref(), buffer).unwrap_or(0)
    }

    async fn pass(&mut self, chunk: &[u8]) -> Result<(), Closed> {
        if let Some(kept) = &self.targets.kept {
            kept.push(chunk);
        }
        if let Some((announcer, event)) = &self.targets.announced {
            announcer.output(event(chunk.to_vec()), chunk.len()).await;
        }
        match &mut self.targets.sink {
            Some(sink) => sink.write(chunk.to_vec()).await,
            None => Ok(()),
        }
    }
}
