//! A terminal in tmux, tried by keys and by what the screen shows.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::unistd::Pid;

use crate::world::{content, living, within};
use crate::{Finished, Scene, installation};

const PATIENCE: Duration = Duration::from_secs(15);

/// A terminal of the scene's user, in which one call of confine runs. Dropped, it is closed.
pub struct Terminal<'a> {
    scene: &'a Scene,
    /// A server of its own: one that is ending takes no new terminal.
    server: String,
}

impl<'a> Terminal<'a> {
    /// 80 by 24, with the settings noted before and after `confine run OPTIONS -- WORDS`.
    pub fn start(scene: &'a Scene, options: &str, words: &str) -> Self {
        let confine = installation::confine();
        let backend = scene.backend.options().join(" ");
        let call = format!("exec {} run {backend} {options} -- {words}", confine.display());
        scene.write(&scene.home().join("call"), &format!("echo $$ > ~/pid\n{call}\n"));
        let script = "trap : INT; stty -a > ~/before; sh ~/call; echo $? > ~/code; stty -a > ~/after; echo over; sleep 60";
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let server = format!("terminal-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let terminal = Self { scene, server };
        for name in ["before", "after", "code", "pid"] {
            let _ = std::fs::remove_file(terminal.note(name));
        }
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", script]).exits(0);
        terminal
    }

    fn note(&self, name: &str) -> PathBuf {
        self.scene.home().join(name)
    }

    /// A command of tmux.
    pub fn tmux(&self, words: &[&str]) -> Finished {
        let mut command: Command = self.scene.command("tmux");
        command.args(["-L", &self.server]).args(words);
        command.env("TMUX_TMPDIR", self.scene.reports()).env("TERM", "xterm").env("SHELL", "/bin/sh");
        Finished::of(command, &[])
    }

    /// Presses keys, named as tmux does.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a line.
    pub fn line(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.press(&["Enter"]);
    }

    /// What it shows, with some of what has scrolled away.
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-200"]).stdout
    }

    /// Waits until the screen shows `text`.
    ///
    /// # Panics
    /// With what the screen shows instead.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        let shown = within(PATIENCE, || self.screen().contains(text));
        assert!(shown, "`{text}` is not shown:\n{}", self.screen());
    }

    /// Waits for the end of the call, and compares the terminal's settings.
    ///
    /// # Panics
    /// With what the screen shows instead.
    #[track_caller]
    pub fn ends_with(self, code: &str) {
        let after = self.note("after");
        let over = within(PATIENCE, || content(&after).is_some_and(|settings| settings.ends_with('\n')));
        assert!(over, "it does not end:\n{}", self.screen());
        assert_eq!(content(&self.note("code")).as_deref().map(str::trim), Some(code), "{}", self.screen());
        let settings = |name: &str| {
            let noted = content(&self.note(name)).expect("stty said something");
            // The size is the terminal's, which the test may have changed.
            noted.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(settings("after"), settings("before"));
    }

    /// confine's process id.
    ///
    /// # Panics
    /// Before it started.
    pub fn confine(&self) -> Pid {
        let pid = content(&self.note("pid")).expect("it started");
        Pid::from_raw(pid.trim().parse().expect("a number"))
    }

    /// Until a process with `marker` runs.
    ///
    /// # Panics
    /// With what the screen shows instead.
    #[track_caller]
    pub fn until_living(&self, marker: &str) {
        let runs = || living(marker).iter().any(|line| line.split(' ').nth(1) == Some("sleep"));
        assert!(within(PATIENCE, runs), "it does not start:\n{}", self.screen());
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
