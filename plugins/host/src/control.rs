//! The control socket: what is to be loaded, and the end.

use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use confine_core::egress::frame::{Frame, Link};
use confine_plugin_abi::table::ABI;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{getpid, set_child_subreaper};

use crate::exit::Exit;
use crate::loader::Plugin;
use crate::socket::{Socket, SocketError};
use crate::worker::Worker;

/// Of a lane's thread, in bytes: as much as a main thread has, for plugins that count on that. Only what is used is memory.
const STACK: usize = 8 * 1024 * 1024;
/// How long states may take to close once the broker is gone.
const GRACE: Duration = Duration::from_millis(100);

/// What the broker wants.
struct Order {
    plugin: OwnedFd,
    lanes: Vec<OwnedFd>,
    config: Arc<[u8]>,
}

/// Runs the helper, to its end.
pub fn main() -> ! {
    served().unwrap_or(Exit::Protocol).now()
}

fn served() -> Result<Exit, SocketError> {
    let mut control = Socket::new(taken_input()?, Link::ControlToHelper)?;
    // Whatever a plugin leaves running becomes a child of this process, which is how it is found.
    set_child_subreaper(Some(getpid()))?;
    let Order { plugin, lanes, config } = ordered(&mut control)?;
    let plugin: &'static Plugin = match Plugin::load(plugin) {
        Ok(plugin) => Box::leak(Box::new(plugin)),
        Err(refusal) => {
            control.send(Frame::Refused { reason: &refusal.to_string() })?;
            return Ok(Exit::Refused);
        }
    };
    let (ended, ends) = mpsc::channel();
    for (number, lane) in lanes.into_iter().enumerate() {
        let worker =
            Worker { plugin, socket: Socket::new(lane, Link::LaneToHelper)?, config: config.clone() };
        start(number, worker, ended.clone())?;
    }
    drop(ended);
    control.send(Frame::Hello { abi: ABI, size: plugin.size(), manifest: plugin.manifest() })?;
    match control.receive() {
        Err(SocketError::Gone) => {}
        Ok(_) => return Err(SocketError::Turn),
        Err(error) => return Err(error),
    }
    // The lanes are closed as well. Once no thread holds the sender, every state is.
    let _ = ends.recv_timeout(GRACE);
    Ok(Exit::Ended)
}

/// Standard input, under a number that nobody takes for standard input.
fn taken_input() -> Result<OwnedFd, SocketError> {
    let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(null)?;
    Ok(control)
}

fn ordered(control: &mut Socket) -> Result<Order, SocketError> {
    let (lanes, config) = match control.receive()? {
        Frame::Open { abi: ABI, lanes, config } => (usize::try_from(lanes).unwrap_or(0), config.into()),
        _ => return Err(SocketError::Turn),
    };
    let plugin = control.descriptor().ok_or(SocketError::Turn)?;
    let sockets: Vec<OwnedFd> = std::iter::from_fn(|| control.descriptor()).collect();
    if lanes == 0 || sockets.len() != lanes {
        return Err(SocketError::Turn);
    }
    Ok(Order { plugin, lanes: sockets, config })
}

fn start(number: usize, worker: Worker, ended: mpsc::Sender<()>) -> Result<(), SocketError> {
    let run = move || {
        worker.run();
        drop(ended);
    };
    let thread = thread::Builder::new().name(format!("lane {number}")).stack_size(STACK).spawn(run);
    thread.map(|_| ()).map_err(|_| SocketError::Call(rustix::io::Errno::AGAIN))
}
