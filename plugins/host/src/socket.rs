//! A socket to the broker, as frames.

use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use confine_core::egress::frame::{Decoder, Frame, FrameError, FrameKind, HEADER, Link, PART};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recv, recvmsg, send};

/// The most descriptors that one frame brings: the plugin, and 64 lanes.
const DESCRIPTORS: usize = 65;

/// Why a socket is of no use any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    /// The broker has closed it.
    #[error("the broker is gone")]
    Gone,
    /// It said what it may not.
    #[error("the broker broke the protocol: {0}")]
    Frame(#[from] FrameError),
    /// It said it at the wrong time.
    #[error("the broker said something out of turn")]
    Turn,
    /// The socket fails, or is none.
    #[error("the socket failed: {0}")]
    Call(#[from] Errno),
}

/// A socket, and which one it is.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
    identity: Identity,
    decoder: Decoder,
    buffer: Vec<u8>,
    /// What is not sent yet.
    out: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
}

type Identity = (u64, u64);

/// What a wait ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// Something can be read.
    Read,
    /// Something can be written, and nothing read.
    Write,
}

impl Socket {
    /// # Errors
    /// Where `fd` is no socket.
    pub(crate) fn new(fd: OwnedFd, link: Link) -> Result<Self, SocketError> {
        let identity = identity(&fd)?;
        let (decoder, descriptors) = (Decoder::new(link), VecDeque::new());
        Ok(Self { fd, identity, decoder, buffer: vec![0; HEADER + PART], out: Vec::new(), descriptors })
    }

    /// Whether its descriptor is still the socket that it was.
    pub(crate) fn is_intact(&self) -> bool {
        identity(&self.fd).is_ok_and(|identity| identity == self.identity)
    }

    /// The lowest number that a new descriptor gets; `None` where there is none left.
    pub(crate) fn lowest_free(&self) -> Option<i32> {
        use std::os::fd::AsRawFd as _;
        rustix::io::fcntl_dupfd_cloexec(&self.fd, 0).ok().map(|fd| fd.as_raw_fd())
    }

    /// Sends a frame, and before it what is not sent yet. Blocks.
    ///
    /// # Errors
    /// See [`SocketError`].
    pub(crate) fn send(&mut self, frame: Frame<'_>) -> Result<(), SocketError> {
        self.put(frame)?;
        self.flush(SendFlags::empty()).map(|_| ())
    }

    /// Takes a frame in, to be sent by [`Socket::push`].
    ///
    /// # Errors
    /// A frame that is too long.
    pub(crate) fn put(&mut self, frame: Frame<'_>) -> Result<(), SocketError> {
        Ok(frame.encode(&mut self.out)?)
    }

    /// Sends as much as the socket takes now. Whether that was all.
    ///
    /// # Errors
    /// See [`SocketError`].
    pub(crate) fn push(&mut self) -> Result<bool, SocketError> {
        self.flush(SendFlags::DONTWAIT)
    }

    /// Waits until there is something to read, or room to write.
    ///
    /// # Errors
    /// poll(2)'s.
    pub(crate) fn wait(&self) -> Result<Readiness, SocketError> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN | PollFlags::OUT)];
        retried(|| poll(&mut fds, None))?;
        let [fd] = fds;
        let readable = fd.revents().intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
        Ok(if readable { Readiness::Read } else { Readiness::Write })
    }

    /// The next frame. Reads no byte of a later one. Blocks.
    ///
    /// # Errors
    /// See [`SocketError`].
    pub(crate) fn receive(&mut self) -> Result<Frame<'_>, SocketError> {
        while self.decoder.wanted() > 0 {
            self.read()?;
            if self.decoder.wanted() > 0 {
                // None yet; but what is wrong with its beginning is known already.
                let _ = self.decoder.frame()?;
            }
        }
        self.decoder.frame()?.ok_or(SocketError::Turn)
    }

    /// The next frame where it is a [`Frame::Cancel`], taken; nothing else is. The end counts as one.
    pub(crate) fn takes_cancel(&mut self) -> bool {
        let mut header = [0; HEADER];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match retried(|| recv(&self.fd, &mut header, flags)) {
            Ok((_, 0)) => return true,
            Ok((_, HEADER)) => {}
            Ok(_) | Err(_) => return false,
        }
        let [.., kind] = header;
        let is_cancel = FrameKind::of(kind, Link::LaneToHelper) == Some(FrameKind::Cancel);
        is_cancel && self.receive().is_ok()
    }

    /// A descriptor that came with the frames until now.
    pub(crate) fn descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptors.pop_front()
    }

    fn flush(&mut self, how: SendFlags) -> Result<bool, SocketError> {
        while !self.out.is_empty() {
            match retried(|| send(&self.fd, &self.out, how | SendFlags::NOSIGNAL)) {
                Ok(count) => drop(self.out.drain(..count)),
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(SocketError::Gone),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    fn read(&mut self) -> Result<(), SocketError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let wanted = self.decoder.wanted().min(self.buffer.len());
        let mut parts = [IoSliceMut::new(self.buffer.get_mut(..wanted).unwrap_or_default())];
        let received = retried(|| recvmsg(&self.fd, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC));
        let count = match received {
            Ok(message) => message.bytes,
            Err(Errno::CONNRESET) => return Err(SocketError::Gone),
            Err(error) => return Err(error.into()),
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                self.descriptors.extend(fds);
            }
        }
        if count == 0 {
            return Err(SocketError::Gone);
        }
        self.decoder.push(self.buffer.get(..count).unwrap_or_default());
        Ok(())
    }
}

fn identity(fd: &OwnedFd) -> Result<Identity, SocketError> {
    let stat = fstat(fd)?;
    let is_socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
    if is_socket { Ok((stat.st_dev, stat.st_ino)) } else { Err(Errno::NOTSOCK.into()) }
}

fn retried<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
