//! A descriptor of the caller's, written by a thread of its own: it may block for as long as it likes (a pager, a
//! stopped terminal), and neither O_NONBLOCK nor anything else about it is the runner's to change.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::sync::{mpsc, oneshot};

/// Chunks on their way; more waits.
const QUEUE: usize = 2;
const STACK: usize = 64 * 1024;

/// The async end.
pub(crate) struct Sink(State);

/// Most commands say nothing, so that the thread is made for the first chunk.
enum State {
    Idle(File),
    Writing(Writer),
    /// No thread could be made.
    Failed,
}

/// The thread, seen from outside.
struct Writer {
    chunks: mpsc::Sender<Vec<u8>>,
    done: oneshot::Receiver<()>,
}

/// Nobody reads the other end any more, or nobody can write to it.
pub(crate) struct Closed;

impl Sink {
    /// Writes there when there is something to write.
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        Self(State::Idle(descriptor.into()))
    }

    /// Waits for room, then hands a chunk over.
    pub(crate) async fn write(&mut self, chunk: Vec<u8>) -> Result<(), Closed> {
        self.0 = match std::mem::replace(&mut self.0, State::Failed) {
            State::Idle(file) => Writer::start(file).map_or(State::Failed, State::Writing),
            other => other,
        };
        match &self.0 {
            State::Writing(writer) => writer.chunks.send(chunk).await.map_err(|_| Closed),
            State::Idle(_) | State::Failed => Err(Closed),
        }
    }

    /// Waits until all is written.
    pub(crate) async fn finish(self) {
        if let State::Writing(Writer { chunks, done }) = self.0 {
            drop(chunks);
            // An error means that the thread is gone, which is as final.
            let _ = done.await;
        }
    }
}

impl Writer {
    fn start(mut file: File) -> io::Result<Self> {
        let (chunks, mut queue) = mpsc::channel::<Vec<u8>>(QUEUE);
        let (finished, done) = oneshot::channel();
        thread::Builder::new().name("confine-sink".into()).stack_size(STACK).spawn(move || {
            while let Some(chunk) = queue.blocking_recv() {
                if write_all(&mut file, &chunk).is_err() {
                    break;
                }
            }
            let _ = finished.send(());
        })?;
        Ok(Self { chunks, done })
    }
}

fn write_all(file: &mut File, mut chunk: &[u8]) -> io::Result<()> {
    while !chunk.is_empty() {
        match file.write(chunk) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => chunk = chunk.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(file.as_fd(), PollFlags::POLLOUT)], PollTimeout::NONE)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
