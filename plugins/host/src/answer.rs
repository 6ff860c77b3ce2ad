//! What the broker says on a lane while a call runs, in memory of its own.

use confine_core::egress::frame::Frame;
use confine_plugin_abi::Code;

use crate::socket::SocketError;

#[derive(Debug)]
pub(crate) enum Answer {
    Head(Vec<u8>),
    Body(Vec<u8>),
    End,
    Failed(Code),
    Connected,
    Cancel,
}

impl Answer {
    /// # Errors
    /// A frame that does not belong there.
    pub(crate) fn of(frame: Frame<'_>) -> Result<Self, SocketError> {
        Ok(match frame {
            Frame::Head { head } => Self::Head(head.to_vec()),
            Frame::Body { part } => Self::Body(part.to_vec()),
            Frame::End => Self::End,
            Frame::Failed { code, .. } => Self::Failed(Code::check(code).err().unwrap_or(Code::Failed)),
            Frame::Connected => Self::Connected,
            Frame::Cancel => Self::Cancel,
            _ => return Err(SocketError::Turn),
        })
    }
}
