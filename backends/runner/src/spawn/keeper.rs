//! The thread that starts wrappers which depend on the thread that started them.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::mpsc;
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Uid;
use tokio::sync::oneshot;

use super::devices::Devices;
use super::{Process, Request, start};

/// The thread's queue, and the bell that says that something is in it. The order matters: the thread, woken by the end
/// of the bell, finds the end of the queue.
pub(super) struct Keeper {
    jobs: mpsc::Sender<Job>,
    bell: io::PipeWriter,
}

struct Job {
    request: Request,
    reply: oneshot::Sender<io::Result<Process>>,
}

impl Keeper {
    /// Starts the thread.
    pub(super) fn start() -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (heard, bell) = io::pipe()?;
        let serve = move || serve(&queue, heard);
        thread::Builder::new().name("confine-spawn".into()).stack_size(128 * 1024).spawn(serve)?;
        Ok(Self { jobs, bell })
    }

    /// Starts a wrapper.
    pub(super) async fn spawn(&self, request: Request) -> io::Result<Process> {
        let (reply, answer) = oneshot::channel();
        let gone = || io::Error::other("the spawning thread is gone");
        self.jobs.send(Job { request, reply }).map_err(|_| gone())?;
        (&self.bell).write_all(&[1])?;
        answer.await.map_err(|_| gone())?
    }
}

fn serve(queue: &mpsc::Receiver<Job>, mut bell: io::PipeReader) {
    let mut devices = Uid::effective().is_root().then(Devices::default);
    // What cannot be made ready is what the first job says.
    let _ = devices.as_mut().map(Devices::enter);
    while wait(&mut bell, devices.as_mut()) {
        for Job { request, reply } in queue.try_iter() {
            let ready = devices.as_mut().map_or(Ok(()), Devices::enter);
            // Where nobody waits any more, the process comes back and is dropped, and so reaped.
            let _ = reply.send(ready.and_then(|()| start(request)));
        }
    }
}

/// Until the bell rings; false at its end. In between, what the host takes away is let go of.
fn wait(bell: &mut io::PipeReader, mut devices: Option<&mut Devices>) -> bool {
    loop {
        let watched = devices.as_ref().and_then(|devices| devices.watched());
        let mut sources = vec![PollFd::new(bell.as_fd(), PollFlags::POLLIN)];
        sources.extend(watched.map(|mounts| PollFd::new(mounts, PollFlags::POLLPRI)));
        match poll(&mut sources, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return false,
        }
        let rang = sources.first().and_then(PollFd::any).unwrap_or(false);
        let moved = sources.get(1).and_then(PollFd::any).unwrap_or(false);
        if moved && let Some(devices) = &mut devices {
            // Who cannot leave says so at the next job, and at all others.
            let _ = devices.leave();
        }
        if rang {
            return bell.read(&mut [0; 64]).is_ok_and(|count| count > 0);
        }
    }
}
