//! One question to a program: its standard input is a file in memory, its answer is what it writes until it ends.
//!
//! It gets nothing of the caller's: three descriptors and itself, an environment of its own, `/` to start in, a process
//! group that is ended with it, whatever happens.

use std::ffi::{CString, NulError};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

use confine_core::Text;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, chdir, pipe2};

use crate::{sealed, tree};

/// The program, while it runs: the interpreter of a script opens it by this number.
const PROGRAM: RawFd = 3;
/// Nothing of the caller's: where tools are, and a language that does not change.
const ENVIRONMENT: [&str; 2] =
    ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"];
/// How much of its standard error is kept, in bytes.
const SAID: usize = 4096;
const CHUNK: usize = 16 * 1024;
/// How long a killed program is waited for: one that the kernel holds is left to it.
const REAPED: Duration = Duration::from_secs(2);
/// How often it is looked at.
const PAUSE: Duration = Duration::from_millis(1);

/// What one answer may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// From the start to the end of the program.
    pub(crate) time: Duration,
    /// Of its answer, in bytes.
    pub(crate) answer: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { time: Duration::from_secs(5), answer: 1024 * 1024 }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It cannot be started.
    #[error("it cannot be started: {0}")]
    Start(#[source] io::Error),
    /// It was ended.
    #[error("it has not ended within {0:?}")]
    Late(Duration),
    /// It was ended.
    #[error("it writes more than {0} bytes")]
    TooLong(usize),
    /// It failed, with the last line of its standard error.
    #[error("it {end}{}", .said.as_ref().map(|said| format!(": `{said}`")).unwrap_or_default())]
    Failed {
        /// How.
        end: String,
        /// Its last words.
        said: Option<Text>,
    },
}

impl From<Errno> for CallError {
    fn from(errno: Errno) -> Self {
        Self::Start(errno.into())
    }
}

impl From<io::Error> for CallError {
    fn from(error: io::Error) -> Self {
        Self::Start(error)
    }
}

/// Runs `program VERB`, writes `request` and answers what it wrote. Blocks until it has ended, or was ended.
///
/// # Errors
/// Where it does not answer within the bounds, or ends in another way than with 0.
pub(crate) fn call(
    program: &OwnedFd,
    name: &str,
    verb: &str,
    request: &[u8],
    bounds: Bounds,
) -> Result<Vec<u8>, CallError> {
    let deadline = Instant::now() + bounds.time;
    let (answer, theirs) = pipe2(OFlag::O_CLOEXEC)?;
    let (words, errors) = pipe2(OFlag::O_CLOEXEC)?;
    let request = sealed::data(request)?;
    // In this order: the last may already have the number that it gets.
    let descriptors = [(0, request), (1, theirs), (2, errors), (PROGRAM, program.try_clone()?)];
    let mut running = Running::start(name, verb, descriptors)?;
    let mut answer = Output::of(answer, bounds.answer)?;
    let mut said = Output::of(words, SAID)?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(CallError::Late(bounds.time));
        }
        let ended = running.wait(&[&answer, &said], left)?;
        answer.read()?;
        said.read()?;
        if answer.overflowed {
            return Err(CallError::TooLong(bounds.answer));
        }
        if ended {
            return match running.end() {
                WaitStatus::Exited(_, 0) => Ok(answer.bytes),
                status => Err(CallError::Failed { end: describe(status), said: last_line(&said.bytes) }),
            };
        }
    }
}

fn describe(status: WaitStatus) -> String {
    match status {
        WaitStatus::Exited(_, code) => format!("exits with {code}"),
        WaitStatus::Signaled(_, signal, _) => format!("is ended by {signal}"),
        _ => "ends".to_owned(),
    }
}

fn last_line(said: &[u8]) -> Option<Text> {
    let mut lines = said.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.rfind(|line| !line.is_empty()).map(|line| Text::from(line.to_vec()))
}

/// A program that runs. Its group is ended when this is dropped.
struct Running {
    pid: Pid,
    pidfd: OwnedFd,
    ended: Option<WaitStatus>,
}

impl Running {
    fn start(name: &str, verb: &str, descriptors: [(RawFd, OwnedFd); 4]) -> Result<Self, CallError> {
        let pid = in_root(|| spawned(name, verb, descriptors))?;
        match pidfd(pid) {
            Ok(pidfd) => Ok(Self { pid, pidfd, ended: None }),
            Err(error) => {
                end(pid);
                Err(error.into())
            }
        }
    }

    /// Until there is something to read, or the program has ended; answers whether it has.
    fn wait(&self, outputs: &[&Output; 2], left: Duration) -> Result<bool, Errno> {
        let mut sources: Vec<PollFd<'_>> = vec![PollFd::new(self.pidfd.as_fd(), PollFlags::POLLIN)];
        let open = outputs.iter().filter(|output| output.open);
        sources.extend(open.map(|output| PollFd::new(output.file.as_fd(), PollFlags::POLLIN)));
        // A millisecond more: a timeout is rounded down.
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        match poll(&mut sources, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
        Ok(sources.first().and_then(PollFd::any).unwrap_or(false))
    }

    /// Ends whatever is left of the group, and reaps the program.
    fn end(&mut self) -> WaitStatus {
        *self.ended.get_or_insert_with(|| end(self.pid))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Until it is reaped the program's number stays its own, and so does that of its group. The program may have left that
/// group, and its children theirs, so each is ended for itself.
fn end(pid: Pid) -> WaitStatus {
    tree::end(pid);
    // Nobody may be left.
    let _ = killpg(pid, Signal::SIGKILL);
    let until = Instant::now() + REAPED;
    loop {
        match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) if Instant::now() < until => thread::sleep(PAUSE),
            Ok(status) => return status,
            Err(Errno::EINTR) => {}
            // The harness reaps all its children: how it ended is not known, what it answered is.
            Err(_) => return WaitStatus::Exited(pid, 0),
        }
    }
}

/// Does it in `/`: what is in the caller's directory is not the program's to find. By a thread of its own, since the
/// directory is the whole process's otherwise.
fn in_root(start: impl FnOnce() -> io::Result<Pid> + Send) -> io::Result<Pid> {
    let there = || {
        unshare(CloneFlags::CLONE_FS)?;
        chdir("/")?;
        start()
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, there)?;
        thread.join().map_err(|_| io::Error::other("the thread that starts it ended"))?
    })
}

fn spawned(name: &str, verb: &str, descriptors: [(RawFd, OwnedFd); 4]) -> io::Result<Pid> {
    let mut actions = PosixSpawnFileActions::init()?;
    let lifted: Vec<(RawFd, OwnedFd)> = descriptors
        .into_iter()
        // Never below 3, so that no standard descriptor is overwritten before it is used.
        .map(|(target, source)| Ok((target, source.try_clone()?)))
        .collect::<io::Result<_>>()?;
    for (target, source) in &lifted {
        actions.add_dup2(source.as_raw_fd(), *target)?;
    }
    for inherited in inherited()? {
        actions.add_close(inherited)?;
    }
    let words = [c_string(name)?, c_string(verb)?];
    let environment = ENVIRONMENT.map(c_string).into_iter().collect::<io::Result<Vec<_>>>()?;
    let program = c_string(&format!("/proc/self/fd/{PROGRAM}"))?;
    Ok(posix_spawn(program.as_c_str(), &actions, &attributes()?, &words, &environment)?)
}

fn attributes() -> Result<PosixSpawnAttr, Errno> {
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
            | PosixSpawnFlags::POSIX_SPAWN_SETPGROUP,
    )?;
    attributes.set_pgroup(Pid::from_raw(0))?;
    attributes.set_sigdefault(&SigSet::all())?;
    attributes.set_sigmask(&SigSet::empty())?;
    Ok(attributes)
}

/// Descriptors that somebody left open across exec, above those that the program gets.
fn inherited() -> io::Result<Vec<RawFd>> {
    let numbers = fs::read_dir("/proc/self/fd")?.flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    Ok(numbers.filter(|number| *number > PROGRAM && !is_close_on_exec(*number)).collect())
}

/// By `/proc/self/fdinfo`: one that is gone meanwhile needs no closing.
fn is_close_on_exec(number: RawFd) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else { return true };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_CLOEXEC != 0)
}

fn pidfd(pid: Pid) -> io::Result<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(pid.as_raw()).ok_or_else(|| io::Error::from(Errno::ESRCH))?;
    Ok(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?)
}

fn c_string(word: &str) -> io::Result<CString> {
    CString::new(word).map_err(|error: NulError| io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// The beginning of what is written to a pipe.
struct Output {
    file: File,
    bytes: Vec<u8>,
    bound: usize,
    open: bool,
    /// There was more.
    overflowed: bool,
}

impl Output {
    fn of(pipe: OwnedFd, bound: usize) -> Result<Self, Errno> {
        fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self { file: File::from(pipe), bytes: Vec::new(), bound, open: true, overflowed: false })
    }

    /// What is there now: at most one chunk more than the bound is ever looked at.
    fn read(&mut self) -> io::Result<()> {
        let mut chunk = [0; CHUNK];
        while self.open {
            match self.file.read(&mut chunk) {
                Ok(0) => self.open = false,
                Ok(count) => self.keep(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
            if self.overflowed {
                return Ok(());
            }
        }
        Ok(())
    }

    fn keep(&mut self, chunk: &[u8]) {
        let room = self.bound.saturating_sub(self.bytes.len());
        self.overflowed |= chunk.len() > room;
        self.bytes.extend(chunk.iter().take(room));
    }
}

#[cfg(test)]
mod tests;
