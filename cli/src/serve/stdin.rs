//! What a client gives a program to read: a bounded amount waits, and none of it holds up the connection.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use confine_core::Text;
use confine_core::protocol::{Complaint, Fault, Name, Names, Taken, ToClient};
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

use super::channel::Voice;

/// How much may wait for a program, in bytes.
pub(super) const MOST: usize = 1024 * 1024;

/// The connection's end.
pub(super) struct Inlet {
    /// `None` once the client said that there is no more.
    queue: Option<mpsc::UnboundedSender<Vec<u8>>>,
    waiting: Arc<AtomicUsize>,
}

/// The run's end.
pub(super) struct Outlet {
    queue: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
}

/// Both ends.
pub(super) fn open() -> (Inlet, Outlet) {
    let (sender, queue) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    (Inlet { queue: Some(sender), waiting: waiting.clone() }, Outlet { queue, waiting })
}

impl Inlet {
    /// Takes more in, all of it or nothing.
    ///
    /// # Errors
    /// [`Fault::StdinClosed`] where the program reads no more, or was said to get no more; [`Fault::StdinFull`].
    pub(super) fn push(&mut self, data: Text, end: bool) -> Result<(), Fault> {
        let queue = self.queue.as_ref().filter(|queue| !queue.is_closed()).ok_or(Fault::StdinClosed)?;
        let bytes = data.into_os_string().into_encoded_bytes();
        if self.waiting.load(Ordering::Relaxed).saturating_add(bytes.len()) > MOST {
            return Err(Fault::StdinFull);
        }
        if !bytes.is_empty() {
            self.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
            queue.send(bytes).map_err(|_| Fault::StdinClosed)?;
        }
        if end {
            self.queue = None;
        }
        Ok(())
    }
}

impl Outlet {
    /// Writes what comes to `pipe` until there is no more or nobody reads it, and says how much that was. Afterwards the
    /// program sees the end.
    pub(super) async fn pour(mut self, mut pipe: pipe::Sender, run: Name, voice: Voice) {
        let mut taken = 0_u64;
        while let Some(bytes) = self.queue.recv().await {
            if pipe.write_all(&bytes).await.is_err() {
                // Whoever waits for it to be taken would wait until the run is over.
                let about =
                    Names { of: Some("run/stdin".into()), run: Some(run.to_string()), ..Names::default() };
                let text = "take it: the program reads no more".to_owned();
                let closed = Complaint { fault: Fault::StdinClosed, text, about, launch_fault: None };
                let _ = voice.say(&ToClient::Error(Box::new(closed))).await;
                return;
            }
            self.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            taken = taken.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            let message = ToClient::RunStdin(Taken { run: run.clone(), taken });
            if voice.say(&message).await.is_err() {
                return;
            }
        }
    }
}

/// A pipe whose other end is the program's.
///
/// # Errors
/// pipe(2)'s.
pub(super) fn pipe() -> io::Result<(pipe::Sender, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((pipe::Sender::from_owned_fd(writer.into())?, reader.into()))
}

/// A file in memory that holds `data`, at its beginning.
///
/// # Errors
/// memfd_create(2)'s and write(2)'s.
pub(super) fn file(data: &Text) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(memfd_create("confine-stdin", MemfdFlags::CLOEXEC)?);
    io::Write::write_all(&mut file, data.as_os_str().as_encoded_bytes())?;
    seek(&file, SeekFrom::Start(0))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(size: usize) -> Text {
        Text::from(vec![b'a'; size])
    }

    #[test]
    fn no_more_waits_than_the_bound_and_nothing_comes_after_the_end() {
        let (mut inlet, outlet) = open();
        assert_eq!(inlet.push(text(MOST), false), Ok(()));
        assert_eq!(inlet.push(text(1), false), Err(Fault::StdinFull));
        outlet.waiting.store(0, Ordering::Relaxed);
        assert_eq!(inlet.push(text(1), true), Ok(()));
        assert_eq!(inlet.push(text(0), false), Err(Fault::StdinClosed));
    }

    #[test]
    fn a_program_that_reads_no_more_is_told_of() {
        let (mut inlet, outlet) = open();
        drop(outlet);
        assert_eq!(inlet.push(text(1), false), Err(Fault::StdinClosed));
    }
}
