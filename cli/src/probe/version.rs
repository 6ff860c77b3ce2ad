//! What an unusable bwrap says of its version; asked only then, since options are tested by launching, not by version.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use confine_core::probe::Unusable;
use confine_core::{Probe, Reason, Text};

/// How long it may take to answer.
const BOUND: Duration = Duration::from_secs(1);
/// How often it is looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// How much of its answer counts.
const LONGEST: u64 = 80;

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
        .spawn()
        .ok()?;
    let deadline = Instant::now() + BOUND;
    while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(PAUSE);
    }
    if !child.try_wait().ok()??.success() {
        return None;
    }
    let mut answer = Vec::new();
    child.stdout.take()?.take(LONGEST).read_to_end(&mut answer).ok()?;
    let line = answer.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
    Some(Text::from(line).to_string()).filter(|line| !line.is_empty())
}
