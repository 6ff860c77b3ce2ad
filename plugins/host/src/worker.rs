//! The thread of a lane.

use std::rc::Rc;
use std::sync::Arc;

use confine_core::egress::frame::Frame;
use confine_plugin_abi::Code;
use confine_plugin_abi::code::OK;

use crate::exit::Exit;
use crate::fitness::Fitness;
use crate::lane::Lane;
use crate::loader::{Plugin, State};
use crate::socket::{Socket, SocketError};

/// What a lane needs.
pub(crate) struct Worker {
    pub(crate) plugin: &'static Plugin,
    pub(crate) socket: Socket,
    pub(crate) config: Arc<[u8]>,
}

impl Worker {
    /// Answers calls until the broker closes the lane.
    pub(crate) fn run(self) {
        let lane = Rc::new(Lane::new(self.socket));
        let mut seat = Seat { plugin: self.plugin, config: self.config, lane, state: None };
        loop {
            match seat.next() {
                Ok(Some(input)) => seat.answer(&input),
                Ok(None) => {}
                Err(SocketError::Gone) => return,
                Err(_) => Exit::Protocol.now(),
            }
        }
    }
}

/// A lane with its state, once there is one, and how the process was then.
struct Seat {
    plugin: &'static Plugin,
    config: Arc<[u8]>,
    lane: Rc<Lane>,
    state: Option<(State, Option<Fitness>)>,
}

impl Seat {
    /// The input of the next call; `None` for what the call before has left.
    fn next(&self) -> Result<Option<Vec<u8>>, SocketError> {
        match self.lane.socket().borrow_mut().receive()? {
            Frame::Call { input } => Ok(Some(input.to_vec())),
            Frame::Cancel => Ok(None),
            _ => Err(SocketError::Turn),
        }
    }

    fn answer(&mut self, input: &[u8]) {
        self.lane.begin();
        let result = self.called(input);
        let is_intact = self.lane.socket().borrow().is_intact();
        if !is_intact {
            Exit::Lost.now();
        }
        let is_fit = self.is_fit();
        let code = result.map_or_else(Code::number, |()| OK);
        let sent = self.lane.socket().borrow_mut().send(Frame::Done { code });
        if self.lane.is_broken() || sent.is_err() {
            Exit::Protocol.now();
        }
        if !is_fit {
            Exit::Worn.now();
        }
    }

    fn called(&mut self, input: &[u8]) -> Result<(), Code> {
        if self.state.is_none() {
            let state = State::open(self.plugin, &self.lane, &self.config)?;
            let before = Fitness::now(&self.lane);
            self.state = Some((state, before));
        }
        let Some((state, _)) = &mut self.state else { return Err(Code::Failed) };
        state.call(input)
    }

    /// A state that was not opened has nothing to compare with, and is as good as none.
    fn is_fit(&self) -> bool {
        let Some(now) = Fitness::now(&self.lane) else { return false };
        match &self.state {
            Some((_, Some(before))) => now.is_like(before),
            Some((_, None)) => false,
            None => true,
        }
    }
}
