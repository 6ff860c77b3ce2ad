//! `confine run` on a terminal, with `--tty` and without: tried in tmux, by keys and by what the screen shows.

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use confine_tests::world::{assert_gone, content, living, marker, within};
use confine_tests::{Backend, Finished, Scene, User, each, installation, needs};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const PATIENCE: Duration = Duration::from_secs(15);
const SHELL: &str = "bash --norc --noprofile";

/// A terminal of the scene's user, in which one call of confine runs. Dropped, it is closed.
struct Terminal<'a> {
    scene: &'a Scene,
}

impl<'a> Terminal<'a> {
    /// 80 by 24, with the settings noted before and after `confine run OPTIONS -- WORDS`.
    fn start(scene: &'a Scene, options: &str, words: &str) -> Self {
        let confine = installation::confine();
        let backend = scene.backend.options().join(" ");
        let call = format!("exec {} run {backend} {options} -- {words}", confine.display());
        scene.write(&scene.home().join("call"), &format!("echo $$ > ~/pid\n{call}\n"));
        let script = "trap : INT; stty -a > ~/before; sh ~/call; echo $? > ~/code; stty -a > ~/after; echo over; sleep 60";
        let terminal = Self { scene };
        for name in ["before", "after", "code", "pid"] {
            let _ = std::fs::remove_file(terminal.note(name));
        }
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", script]).exits(0);
        terminal
    }

    fn note(&self, name: &str) -> PathBuf {
        self.scene.home().join(name)
    }

    fn tmux(&self, words: &[&str]) -> Finished {
        let mut command: Command = self.scene.command("tmux");
        command.args(["-L", "terminal"]).args(words);
        command.env("TMUX_TMPDIR", self.scene.reports()).env("TERM", "xterm").env("SHELL", "/bin/sh");
        Finished::of(command, &[])
    }

    /// Presses keys, named as tmux does.
    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a line.
    fn line(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.press(&["Enter"]);
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-200"]).stdout
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    fn shows(&self, text: &str) {
        let shown = within(PATIENCE, || self.screen().contains(text));
        assert!(shown, "`{text}` is not shown:\n{}", self.screen());
    }

    /// Waits for the end of the call, and compares the terminal's settings.
    #[track_caller]
    fn ends_with(self, code: &str) {
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
    fn confine(&self) -> Pid {
        let pid = content(&self.note("pid")).expect("it started");
        Pid::from_raw(pid.trim().parse().expect("a number"))
    }

    /// Until a process with `marker` runs.
    #[track_caller]
    fn until_living(&self, marker: &str) {
        let runs = || living(marker).iter().any(|line| line.split(' ').nth(1) == Some("sleep"));
        assert!(within(PATIENCE, runs), "it does not start:\n{}", self.screen());
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// With a shell that has shown its prompt.
fn shell<'a>(scene: &'a Scene) -> Terminal<'a> {
    let terminal = Terminal::start(scene, "--tty", SHELL);
    terminal.shows("bash-");
    terminal
}

#[test]
fn a_shell_has_a_terminal_of_its_own_that_follows_the_callers_size() {
    needs!(root, bwrap, landlock = 6, tmux);
    each(User::ALL, Backend::ALL, |scene| {
        let terminal = shell(scene);
        terminal.line("test -t 0 -a -t 1 -a -t 2 && echo size=$(stty size)");
        terminal.shows("size=24 80");
        terminal.tmux(&["resize-window", "-x", "100", "-y", "30"]);
        let follows = within(PATIENCE, || {
            terminal.line("echo size=$(stty size)");
            thread::sleep(Duration::from_millis(100));
            terminal.screen().contains("size=30 100")
        });
        assert!(follows, "{}", terminal.screen());
        terminal.line("echo by-$((40+2))-name > /dev/tty");
        terminal.shows("by-42-name");
        terminal.line("exit 7");
        terminal.ends_with("7");
    });
}

#[test]
fn a_shell_has_job_control_and_ctrl_c_ends_only_the_foreground() {
    needs!(root, bwrap, landlock = 6, tmux);
    each(User::ALL, Backend::ALL, |scene| {
        let (background, foreground) = (marker(), marker());
        let terminal = shell(scene);
        terminal.line(&format!("sleep {background} &"));
        terminal.shows("[1] ");
        terminal.line("jobs");
        terminal.shows("Running");
        terminal.line("fg");
        thread::sleep(Duration::from_millis(300));
        terminal.press(&["C-z"]);
        terminal.shows("Stopped");
        terminal.line("bg; echo back-$((40+2))");
        terminal.shows("back-42");

        terminal.line(&format!("sleep {foreground}"));
        terminal.until_living(&foreground);
        terminal.press(&["C-c"]);
        assert_gone(&foreground, PATIENCE);
        assert!(!living(&background).is_empty(), "Ctrl-C ended the background too");
        terminal.line("echo alive-$((40+2))");
        terminal.shows("alive-42");
        terminal.line("kill %1");
        assert_gone(&background, PATIENCE);
        terminal.press(&["C-d"]);
        terminal.ends_with("0");
    });
}

#[test]
fn what_runs_in_the_background_ends_with_the_shell() {
    needs!(root, bwrap, landlock = 6, tmux);
    each(&[User::Root, User::Ordinary], Backend::ALL, |scene| {
        let marker = marker();
        let terminal = shell(scene);
        terminal.line(&format!("setsid sleep {marker} & sleep {marker} & disown -a; exit 3"));
        terminal.ends_with("3");
        assert_gone(&marker, Duration::ZERO);
    });
}

#[test]
fn the_callers_terminal_is_restored_when_confine_is_told_to_stop() {
    needs!(root, bwrap, landlock = 6, tmux);
    each(User::ALL, Backend::ALL, |scene| {
        let marker = marker();
        let terminal = shell(scene);
        terminal.line(&format!("sleep {marker}"));
        terminal.until_living(&marker);
        // An interactive shell ignores it: the tree is ended two seconds later.
        kill(terminal.confine(), Signal::SIGTERM).expect("it runs");
        terminal.ends_with("143");
        assert_gone(&marker, Duration::ZERO);
    });
}

#[test]
fn the_callers_terminal_is_restored_when_the_program_spoils_its_own_and_dies() {
    needs!(root, bwrap, landlock = 6, tmux);
    each(User::ALL, Backend::ALL, |scene| {
        let terminal = shell(scene);
        terminal.line("stty raw -echo; kill -9 $$");
        terminal.ends_with("137");
    });
}

#[test]
fn without_a_terminal_of_its_own_a_program_reads_the_callers_and_has_no_dev_tty() {
    needs!(root, bwrap, landlock = 6, tmux);
    each(User::ALL, Backend::ALL, |scene| {
        let script = "'(: < /dev/tty) 2>&1; stty size; read word; echo got=$word; exit 4'";
        let terminal = Terminal::start(scene, "", &format!("sh -c {script}"));
        terminal.shows("24 80");
        terminal.shows("No such device or address");
        terminal.line("hello");
        terminal.shows("got=hello");
        terminal.ends_with("4");
    });
}

#[test]
fn without_a_terminal_of_its_own_ctrl_c_reaches_the_program() {
    needs!(root, bwrap, landlock = 6, tmux);
    each(User::ALL, Backend::ALL, |scene| {
        let marker = marker();
        let script = format!("'trap \"echo caught; exit 5\" INT; sleep {marker} & wait'");
        let terminal = Terminal::start(scene, "", &format!("sh -c {script}"));
        terminal.until_living(&marker);
        terminal.press(&["C-c"]);
        terminal.shows("caught");
        terminal.ends_with("5");
        assert_gone(&marker, Duration::ZERO);
    });
}

#[test]
fn a_terminal_can_be_had_where_the_caller_has_none() {
    needs!(root, bwrap, landlock = 6);
    each(User::ALL, Backend::ALL, |scene| {
        let run = scene.confine().options(["--tty"]).input("stty size; exit 9\n").run(["sh"]).exits(9);
        assert!(run.stdout.contains("24 80"), "{run}");
    });
}
