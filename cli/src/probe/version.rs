//! What an unusable bwrap says of its version; asked only then, since options are tested by launching, not by version.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use confine_core::probe::Unusable;
use confine_core::{Probe, Reason, Text};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

/// How long it may take to answer.
const BOUND: Duration = Duration::from_secs(1);
/// How often it is looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// How much of its answer counts.
const LONGEST: usize = 80;

/// The refusal, with bwrap's version where there is a bwrap.
pub(super) fn noted(unusable: Unusable, facts: &Probe) -> Unusable {
    let Some(version) = facts.bwrap.as_ref().ok().and_then(|tool| ask(tool.path.as_path())) else {
        return unusable;
    };
    Unusable { reason: Reason::from(format!("{} ({version})", unusable.reason)), ..unusable }
}

/// The first line of `bwrap --version`, without whatever a terminal could take amiss.
fn ask(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .ok()?;
    let deadline = Instant::now() + BOUND;
    while Instant::now() < deadline && is_running(&child) {
        thread::sleep(PAUSE);
    }
    let late = is_running(&child);
    // Not yet reaped, so the group's number is its own; whoever it left behind goes too, and with it the pipe.
    let _ = killpg(Pid::from_raw(child.id().try_into().ok()?), Signal::SIGKILL);
    let ended = child.wait().ok()?;
    if late || !ended.success() {
        return None;
    }
    let mut answer = [0; LONGEST];
    let pipe = child.stdout.take()?;
    // One that left the group may hold the pipe: what is there now has to do.
    fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok()?;
    let count = nix::unistd::read(&pipe, &mut answer).ok()?;
    let line = answer.get(..count)?.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
    Some(Text::from(line).to_string()).filter(|line| !line.is_empty())
}

/// Without reaping it.
fn is_running(child: &Child) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let Ok(pid) = child.id().try_into() else { return false };
    matches!(waitid(Id::Pid(Pid::from_raw(pid)), flags), Ok(WaitStatus::StillAlive))
}
