//! `confine run` on a terminal, with `--tty` and without: tried in tmux, by keys and by what the screen shows.

use std::thread;
use std::time::Duration;

use confine_tests::tmux::Terminal;
use confine_tests::world::{assert_gone, living, marker, within};
use confine_tests::{Backend, Scene, User, each, needs};
use nix::sys::signal::{Signal, kill};

const PATIENCE: Duration = Duration::from_secs(15);
const SHELL: &str = "bash --norc --noprofile";

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
