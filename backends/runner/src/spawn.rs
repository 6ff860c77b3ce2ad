//! Starting a wrapper, and the process that comes of it.
//!
//! The stage, and an ordinary user's bwrap, are started by the calling thread: posix_spawn(3) blocks until the new
//! process has executed (0.3 ms). Everything else is started by a thread that lives as long as there is a run: root's
//! bwrap, which needs a mount namespace around it ([`devices`]), and wrappers of others, since a parent-death signal that
//! a wrapper may set follows the thread that spawned it, not the process.

mod devices;
mod keeper;
mod system;

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use confine_core::Loss;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use tokio::io::unix::AsyncFd;

use crate::guard::Guard;
use crate::tree;

use keeper::Keeper;

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

/// Which thread starts a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// The one that asks.
    Caller,
    /// One that lives as long as there is a run, and in which root's device nodes are read-only.
    Keeper,
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
    /// Some of these once more, to be kept until there is time: who is the last to close a file in memory frees it, and
    /// the 0.1 ms that this takes are better not spent before the program runs.
    pub(crate) kept: Vec<OwnedFd>,
    /// Its process group.
    pub(crate) group: Group,
    /// Who starts it.
    pub(crate) parent: Parent,
    /// What is owed on the host once the tree is gone, where that is known.
    pub(crate) guard: Option<Guard>,
}

/// A wrapper, a child of this process. Dropped unreaped, it is reaped by a thread of its own, which then lets go of the
/// guard; whoever drops it has cut the lifeline.
pub(crate) struct Process {
    pid: Pid,
    pidfd: Arc<OwnedFd>,
    debts: Option<Guard>,
    kept: Vec<OwnedFd>,
    end: Option<WaitStatus>,
}

/// Starts wrappers. The keeping thread ends with this value.
#[derive(Default)]
pub(crate) struct Spawner {
    keeper: OnceLock<Keeper>,
}

impl Spawner {
    /// With the keeping thread, which makes itself ready meanwhile.
    ///
    /// # Errors
    /// No thread can be made.
    pub(crate) fn warm() -> io::Result<Self> {
        Ok(Self { keeper: OnceLock::from(Keeper::start()?) })
    }

    /// Starts a wrapper.
    ///
    /// # Errors
    /// As posix_spawn(3) and pidfd_open(2); no thread can be made.
    pub(crate) async fn spawn(&self, request: Request) -> io::Result<Process> {
        match (request.parent, self.keeper.get()) {
            (Parent::Caller, _) => start(request),
            (Parent::Keeper, Some(keeper)) => keeper.spawn(request).await,
            (Parent::Keeper, None) => {
                let started = Keeper::start()?;
                self.keeper.get_or_init(|| started).spawn(request).await
            }
        }
    }
}

fn start(request: Request) -> io::Result<Process> {
    let pid = system::spawn(&request)?;
    let pidfd = system::pidfd(pid).inspect_err(|_| abandon(pid))?;
    Ok(Process { pid, pidfd: Arc::new(pidfd), debts: request.guard, kept: request.kept, end: None })
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

    /// Notes what is owed for it.
    pub(crate) fn owe(&mut self, guard: Guard) {
        self.debts = Some(guard);
    }

    /// What the run goes without, where no entry could be written.
    pub(crate) fn loss(&self) -> Option<Loss> {
        self.debts.as_ref().and_then(Guard::loss)
    }

    /// Lets go of what it was given to read: it has.
    pub(crate) fn has_read(&mut self) {
        self.kept.clear();
    }

    /// What is owed, where it can be paid before the end: the caller knows that nobody is left inside.
    pub(crate) fn settle_if(&mut self, is_payable: impl FnOnce(&Guard) -> bool) -> Option<Guard> {
        self.debts.take_if(|guard| is_payable(guard))
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
