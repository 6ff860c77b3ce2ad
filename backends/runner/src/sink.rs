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
pub(crate) struct Sink {
    chunks: mpsc::Sender<Vec<u8>>,
    done: oneshot::Receiver<()>,
}

/// Nobody reads the other end any more.
pub(crate) struct Closed;

impl Sink {
    /// Starts the thread.
    ///
    /// # Errors
    /// When no thread can be made.
    pub(crate) fn start(descriptor: OwnedFd) -> io::Result<Self> {
        let (chunks, mut queue) = mpsc::channel::<Vec<u8>>(QUEUE);
        let (finished, done) = oneshot::channel();
        let mut file = File::from(descriptor);
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

    /// Waits for room, then hands a chunk over.
    pub(crate) async fn write(&self, chunk: Vec<u8>) -> Result<(), Closed> {
        self.chunks.send(chunk).await.map_err(|_| Closed)
    }

    /// Waits until all is written.
    pub(crate) async fn finish(self) {
        drop(self.chunks);
        // An error means that the thread is gone, which is as final.
        let _ = self.done.await;
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
