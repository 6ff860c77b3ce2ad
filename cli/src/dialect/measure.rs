//! Runs the commands of many rows in one sandbox, and keeps what each printed.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use confine_core::denial::dialect::{Row, Trial};
use confine_core::{AbsPath, BackendId, LaunchFault, LaunchStage, Verdict};
use confine_runner::{Confine, SpawnError, Stdio};

use super::ground::Ground;
use crate::fault;

/// Seconds for one command.
pub(super) const PATIENCE: u32 = 15;
/// So many commands at a time.
const PARALLEL: u32 = 4;
/// So many bytes of one output are looked at.
const BOUND: usize = 64 * 1024;

/// timeout(1)'s exit codes where it ended the command.
const ENDED: &[&str] = &["124", "137"];

/// What one command printed.
pub(super) struct Printed {
    /// Standard error, then standard output.
    pub(super) output: Vec<u8>,
    /// It was ended for taking too long.
    pub(super) late: bool,
}

/// What the commands of `rows` print under `backend`, in their order.
///
/// # Errors
/// When there is no sandbox to measure in.
pub(super) fn measure(
    confine: &Confine,
    backend: &BackendId,
    ground: &Ground,
    rows: &[(&Row, &Trial)],
) -> Result<Vec<Printed>, LaunchFault> {
    let unable = |error: &io::Error| fault::system(LaunchStage::Usage, "prepare the measurement", error);
    let out = ground.place("ws/out");
    prepare(&out, rows).map_err(|error| unable(&error))?;
    let policy = ground.policy()?;
    let cwd = policy.fs.workspaces.first().cloned().unwrap_or_else(AbsPath::root);
    let command = confine.command(["sh", "out/all"]).cwd(cwd).policy(&policy).backend(backend.clone());
    let report = command
        .stdin(Stdio::Null)
        .stdout(Stdio::Capture)
        .stderr(Stdio::Capture)
        .run_blocking()
        .map_err(|refused: SpawnError| refused.fault())?;
    if report.verdict == Verdict::LauncherFailed {
        let fault = report.launch_fault;
        return Err(fault
            .unwrap_or_else(|| LaunchFault::new(LaunchStage::Status, "measure: the sandbox did not stand")));
    }
    Ok((0..rows.len()).map(|number| printed(&out, number)).collect())
}

/// Each command is a file, since a word of an argv would have to be quoted.
fn prepare(out: &Path, rows: &[(&Row, &Trial)]) -> io::Result<()> {
    let _ = fs::remove_dir_all(out);
    fs::create_dir_all(out)?;
    for (number, (_, trial)) in rows.iter().enumerate() {
        fs::write(out.join(number.to_string()), &trial.command)?;
    }
    let mut all = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        all,
        "seq 0 {} | xargs -P {PARALLEL} -I N sh -c \
         'timeout -k 1 {PATIENCE} sh out/N </dev/null >out/N.stdout 2>out/N.stderr; echo $? >out/N.status'\nexit 0",
        rows.len().saturating_sub(1),
    );
    fs::write(out.join("all"), all)
}

fn printed(out: &Path, number: usize) -> Printed {
    let mut output = Vec::new();
    for stream in ["stderr", "stdout"] {
        let bytes = fs::read(out.join(format!("{number}.{stream}"))).unwrap_or_default();
        output.extend_from_slice(bytes.get(..BOUND).unwrap_or(&bytes));
    }
    let status = fs::read_to_string(out.join(format!("{number}.status"))).unwrap_or_default();
    Printed { output, late: ENDED.contains(&status.trim()) }
}

/// How a launcher itself ended, called with arguments that it refuses.
///
/// # Errors
/// When it cannot be started.
pub(super) fn launcher(program: &AbsPath, arguments: &[&str]) -> Result<(u8, Vec<u8>), LaunchFault> {
    let ended = Command::new(program.as_path()).args(arguments).output();
    let ended =
        ended.map_err(|error| fault::system(LaunchStage::Spawn, &format!("start `{program}`"), &error))?;
    let code = ended.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or_default();
    Ok((code, ended.stderr))
}
