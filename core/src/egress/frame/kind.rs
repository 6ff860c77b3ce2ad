//! The kinds, and who may say which where.

use super::Frame;

/// The kind of a frame, as its byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// [`Frame::Open`].
    Open,
    /// [`Frame::Hello`].
    Hello,
    /// [`Frame::Refused`].
    Refused,
    /// [`Frame::Call`].
    Call,
    /// [`Frame::Cancel`].
    Cancel,
    /// [`Frame::Head`].
    Head,
    /// [`Frame::Body`].
    Body,
    /// [`Frame::End`].
    End,
    /// [`Frame::Failed`].
    Failed,
    /// [`Frame::Connected`].
    Connected,
    /// [`Frame::Fetch`].
    Fetch,
    /// [`Frame::Upload`].
    Upload,
    /// [`Frame::UploadEnd`].
    UploadEnd,
    /// [`Frame::Stop`].
    Stop,
    /// [`Frame::Connect`].
    Connect,
    /// [`Frame::Log`].
    Log,
    /// [`Frame::Reply`].
    Reply,
    /// [`Frame::Done`].
    Done,
}

/// A socket and a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The control socket, read by the helper.
    ControlToHelper,
    /// The control socket, read by the broker.
    ControlToBroker,
    /// A lane, read by the helper.
    LaneToHelper,
    /// A lane, read by the broker.
    LaneToBroker,
}

const TABLE: &[(FrameKind, u8, Link)] = &[
    (FrameKind::Open, 1, Link::ControlToHelper),
    (FrameKind::Hello, 2, Link::ControlToBroker),
    (FrameKind::Refused, 3, Link::ControlToBroker),
    (FrameKind::Call, 16, Link::LaneToHelper),
    (FrameKind::Cancel, 17, Link::LaneToHelper),
    (FrameKind::Head, 18, Link::LaneToHelper),
    (FrameKind::Body, 19, Link::LaneToHelper),
    (FrameKind::End, 20, Link::LaneToHelper),
    (FrameKind::Failed, 21, Link::LaneToHelper),
    (FrameKind::Connected, 22, Link::LaneToHelper),
    (FrameKind::Fetch, 32, Link::LaneToBroker),
    (FrameKind::Upload, 33, Link::LaneToBroker),
    (FrameKind::UploadEnd, 34, Link::LaneToBroker),
    (FrameKind::Connect, 35, Link::LaneToBroker),
    (FrameKind::Log, 36, Link::LaneToBroker),
    (FrameKind::Reply, 37, Link::LaneToBroker),
    (FrameKind::Done, 38, Link::LaneToBroker),
    (FrameKind::Stop, 39, Link::LaneToBroker),
];

impl FrameKind {
    /// By its byte, where it may be said on `link`.
    pub fn of(byte: u8, link: Link) -> Option<Self> {
        TABLE.iter().find(|(_, known, on)| (*known, *on) == (byte, link)).map(|(kind, ..)| *kind)
    }

    /// Its byte.
    pub fn byte(self) -> u8 {
        TABLE.iter().find(|(kind, ..)| *kind == self).map_or(0, |(_, byte, _)| *byte)
    }
}

impl Frame<'_> {
    /// Its kind.
    pub const fn kind(&self) -> FrameKind {
        match self {
            Self::Open { .. } => FrameKind::Open,
            Self::Hello { .. } => FrameKind::Hello,
            Self::Refused { .. } => FrameKind::Refused,
            Self::Call { .. } => FrameKind::Call,
            Self::Cancel => FrameKind::Cancel,
            Self::Head { .. } => FrameKind::Head,
            Self::Body { .. } => FrameKind::Body,
            Self::End => FrameKind::End,
            Self::Failed { .. } => FrameKind::Failed,
            Self::Connected => FrameKind::Connected,
            Self::Fetch { .. } => FrameKind::Fetch,
            Self::Upload { .. } => FrameKind::Upload,
            Self::UploadEnd => FrameKind::UploadEnd,
            Self::Stop => FrameKind::Stop,
            Self::Connect { .. } => FrameKind::Connect,
            Self::Log { .. } => FrameKind::Log,
            Self::Reply { .. } => FrameKind::Reply,
            Self::Done { .. } => FrameKind::Done,
        }
    }
}
