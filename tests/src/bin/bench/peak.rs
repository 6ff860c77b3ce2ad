//! The largest resident size that `confine` itself reaches.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::fault::{Fault, system};
use crate::place::Place;
use crate::row::Row;

/// In KiB, read from the kernel's high-water mark (`VmHWM` in proc_pid_status(5)) while the program runs: everything but
/// the last clean-up has happened then.
pub(crate) fn kibibytes(place: &Place, row: Row) -> Result<u64, Fault> {
    let name = row.name();
    let mut command = place.command(row, &["/bin/sh", "-c", "echo ready; read end"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(system("start", name))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(system("read the output of", name))?;
    }
    let path = format!("/proc/{}/status", child.id());
    let status = std::fs::read_to_string(&path).map_err(system("read", &path))?;
    drop(child.stdin.take());
    child.wait().map_err(system("wait for", name))?;
    mark(&status).ok_or_else(|| Fault::Unexpected(format!("`VmHWM` in `{path}` of {name}")))
}

/// The high-water mark in `/proc/PID/status`.
pub(crate) fn mark(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
