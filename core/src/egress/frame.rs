//! The frames between the broker and the helper that runs a plugin.
//!
//! A frame is the length of its payload (u32, little-endian, at most 1 MiB), its kind (u8) and the payload. There is one
//! *control* socket, and a *lane* for each call that the helper may run at once; so a frame needs no number of its call,
//! and the socket's buffer is the back-pressure. Bodies come in parts of at most 64 KiB. Everything here is pure: bytes
//! come in, frames come out, and a peer that says what it may not is an error.

#[cfg(test)]
mod cases;
mod codec;
mod kind;
#[cfg(test)]
mod tests;

pub use codec::{Decoder, FrameError};
pub use kind::{FrameKind, Link};

/// The longest payload, in bytes. A longer one ends the helper.
pub const LONGEST: usize = 1024 * 1024;
/// The longest part of a body or a reply, in bytes.
pub const PART: usize = 64 * 1024;
/// Length and kind, in bytes.
pub const HEADER: usize = 5;

/// A frame and its payload, borrowed from where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Control, to the helper, with the descriptors of the plugin and of each lane: load it.
    Open {
        /// The ABI that the lock approved.
        abi: u32,
        /// How many lanes follow.
        lanes: u32,
        /// The plugin's configuration, JSON.
        config: &'a [u8],
    },
    /// Control, from the helper: it is loaded.
    Hello {
        /// The ABI that it has.
        abi: u32,
        /// The size of its table, in bytes.
        size: u64,
        /// The manifest that it says it has at run time.
        manifest: &'a [u8],
    },
    /// Control, from the helper: it is not loaded. For people.
    Refused {
        /// Why.
        reason: &'a str,
    },
    /// Lane, to the helper: begin a call.
    Call {
        /// JSON.
        input: &'a [u8],
    },
    /// Lane, to the helper: end it soon.
    Cancel,
    /// Lane, to the helper: the answer to a [`Frame::Fetch`] begins.
    Head {
        /// JSON, a [`Head`](crate::egress::tool::Head).
        head: &'a [u8],
    },
    /// Lane, to the helper: a part of its body.
    Body {
        /// At most [`PART`] bytes.
        part: &'a [u8],
    },
    /// Lane, to the helper: its body is over.
    End,
    /// Lane, to the helper: what was asked for failed.
    Failed {
        /// A code of the ABI, negative.
        code: i32,
        /// Why, for people.
        text: &'a str,
    },
    /// Lane, to the helper, with one descriptor: the socket that was asked for.
    Connected,
    /// Lane, from the helper: make a request.
    Fetch {
        /// Whether its body follows.
        upload: Upload,
        /// JSON, a [`Request`](crate::egress::tool::Request).
        request: &'a [u8],
    },
    /// Lane, from the helper: a part of the request's body.
    Upload {
        /// At most [`PART`] bytes.
        part: &'a [u8],
    },
    /// Lane, from the helper: the request's body is over.
    UploadEnd,
    /// Lane, from the helper: no more of the answer is wanted, or the request's body cannot be had to its end. The request
    /// is to be broken off; [`Frame::End`] or [`Frame::Failed`] still follows. Where it is over already, this says nothing.
    Stop,
    /// Lane, from the helper: connect.
    Connect {
        /// JSON, a [`Target`](crate::egress::tool::Target).
        target: &'a [u8],
    },
    /// Lane, from the helper: a line for the log.
    Log {
        /// How much it matters: 0 is the most.
        level: u8,
        /// What.
        text: &'a str,
    },
    /// Lane, from the helper: a part of the reply.
    Reply {
        /// At most [`PART`] bytes.
        part: &'a [u8],
    },
    /// Lane, from the helper: the call is over.
    Done {
        /// A code of the ABI.
        code: i32,
    },
}

/// Whether the body of a request follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upload {
    /// It has none.
    None,
    /// [`Frame::Upload`] parts follow, then [`Frame::UploadEnd`].
    Follows,
}
