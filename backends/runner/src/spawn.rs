//! Starting a wrapper, and the process that comes of it.
//!
//! One thread per [`Confine`](crate::Confine) starts every wrapper: posix_spawn(3) blocks until the new process has
//! executed, so it stays off the runtime, and a parent-death signal that a wrapper may set follows the thread that
//! spawned it, not the process, so that thread lives as long as there is a run. Root's bwrap, which sets none, is the
//! exception: see [`devices`].

mod devices;
mod system;

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, Uid};
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

use crate::guard::Guard;
use crate::tree;

pub use system::adopt;
pub(crate) use system::{receive, watched, watched_for_room};

/// How long a wrapper may take to end after its lifeline is cut. Measured: at most 24 ms.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The process group of a new process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Its own, so that a signal to the caller's group does not reach it before the program.
    Own,
    /// The caller's, for a stage that makes a session: setsid(2) fails for the leader of a group.
    Callers,
}

/// What is to be started.
pub(crate) struct Request {
    /// Absolute, or `/proc/self/fd/N` with N among the targets.
    pub(crate) program: CString,
    /// All words, the program's name first.
    pub(crate) argv: Vec<CString>,
    /// `NAME=VALUE`; nothing else is passed.
    pub(crate) environment: Vec<CString>,
    /// Which descriptor becomes which number. Nothing else is passed, as long as everything else is close-on-exec.
    pub(crate) descriptors: Vec<(RawFd, OwnedFd)>,
    /// Its process group.
    pub(crate) group: Group,
    /// What is owed on the host once the tree is gone.
    pub(crate) guard: Guard,
}

/// A wrapper, a child of this process. Dropped unreaped, it is reaped by a thread of its own, which then lets go of the
/// guard; whoever drops it has cut the lifeline.
pub(crate) struct Process {
    pid: Pid,
    pidfd: Arc<OwnedFd>,
    debts: Option<Guard>,
    end: Option<WaitStatus>,
}

/// The thread that starts wrappers. It ends with this value.
pub(crate) struct Spawner {
    jobs: mpsc::Sender<Job>,
}

struct Job {
    request: Request,
    reply: oneshot::Sender<io::Result<Process>>,
}

impl Spawner {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::Builder::new().name("confine-spawn".into()).stack_size(128 * 1024).spawn(move || {
            for job in queue {
                // Where nobody waits any more, the process comes back and is dropped, and so reaped.
                let _ = job.reply.send(start(job.request));
            }
        })?;
        Ok(Self { jobs })
    }

    /// Starts a wrapper.
    pub(crate) async fn spawn(&self, request: Request) -> io::Result<Process> {
        let (reply, answer) = oneshot::channel();
        let gone = || io::Error::other("the spawning thread is gone");
        self.jobs.send(Job { request, reply }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

fn start(request: Request) -> io::Result<Process> {
    let pid = if request.group == Group::Own && Uid::effective().is_root() {
        beside_read_only_devices(&request)?
    } else {
        system::spawn(&request)?
    };
    let pidfd = system::pidfd(pid).inspect_err(|_| abandon(pid))?;
    Ok(Process { pid, pidfd: Arc::new(pidfd), debts: Some(request.guard), end: None })
}

/// From a thread that ends at once, and with it the mount namespace, unless the wrapper is still in it: a mount that the
/// host takes away must not live on in a namespace of ours. What is started so has no parent-death signal.
fn beside_read_only_devices(request: &Request) -> io::Result<Pid> {
    thread::scope(|scope| {
        let child = || devices::protect().and_then(|()| system::spawn(request));
        let started = thread::Builder::new().name("confine-devices".into()).stack_size(128 * 1024);
        let started = started.spawn_scoped(scope, child)?;
        started.join().unwrap_or_else(|_| Err(io::Error::other("the spawning thread is gone")))
    })
}

/// A wrapper that cannot be watched: no pidfd_open(2) before Linux 5.3, or no descriptor left.
fn abandon(pid: Pid) {
    tree::end(pid);
    let _ = waitpid(pid, None);
}

impl Process {
    /// Its id on the host.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Readable once it has ended. Inside a runtime.
    pub(crate) fn watch(&self) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
        watched(self.pidfd.clone())
    }

    /// Reaps it where it has ended. `ECHILD`, because the harness reaps all its children, counts as ended.
    pub(crate) fn reap(&mut self) -> Option<WaitStatus> {
        if self.end.is_none() {
            self.end = reap(&self.pidfd, self.pid, WaitPidFlag::WNOHANG);
        }
        self.end
    }

    /// What is owed, once it is reaped.
    pub(crate) fn settle(&mut self) -> Option<Guard> {
        self.end.and_then(|_| self.debts.take())
    }
}

fn reap(pidfd: &OwnedFd, pid: Pid, flags: WaitPidFlag) -> Option<WaitStatus> {
    loop {
        match waitid(Id::PIDFd(pidfd.as_fd()), WaitPidFlag::WEXITED | flags) {
            Ok(WaitStatus::StillAlive) => return None,
            Ok(status) => return Some(status),
            Err(Errno::EINTR) => {}
            Err(_) => return Some(WaitStatus::Exited(pid, 0)),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.reap().is_some() {
            return;
        }
        let (pid, pidfd, debts) = (self.pid, self.pidfd.clone(), self.debts.take());
        // Where no thread can be made, the journal keeps the debts and init the process.
        let _ = thread::Builder::new().name("confine-reap".into()).stack_size(256 * 1024).spawn(move || {
            await_end(&pidfd, pid);
            drop(debts);
        });
    }
}

fn await_end(pidfd: &OwnedFd, pid: Pid) {
    let patience = PollTimeout::try_from(PATIENCE).unwrap_or(PollTimeout::MAX);
    let ended = poll(&mut [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)], patience);
    if !matches!(ended, Ok(1)) {
        tree::end(pid);
    }
    reap(pidfd, pid, WaitPidFlag::empty());
}
