//! One lane of a helper: frames out, frames in. A future that is dropped in the middle loses neither.

use std::io;
use std::os::fd::BorrowedFd;

use bytes::Bytes;
use confine_core::egress::frame::{Decoder, Frame, FrameError, HEADER, Link, PART, Upload};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::wire;

/// Why a lane is of no use any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaneError {
    /// The helper is gone.
    #[error("it ended")]
    Ended,
    /// The socket fails.
    #[error("its socket failed: {0}")]
    Socket(#[source] io::Error),
    /// It says what it may not.
    #[error("it broke the protocol: {0}")]
    Frame(#[from] FrameError),
    /// It says something that fits nowhere.
    #[error("it broke the protocol: {0}")]
    Turn(&'static str),
}

/// What a helper says on a lane.
#[derive(Debug)]
pub(crate) enum Said {
    Fetch { upload: Upload, request: Vec<u8> },
    Upload(Bytes),
    UploadEnd,
    Stop,
    Connect(Vec<u8>),
    Log(u8, String),
    Reply(Bytes),
    Done(i32),
}

/// A lane.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
    /// Whether the helper has asked for something, and waits for the answer's end.
    pub(crate) asked: Asked,
}

/// What a helper waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Nothing,
    Something,
}

/// What comes.
#[derive(Debug)]
pub(crate) struct Reader {
    half: OwnedReadHalf,
    decoder: Decoder,
    buffer: Vec<u8>,
}

/// What goes.
#[derive(Debug)]
pub(crate) struct Writer {
    half: OwnedWriteHalf,
    pending: Vec<u8>,
    sent: usize,
}

impl Lane {
    pub(crate) fn new(socket: UnixStream) -> Self {
        let (reader, writer) = socket.into_split();
        let decoder = Decoder::new(Link::LaneToBroker);
        Self {
            reader: Reader { half: reader, decoder, buffer: Vec::new() },
            writer: Writer { half: writer, pending: Vec::new(), sent: 0 },
            asked: Asked::Nothing,
        }
    }
}

impl Reader {
    /// The next frame. Dropping the future loses nothing.
    ///
    /// # Errors
    /// See [`LaneError`].
    pub(crate) async fn next(&mut self) -> Result<Said, LaneError> {
        loop {
            if let Some(frame) = self.decoder.frame()? {
                return said(frame);
            }
            self.buffer.resize(HEADER + PART, 0);
            match self.half.read(&mut self.buffer).await {
                Ok(0) => return Err(LaneError::Ended),
                Ok(count) => self.decoder.push(self.buffer.get(..count).unwrap_or_default()),
                Err(error) => return Err(of_socket(error)),
            }
        }
    }
}

fn said(frame: Frame<'_>) -> Result<Said, LaneError> {
    Ok(match frame {
        Frame::Fetch { upload, request } => Said::Fetch { upload, request: request.to_vec() },
        Frame::Upload { part } => Said::Upload(Bytes::copy_from_slice(part)),
        Frame::UploadEnd => Said::UploadEnd,
        Frame::Stop => Said::Stop,
        Frame::Connect { target } => Said::Connect(target.to_vec()),
        Frame::Log { level, text } => Said::Log(level, text.to_owned()),
        Frame::Reply { part } => Said::Reply(Bytes::copy_from_slice(part)),
        Frame::Done { code } => Said::Done(code),
        _ => return Err(LaneError::Turn("a frame of another link")),
    })
}

impl Writer {
    /// Sends a frame. Where the future is dropped, the rest of the frame goes before the next.
    ///
    /// # Errors
    /// See [`LaneError`].
    pub(crate) async fn send(&mut self, frame: Frame<'_>) -> Result<(), LaneError> {
        frame.encode(&mut self.pending)?;
        self.flush().await
    }

    /// Sends a frame with a descriptor beside its first byte.
    ///
    /// # Errors
    /// See [`LaneError`].
    pub(crate) async fn send_with(
        &mut self,
        frame: Frame<'_>,
        descriptor: BorrowedFd<'_>,
    ) -> Result<(), LaneError> {
        self.flush().await?;
        let mut bytes = Vec::new();
        frame.encode(&mut bytes)?;
        wire::send_with(self.half.as_ref(), &bytes, &[descriptor]).await.map_err(of_socket)
    }

    async fn flush(&mut self) -> Result<(), LaneError> {
        while let Some(rest) = self.pending.get(self.sent..).filter(|rest| !rest.is_empty()) {
            self.sent += self.half.write(rest).await.map_err(of_socket)?;
        }
        self.pending.clear();
        self.sent = 0;
        Ok(())
    }
}

fn of_socket(error: io::Error) -> LaneError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => LaneError::Ended,
        _ => LaneError::Socket(error),
    }
}
