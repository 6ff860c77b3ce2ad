//! `confine run --ask` at a pseudo-terminal: what is shown, what is answered, and what the world looks like afterwards.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use confine_tests::pty::{ALONE, CONTROLLED};
use confine_tests::world::{content, is_there, within};
use confine_tests::{Backend, Confine, Finished, Pty, Running, Scene, Stub, User, each, needs};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const USERS: &[User] = &[User::Root, User::Ordinary];
const PATIENCE: Duration = Duration::from_secs(15);
/// The last line of every question; the number counts down.
const QUESTION: &str = "yes/no/cancel? (no in 60 s)";

mod grant;
mod others;
mod plain;
mod screen;
mod session;
mod terminal;
mod unasked;

/// A call with `--ask` and a report, at a terminal.
struct Asked<'a> {
    confine: Confine<'a>,
    pty: Pty,
}

impl<'a> Asked<'a> {
    fn new(scene: &'a Scene) -> Self {
        Self::of(scene.confine().options(["--ask"]))
    }

    fn of(confine: Confine<'a>) -> Self {
        Self { confine: confine.under(CONTROLLED).env("TERM", "xterm").with_report(), pty: Pty::new() }
    }

    /// Started by a shell that reads the terminal, and gives the call, as `"$0" "$@"`, another standard input.
    fn through(self, script: &str) -> Self {
        let outer = CONTROLLED.into_iter().chain(["sh", "-c", script]);
        Self { confine: self.confine.under(outer), ..self }
    }

    fn option(self, name: &str, value: impl Into<std::ffi::OsString>) -> Self {
        Self { confine: self.confine.option(name, value), ..self }
    }

    /// Its standard input is the terminal.
    fn shell(self, script: &str) -> Asking {
        self.run(&["sh", "-c", script])
    }

    fn run(self, words: &[&str]) -> Asking {
        let mut command = self.confine.command(words);
        self.pty.is_input_of(&mut command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = Running::new(command, self.confine.report().map(Path::to_owned));
        Asking { running, pty: self.pty }
    }
}

/// Such a call under way.
struct Asking {
    running: Running,
    pty: Pty,
}

impl Asking {
    /// Waits for a question, and answers it.
    #[track_caller]
    fn answers(&self, number: usize, keys: &str) -> &Self {
        self.pty.shows(QUESTION, number);
        self.pty.types(keys);
        self
    }

    fn ends(self) -> (Finished, Pty) {
        (self.running.wait(), self.pty)
    }

    /// Waits for the end of a call that asks nothing.
    #[track_caller]
    fn asks_nothing(self) -> Finished {
        let (run, pty) = self.ends();
        assert_eq!(pty.screen(), "", "{run}");
        run
    }
}

fn report(run: &Finished) -> &Value {
    run.report.as_ref().unwrap_or_else(|| panic!("no report: {run}"))
}

fn writes(target: &Path) -> String {
    format!("echo in >> {}", target.display())
}
