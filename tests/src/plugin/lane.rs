//! The broker's end of a lane.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use confine_core::egress::frame::{Decoder, Frame, Link, Upload};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::PATIENCE;

/// What a helper says on a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A request, and whether a body follows.
    Fetch(String, bool),
    /// A part of that body.
    Upload(Vec<u8>),
    /// Its end.
    UploadEnd,
    /// No more of the answer.
    Stop,
    /// A connection.
    Connect(String),
    /// A line.
    Log(u8, String),
    /// A part of the reply.
    Reply(Vec<u8>),
    /// The end of the call.
    Done(i32),
}

/// How a call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// `None` where the helper ended without an answer.
    pub code: Option<i32>,
    /// The reply.
    pub reply: String,
    /// Levels and lines.
    pub logs: Vec<(u8, String)>,
}

/// See the module.
pub struct Lane {
    socket: UnixStream,
    decoder: Decoder,
    heard: VecDeque<Asked>,
}

impl Lane {
    pub(super) fn new(socket: UnixStream) -> Self {
        socket.set_nonblocking(true).expect("a flag");
        Self { socket, decoder: Decoder::new(Link::LaneToBroker), heard: VecDeque::new() }
    }

    /// Sends a frame, and hears what the helper says meanwhile. Whether it is still there.
    ///
    /// # Panics
    /// For a frame that is too long; where the helper neither reads nor writes for too long.
    pub fn send(&mut self, frame: Frame<'_>) -> bool {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).expect("a frame");
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match self.socket.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.ready(PollFlags::POLLIN | PollFlags::POLLOUT).contains(PollFlags::POLLIN) {
                        self.hear();
                    }
                }
                Err(_) => return false,
            }
        }
        true
    }

    /// Sends a connected socket.
    pub fn give(&mut self, descriptor: OwnedFd) {
        super::hand(&self.socket, Frame::Connected, &[descriptor]);
    }

    /// What the helper says next; `None` where it ended.
    ///
    /// # Panics
    /// When it says what it may not, or nothing for too long.
    pub fn hears(&mut self) -> Option<Asked> {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Some(heard);
            }
            self.ready(PollFlags::POLLIN);
            if !self.hear() {
                return None;
            }
        }
    }

    fn ready(&self, wanted: PollFlags) -> PollFlags {
        let mut fds = [PollFd::new(self.socket.as_fd(), wanted)];
        let patience = PollTimeout::try_from(PATIENCE).expect("a timeout");
        let count = poll(&mut fds, patience).expect("poll");
        assert!(count > 0, "the helper says nothing");
        fds[0].revents().unwrap_or(wanted)
    }

    /// Whether the helper is still there.
    fn hear(&mut self) -> bool {
        let mut buffer = [0; 70_000];
        let count = match self.socket.read(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return false,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            Err(error) => panic!("the helper says nothing: {error}"),
        };
        self.decoder.push(&buffer[..count]);
        while let Some(frame) = self.decoder.frame().expect("a frame of a lane") {
            self.heard.push_back(owned(frame));
        }
        true
    }

    /// One call, in which the plugin asks for nothing.
    ///
    /// # Panics
    /// When it does.
    pub fn call(&mut self, input: &str) -> Answered {
        self.answered(input, |_, asked| panic!("the plugin asks: {asked:?}"))
    }

    /// One call; `respond` gets whatever is no reply and no line.
    ///
    /// # Panics
    /// As [`Lane::hears`].
    pub fn answered(&mut self, input: &str, mut respond: impl FnMut(&mut Self, Asked)) -> Answered {
        let mut answered = Answered::default();
        if !self.send(Frame::Call { input: input.as_bytes() }) {
            return answered;
        }
        let mut reply = Vec::new();
        while let Some(asked) = self.hears() {
            match asked {
                Asked::Reply(part) => reply.extend(part),
                Asked::Log(level, line) => answered.logs.push((level, line)),
                Asked::Done(code) => {
                    answered.code = Some(code);
                    break;
                }
                other => respond(self, other),
            }
        }
        answered.reply = String::from_utf8_lossy(&reply).into_owned();
        answered
    }
}

fn owned(frame: Frame<'_>) -> Asked {
    match frame {
        Frame::Fetch { upload, request } => Asked::Fetch(text(request), upload == Upload::Follows),
        Frame::Upload { part } => Asked::Upload(part.to_vec()),
        Frame::UploadEnd => Asked::UploadEnd,
        Frame::Stop => Asked::Stop,
        Frame::Connect { target } => Asked::Connect(text(target)),
        Frame::Log { level, text } => Asked::Log(level, text.to_owned()),
        Frame::Reply { part } => Asked::Reply(part.to_vec()),
        Frame::Done { code } => Asked::Done(code),
        other => panic!("{other:?}"),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}
