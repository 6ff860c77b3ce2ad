//! A lane: the socket of one state, and what the plugin may ask for over it.
//!
//! Every function is for the lane's own thread. What the plugin calls from inside its sinks and sources comes back here,
//! so nothing stays borrowed while they run.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::thread::{self, ThreadId};

use confine_core::egress::frame::{Frame, PART, Upload};
use confine_plugin_abi::Code;
use confine_plugin_abi::table::TEXT_MAX;

use crate::answer::Answer;
use crate::course::{Course, Exchange};
use crate::socket::{Readiness, Socket, SocketError};

/// See the module.
#[derive(Debug)]
pub(crate) struct Lane {
    owner: ThreadId,
    socket: RefCell<Socket>,
    cancelled: Cell<bool>,
    /// An exchange is running.
    busy: Cell<bool>,
    /// The socket is of no use any more.
    broken: Cell<bool>,
}

/// How an exchange stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It is running.
    Open,
    /// It is running, and nobody wants the rest.
    Stopped,
    /// It is over.
    Over(Result<(), Code>),
}

impl Lane {
    /// Of this thread.
    pub(crate) fn new(socket: Socket) -> Self {
        Self {
            owner: thread::current().id(),
            socket: RefCell::new(socket),
            cancelled: Cell::new(false),
            busy: Cell::new(false),
            broken: Cell::new(false),
        }
    }

    /// The socket, between two calls.
    pub(crate) fn socket(&self) -> &RefCell<Socket> {
        &self.socket
    }

    /// Makes it ready for the next call.
    pub(crate) fn begin(&self) {
        self.cancelled.set(false);
    }

    /// Whether the broker is gone, or said what it may not.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.get()
    }

    /// Notes a line, at most 64 KiB of it.
    pub(crate) fn log(&self, level: u32, text: &[u8]) {
        if !self.is_own() {
            return;
        }
        let level = u8::try_from(level).ok().filter(|level| (1..=4).contains(level)).unwrap_or(4);
        let text = text.get(..PART).unwrap_or(text);
        // Where it does not arrive, the next call of the host says so.
        let _ = self.send(Frame::Log { level, text: &String::from_utf8_lossy(text) });
    }

    /// Writes a part of the reply.
    pub(crate) fn reply(&self, part: &[u8]) -> Course {
        for part in part.chunks(PART) {
            if self.is_cancelled() || self.send(Frame::Reply { part }).is_err() {
                return Course::Break(());
            }
        }
        Course::Continue(())
    }

    /// Whether the call is to end.
    pub(crate) fn is_cancelled(&self) -> bool {
        if self.is_own() && !self.cancelled.get() && !self.broken.get() {
            self.cancelled.set(self.socket.borrow_mut().takes_cancel());
        }
        self.cancelled.get() || self.broken.get()
    }

    /// Makes a request and takes its answer.
    ///
    /// # Errors
    /// Those of the header.
    pub(crate) fn fetch(&self, request: &[u8], exchange: &mut Exchange<'_>) -> Result<(), Code> {
        let upload = if exchange.upload.is_some() { Upload::Follows } else { Upload::None };
        self.asked(request, |lane| {
            lane.send(Frame::Fetch { upload, request })?;
            let mut standing = lane.upload(exchange)?;
            while !matches!(standing, Standing::Over(_)) {
                standing = lane.step(exchange, standing)?;
            }
            Ok(standing)
        })
        .map(|_| ())
    }

    /// Asks for a connected socket.
    ///
    /// # Errors
    /// Those of the header.
    pub(crate) fn connect(&self, target: &[u8]) -> Result<OwnedFd, Code> {
        self.asked(target, |lane| {
            lane.send(Frame::Connect { target })?;
            loop {
                match lane.receive()? {
                    Answer::Connected => return Ok(Standing::Over(Ok(()))),
                    Answer::Failed(code) => return Ok(Standing::Over(Err(code))),
                    Answer::Cancel => lane.cancelled.set(true),
                    Answer::Head(_) | Answer::Body(_) | Answer::End => return Err(SocketError::Turn),
                }
            }
        })?;
        self.socket.borrow_mut().descriptor().ok_or(Code::Failed)
    }

    /// One exchange at a time, on this thread, while the call is to go on.
    fn asked(
        &self,
        text: &[u8],
        act: impl FnOnce(&Self) -> Result<Standing, SocketError>,
    ) -> Result<(), Code> {
        if !self.is_own() {
            return Err(Code::Failed);
        }
        if self.busy.get() || text.len() > TEXT_MAX {
            return Err(Code::BadInput);
        }
        if self.is_cancelled() {
            return Err(Code::Cancelled);
        }
        self.busy.set(true);
        let standing = act(self);
        self.busy.set(false);
        match standing {
            Ok(Standing::Over(Ok(()))) if self.cancelled.get() => Err(Code::Cancelled),
            Ok(Standing::Over(result)) => result,
            Ok(Standing::Open | Standing::Stopped) => Err(Code::Failed),
            Err(_) => {
                self.broken.set(true);
                Err(Code::Cancelled)
            }
        }
    }

    /// Sends the body of a request, and takes what comes of the answer meanwhile: a server may answer before it has read
    /// everything, and read no further before its answer is taken.
    fn upload(&self, exchange: &mut Exchange<'_>) -> Result<Standing, SocketError> {
        let mut standing = Standing::Open;
        let mut buffer = vec![0; if exchange.upload.is_some() { PART } else { 0 }];
        while standing == Standing::Open {
            let Some(read) = &mut exchange.upload else { return Ok(standing) };
            let count = match read(&mut buffer) {
                Some(count) => count,
                None => return self.stop().map(|()| Standing::Stopped),
            };
            let part = buffer.get(..count).unwrap_or_default();
            let frame = if part.is_empty() { Frame::UploadEnd } else { Frame::Upload { part } };
            self.checked(self.socket.borrow_mut().put(frame))?;
            standing = self.pushed(exchange)?;
            if count == 0 {
                return Ok(standing);
            }
        }
        Ok(standing)
    }

    /// Sends what was put in, and takes what comes meanwhile.
    fn pushed(&self, exchange: &mut Exchange<'_>) -> Result<Standing, SocketError> {
        let mut standing = Standing::Open;
        while !self.checked(self.socket.borrow_mut().push())? {
            if matches!(standing, Standing::Over(_)) || self.socket.borrow().wait()? == Readiness::Write {
                continue;
            }
            standing = self.step(exchange, standing)?;
        }
        Ok(standing)
    }

    /// Takes the next frame of an answer.
    fn step(&self, exchange: &mut Exchange<'_>, standing: Standing) -> Result<Standing, SocketError> {
        let course = match self.receive()? {
            Answer::End if standing == Standing::Stopped => return Ok(Standing::Over(Err(Code::Cancelled))),
            Answer::End => return Ok(Standing::Over(Ok(()))),
            Answer::Failed(_) if standing == Standing::Stopped => {
                return Ok(Standing::Over(Err(Code::Cancelled)));
            }
            Answer::Failed(code) => return Ok(Standing::Over(Err(code))),
            Answer::Connected => return Err(SocketError::Turn),
            Answer::Cancel => {
                self.cancelled.set(true);
                Course::Break(())
            }
            Answer::Head(_) | Answer::Body(_) if standing == Standing::Stopped => Course::Continue(()),
            Answer::Head(text) => (exchange.head)(&text),
            Answer::Body(part) => (exchange.body)(&part),
        };
        if course.is_continue() || standing == Standing::Stopped {
            return Ok(standing);
        }
        self.stop()?;
        Ok(Standing::Stopped)
    }

    fn stop(&self) -> Result<(), SocketError> {
        self.send(Frame::Stop)
    }

    fn send(&self, frame: Frame<'_>) -> Result<(), SocketError> {
        self.checked(self.socket.borrow_mut().send(frame))
    }

    fn receive(&self) -> Result<Answer, SocketError> {
        let mut socket = self.socket.borrow_mut();
        let answer = socket.receive().and_then(Answer::of);
        self.checked(answer)
    }

    fn checked<T>(&self, result: Result<T, SocketError>) -> Result<T, SocketError> {
        if result.is_err() {
            self.broken.set(true);
        }
        result
    }

    fn is_own(&self) -> bool {
        thread::current().id() == self.owner
    }
}
