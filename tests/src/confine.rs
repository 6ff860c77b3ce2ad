//! One call of the command line under test.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::running::Running;
use crate::{Finished, Scene, installation};

/// A `confine` call, until it is made.
pub struct Confine<'a> {
    scene: &'a Scene,
    verb: Vec<OsString>,
    options: Vec<OsString>,
    under: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: PathBuf,
    input: Vec<u8>,
    report: Option<PathBuf>,
}

impl<'a> Confine<'a> {
    /// `confine run` in the workspace of `scene`.
    pub(crate) fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            verb: vec!["run".into()],
            options: Vec::new(),
            under: Vec::new(),
            environment: Vec::new(),
            directory: scene.workspace(),
            input: Vec::new(),
            report: None,
        }
    }

    /// Another verb, and its words.
    #[must_use]
    pub fn verb<W: Into<OsString>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.verb = words.into_iter().map(Into::into).collect();
        self
    }

    /// More options.
    #[must_use]
    pub fn options<W: Into<OsString>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.options.extend(words.into_iter().map(Into::into));
        self
    }

    /// One option with its value.
    #[must_use]
    pub fn option(self, name: &str, value: impl Into<OsString>) -> Self {
        self.options([name.into(), value.into()])
    }

    /// Started by another program: `under(["unshare", "-Ur"])`.
    #[must_use]
    pub fn under<W: Into<OsString>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.under = words.into_iter().map(Into::into).collect();
        self
    }

    /// With a variable in the caller's environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Called in another directory.
    #[must_use]
    pub fn in_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// With this on stdin, which is `/dev/null` otherwise.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// With a report, to be found in [`Finished::report`].
    #[must_use]
    pub fn with_report(mut self) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}.json", COUNT.fetch_add(1, Ordering::Relaxed));
        self.report = Some(self.scene.reports().join(name));
        self
    }

    /// Where its report will be, where it makes one.
    pub fn report(&self) -> Option<&Path> {
        self.report.as_deref()
    }

    /// The call as a command: `confine run OPTIONS -- WORDS`, or without `-- WORDS` where there are none.
    pub fn command<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let confine = installation::confine();
        let mut command = match self.under.split_first() {
            None => self.scene.user.command(confine, &self.scene.home()),
            Some((outer, rest)) => {
                let mut command = self.scene.user.command(outer, &self.scene.home());
                command.args(rest).arg(confine);
                command
            }
        };
        command.current_dir(&self.directory).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.args(&self.verb).args(&self.options);
        if let Some(report) = &self.report {
            command.arg("--report").arg(report);
        }
        let mut words = words.into_iter().peekable();
        if words.peek().is_some() {
            command.arg("--").args(words);
        }
        command
    }

    /// Makes the call and waits for its end.
    ///
    /// # Panics
    /// When it does not start or does not end in time.
    pub fn run<W: AsRef<OsStr>>(self, words: impl IntoIterator<Item = W>) -> Finished {
        let finished = Finished::of(self.command(words), &self.input);
        match &self.report {
            Some(report) => finished.with_report(report),
            None => finished,
        }
    }

    /// Confines `sh -c SCRIPT`.
    ///
    /// # Panics
    /// As [`Confine::run`].
    pub fn shell(self, script: &str) -> Finished {
        self.run(["sh", "-c", script])
    }

    /// Makes the call and does not wait. stdin is an open pipe.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start<W: AsRef<OsStr>>(self, words: impl IntoIterator<Item = W>) -> Running {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(command, self.report)
    }
}
