//! How a process ended, with what it said.

use std::fmt;
use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::world::within;

/// No test's program runs longer; one that does is killed, and the test fails.
const PATIENCE: Duration = Duration::from_secs(40);

/// An ended process.
#[derive(Debug)]
pub struct Finished {
    command: String,
    status: ExitStatus,
    /// Standard output, with invalid bytes replaced.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    /// From the spawn to the end of the process and of its output.
    pub took: Duration,
    /// The report, where one was asked for and written.
    pub report: Option<Value>,
}

impl Finished {
    /// Runs `command` with `input` on its stdin.
    ///
    /// # Panics
    /// When it does not start, or does not end in time, or something still holds its output afterwards.
    pub fn of(mut command: Command, input: &[u8]) -> Self {
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let started = Instant::now();
        let shown = show(&command);
        let mut child = command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
        if let Some(mut stdin) = child.stdin.take() {
            let input = input.to_owned();
            // Beside the reading of its output, or both would wait for each other. A program that does not read its
            // input is no failure of the harness.
            thread::spawn(move || stdin.write_all(&input));
        }
        Self::wait(child, shown, started)
    }

    /// Waits for a child whose output is piped.
    pub(crate) fn wait(mut child: Child, command: String, started: Instant) -> Self {
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        if !within(PATIENCE, || child.try_wait().is_ok_and(|status| status.is_some())) {
            let _ = child.kill();
            panic!("still running after {PATIENCE:?}: {command}");
        }
        let status = child.wait().expect("the child was not waited for");
        let text = |receiver: Option<mpsc::Receiver<Vec<u8>>>| match receiver {
            None => String::new(),
            Some(receiver) => match receiver.recv_timeout(Duration::from_secs(5)) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(_) => panic!("something still holds the output of: {command}"),
            },
        };
        let (stdout, stderr) = (text(stdout), text(stderr));
        Self { command, status, stdout, stderr, took: started.elapsed(), report: None }
    }

    /// With the report that was written to `path`, where one was.
    pub(crate) fn with_report(mut self, path: &Path) -> Self {
        self.report = fs::read(path).ok().map(|bytes| {
            serde_json::from_slice(&bytes)
                .unwrap_or_else(|error| panic!("the report is no JSON ({error}): {self}"))
        });
        self
    }

    /// The exit code; `None` where a signal ended the process.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended the process, where one did.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Fails unless the exit code is `code`.
    ///
    /// # Panics
    /// With everything the process said.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "exit code of {self}");
        self
    }

    /// Fails when the exit code is 0, or one by which confine says that the program never ran.
    ///
    /// # Panics
    /// With everything the process said.
    #[track_caller]
    pub fn fails(self) -> Self {
        assert!(!matches!(self.code(), Some(0 | 125 | 126 | 127)), "the program itself must fail: {self}");
        self
    }

    /// Fails unless the report says `value` at `pointer` (as in `/outcome/kind`).
    ///
    /// # Panics
    /// With the whole report.
    #[track_caller]
    pub fn reports(self, pointer: &str, value: impl Into<Value>) -> Self {
        let report = self.report.as_ref().unwrap_or_else(|| panic!("no report was written: {self}"));
        let value = value.into();
        assert_eq!(report.pointer(pointer), Some(&value), "`{pointer}` in the report of {self}\n{report:#}");
        self
    }

    /// Fails unless stderr holds `text`.
    ///
    /// # Panics
    /// With everything the process said.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "`{text}` is not said by {self}");
        self
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\n--- {} after {:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.command, self.status, self.took, self.stdout, self.stderr
        )
    }
}

/// A command as one line of bounded length.
pub(crate) fn show(command: &Command) -> String {
    const BOUND: usize = 1_200;
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    if line.chars().count() <= BOUND { line } else { line.chars().take(BOUND).chain("…".chars()).collect() }
}

fn collect(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    });
    receiver
}
