//! Bytes to frames and back.

use super::{Frame, FrameKind, HEADER, LONGEST, Link, PART, Upload};

/// What is wrong with what a peer said, or with what would be said to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A payload that is too long.
    #[error("a frame of {0} bytes is longer than 1 MiB")]
    TooLong(usize),
    /// A part that is too long.
    #[error("a part of {0} bytes is longer than 64 KiB")]
    PartTooLong(usize),
    /// A kind that is none here.
    #[error("a frame of kind {0} may not be said here")]
    Kind(u8),
    /// A payload that is not what its kind has.
    #[error("a frame of kind {0} has another payload than its kind")]
    Payload(u8),
}

/// Bytes that came over one link, and the frames in them.
#[derive(Debug)]
pub struct Decoder {
    link: Link,
    held: Vec<u8>,
    /// How many of the held bytes are frames that were taken.
    taken: usize,
}

impl Frame<'_> {
    /// Appends the frame to `out`.
    ///
    /// # Errors
    /// A payload or a part that is too long; nothing is appended then.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        let (fixed, rest) = self.parts();
        let length = fixed.len().saturating_add(rest.len());
        if self.kind().is_part() && rest.len() > PART {
            return Err(FrameError::PartTooLong(rest.len()));
        }
        let long = u32::try_from(length).ok().filter(|_| length <= LONGEST);
        let long = long.ok_or(FrameError::TooLong(length))?;
        out.reserve(HEADER.saturating_add(length));
        out.extend_from_slice(&long.to_le_bytes());
        out.push(self.kind().byte());
        out.extend_from_slice(&fixed);
        out.extend_from_slice(rest);
        Ok(())
    }

    /// Fields of a fixed length, and what follows them.
    fn parts(&self) -> (Vec<u8>, &[u8]) {
        match *self {
            Self::Open { abi, lanes, config } => ([abi.to_le_bytes(), lanes.to_le_bytes()].concat(), config),
            Self::Hello { abi, size, manifest } => {
                let mut fixed = abi.to_le_bytes().to_vec();
                fixed.extend_from_slice(&size.to_le_bytes());
                (fixed, manifest)
            }
            Self::Refused { reason } => (Vec::new(), reason.as_bytes()),
            Self::Call { input: rest }
            | Self::Head { head: rest }
            | Self::Body { part: rest }
            | Self::Upload { part: rest }
            | Self::Connect { target: rest }
            | Self::Reply { part: rest } => (Vec::new(), rest),
            Self::Failed { code, text } => (code.to_le_bytes().to_vec(), text.as_bytes()),
            Self::Fetch { upload, request } => (vec![u8::from(upload == Upload::Follows)], request),
            Self::Log { level, text } => (vec![level], text.as_bytes()),
            Self::Done { code } => (code.to_le_bytes().to_vec(), &[]),
            Self::Cancel | Self::End | Self::Connected | Self::UploadEnd | Self::Stop => (Vec::new(), &[]),
        }
    }

    /// A payload of a kind. `None` where it is not one.
    fn decode(kind: FrameKind, payload: &[u8]) -> Option<Frame<'_>> {
        let text = |bytes| std::str::from_utf8(bytes).ok();
        let is_empty = payload.is_empty();
        Some(match kind {
            FrameKind::Open => {
                let (abi, rest) = payload.split_first_chunk()?;
                let (lanes, config) = rest.split_first_chunk()?;
                Frame::Open { abi: u32::from_le_bytes(*abi), lanes: u32::from_le_bytes(*lanes), config }
            }
            FrameKind::Hello => {
                let (abi, rest) = payload.split_first_chunk()?;
                let (size, manifest) = rest.split_first_chunk()?;
                Frame::Hello { abi: u32::from_le_bytes(*abi), size: u64::from_le_bytes(*size), manifest }
            }
            FrameKind::Refused => Frame::Refused { reason: text(payload)? },
            FrameKind::Call => Frame::Call { input: payload },
            FrameKind::Head => Frame::Head { head: payload },
            FrameKind::Body => Frame::Body { part: payload },
            FrameKind::Failed => {
                let (code, rest) = payload.split_first_chunk()?;
                Frame::Failed { code: i32::from_le_bytes(*code), text: text(rest)? }
            }
            FrameKind::Fetch => match payload.split_first()? {
                (0, request) => Frame::Fetch { upload: Upload::None, request },
                (1, request) => Frame::Fetch { upload: Upload::Follows, request },
                _ => return None,
            },
            FrameKind::Upload => Frame::Upload { part: payload },
            FrameKind::Connect => Frame::Connect { target: payload },
            FrameKind::Log => {
                let (level, rest) = payload.split_first()?;
                Frame::Log { level: *level, text: text(rest)? }
            }
            FrameKind::Reply => Frame::Reply { part: payload },
            FrameKind::Done => Frame::Done { code: i32::from_le_bytes(payload.try_into().ok()?) },
            FrameKind::Cancel if is_empty => Frame::Cancel,
            FrameKind::End if is_empty => Frame::End,
            FrameKind::Connected if is_empty => Frame::Connected,
            FrameKind::UploadEnd if is_empty => Frame::UploadEnd,
            FrameKind::Stop if is_empty => Frame::Stop,
            FrameKind::Cancel
            | FrameKind::End
            | FrameKind::Connected
            | FrameKind::UploadEnd
            | FrameKind::Stop => return None,
        })
    }
}

impl FrameKind {
    /// Whether its payload is a part of something longer.
    const fn is_part(self) -> bool {
        matches!(self, Self::Body | Self::Upload | Self::Reply)
    }
}

impl Decoder {
    /// For what comes over `link`.
    pub const fn new(link: Link) -> Self {
        Self { link, held: Vec::new(), taken: 0 }
    }

    /// Takes in what was read. Holds no more than it is given: whoever reads takes frames out before reading on, and then
    /// it never holds more than one frame and what was read behind it.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.drain(..self.taken);
        self.taken = 0;
        self.held.extend_from_slice(bytes);
    }

    /// The next whole frame; `None` until more was pushed.
    ///
    /// # Errors
    /// A frame that is too long, of a kind that may not be said here, or malformed. The length and the kind are looked at
    /// before the payload is there. The link is of no use afterwards, and every later call says so again.
    pub fn frame(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let rest = self.held.get(self.taken..).unwrap_or_default();
        let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let [a, b, c, d, byte] = *header;
        let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        let kind = FrameKind::of(byte, self.link).ok_or(FrameError::Kind(byte))?;
        if length > LONGEST {
            return Err(FrameError::TooLong(length));
        }
        if kind.is_part() && length > PART {
            return Err(FrameError::PartTooLong(length));
        }
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let frame = Frame::decode(kind, payload).ok_or(FrameError::Payload(byte))?;
        self.taken = self.taken.saturating_add(HEADER).saturating_add(length);
        Ok(Some(frame))
    }

    /// How many bytes more the next frame takes, as far as is known; what a reader may read without going beyond it. 0 where
    /// a whole frame is there.
    pub fn wanted(&self) -> usize {
        let rest = self.held.get(self.taken..).unwrap_or_default();
        let Some((length, _)) = rest.split_first_chunk::<4>() else {
            return HEADER.saturating_sub(rest.len());
        };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX).min(LONGEST);
        HEADER.saturating_add(length).saturating_sub(rest.len())
    }

    /// Whether nothing is held that belongs to a frame: an end of file here cuts none.
    pub fn is_between(&self) -> bool {
        self.taken == self.held.len()
    }
}
