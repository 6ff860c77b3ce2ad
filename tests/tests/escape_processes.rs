//! Processes outside, and processes that would stay. Each attempt works outside, as its control.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use confine_tests::program::compile;
use confine_tests::world::{assert_gone, content, living, marker, within};
use confine_tests::{Backend, Scene, User, each, needs};

/// A process of the same user outside, with a word that says whether anyone changed it.
struct Victim {
    child: Child,
    output: BufReader<ChildStdout>,
    /// Its process id.
    pid: String,
    /// Where its word is.
    address: String,
}

impl Victim {
    fn start(scene: &Scene, program: &Path) -> Self {
        let mut command = scene.command(program);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it says who it is");
        let (pid, address) = line.trim().split_once(' ').expect("two words");
        Self { child, output, pid: pid.to_owned(), address: address.to_owned() }
    }

    fn is_alive(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_none())
    }

    /// Its word: `1` unless someone changed it.
    fn word(&mut self) -> String {
        let mut input = self.child.stdin.take().expect("asked once");
        input.write_all(b"\n").expect("it still listens");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        line.trim().to_owned()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_memory_of_a_process_outside_cannot_be_written() {
    needs!(root, bwrap, landlock = 3, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let (victim, poke) = (compile("victim", scene.base()), compile("poke", scene.base()));
        for how in ["ptrace", "vm", "mem"] {
            let mut unharmed = Victim::start(scene, &victim);
            let attack = |victim: &Victim| -> [PathBuf; 4] {
                [poke.clone(), how.into(), victim.pid.clone().into(), victim.address.clone().into()]
            };
            scene.confine().run(attack(&unharmed)).fails();
            assert_eq!(unharmed.word(), "1", "inside by {how}");
            let mut harmed = Victim::start(scene, &victim);
            scene.control(attack(&harmed)).exits(0);
            assert_eq!(harmed.word(), "2", "outside by {how}");
        }
    });
}

#[test]
fn a_process_outside_cannot_be_signalled() {
    needs!(root, bwrap, landlock = 6, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let mut victim = Victim::start(scene, &compile("victim", scene.base()));
        let pid = victim.pid.clone();
        scene.confine().run(["sh", "-c", "kill -9 $0", &pid]).fails();
        assert!(victim.is_alive());
        scene.confine().shell("sleep 60 & kill -9 $!").exits(0);
        scene.control(["sh", "-c", "kill -9 $0", &pid]).exits(0);
        assert!(within(Duration::from_secs(5), || !victim.is_alive()));
    });
}

/// Sets the limit on open files of the process that the first word names; 0 is the caller itself.
const SET_LIMIT: &str =
    "import resource, sys; resource.prlimit(int(sys.argv[1]), resource.RLIMIT_NOFILE, (77, 77))";

/// The line on open files, in which the number is 77 once it was set.
fn limit(pid: &str) -> String {
    let limits = content(&Path::new("/proc").join(pid).join("limits")).expect("it lives");
    limits.lines().find(|line| line.starts_with("Max open files")).expect("a line a limit").to_owned()
}

#[test]
fn the_limits_of_a_process_outside_cannot_be_set() {
    needs!(root, bwrap, landlock = 3, cc, python3);
    each(User::ALL, Backend::ALL, |scene| {
        let victim = Victim::start(scene, &compile("victim", scene.base()));
        scene.confine().run(["python3", "-c", SET_LIMIT, &victim.pid]).fails();
        assert!(!limit(&victim.pid).contains(" 77 "), "inside");
        scene.confine().run(["python3", "-c", SET_LIMIT, "0"]).exits(0);
        scene.control(["python3", "-c", SET_LIMIT, &victim.pid]).exits(0);
        assert!(limit(&victim.pid).contains(" 77 "), "outside");
    });
}

#[test]
fn the_limits_of_the_stage_cannot_be_set() {
    needs!(root, bwrap, landlock = 3, python3);
    each(User::ALL, Backend::ALL, |scene| {
        let attack =
            format!("python3 -c '{SET_LIMIT}' $PPID; grep -c '^Max open files  *77 ' /proc/$PPID/limits");
        let inside = scene.confine().shell(&attack).fails();
        assert_eq!(inside.stdout, "0\n", "{inside}");
        let outside = scene.control(["sh", "-c", &format!("sh -c \"{}\"; :", attack.replace('$', "\\$"))]);
        assert_eq!(outside.stdout, "1\n", "{outside}");
    });
}

#[test]
fn a_process_outside_cannot_be_seen() {
    needs!(root, bwrap, cc);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let victim = Victim::start(scene, &compile("victim", scene.base()));
        // A pattern that does not find itself.
        let look = "grep -l '/vict[i]m' /proc/[0-9]*/cmdline";
        let inside = scene.confine().shell(look);
        assert_eq!(inside.stdout, "", "{inside}");
        // Processes that end meanwhile make grep complain; what it found counts.
        let outside = scene.control(["sh", "-c", look]);
        assert!(outside.stdout.contains(&format!("/proc/{}/cmdline", victim.pid)), "{outside}");
    });
}

#[test]
fn a_secret_of_the_caller_is_in_no_environment_and_no_command_line() {
    needs!(root, bwrap, landlock = 3);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let (secret, pattern) = ("hunter2-secret", "hunter[2]-secret");
        let look =
            format!("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -ac '{pattern}'");
        let inside = scene.confine().env("TOKEN", secret).shell(&look);
        assert_eq!(inside.stdout, "0\n", "{inside}");
        let passed = scene.confine().env("TOKEN", secret).option("--env", "TOKEN").shell(&look).exits(0);
        assert_ne!(passed.stdout, "0\n", "the twin that passes it: {passed}");
    });
}

/// What a child can see of its parent.
const PARENT: &str =
    "cd /proc/$PPID; cat environ; readlink cwd exe fd/0 fd/1 fd/2 fd/4 fd/5; ls cwd/; cat fd/4";

#[test]
fn the_stage_shows_nothing_to_the_program() {
    needs!(root, bwrap, landlock = 3);
    each(User::ALL, Backend::ALL, |scene| {
        let inside = scene.confine().shell(PARENT).fails();
        assert_eq!(inside.stdout, "", "{inside}");
        let outside = scene.control(["sh", "-c", &format!("sh -c '{PARENT}'; :")]);
        assert!(outside.stdout.contains("HOME="), "{outside}");
    });
}

#[test]
fn the_stage_cannot_be_ended_by_the_program() {
    needs!(root, bwrap, landlock = 6);
    each(User::ALL, Backend::ALL, |scene| {
        let left = marker();
        let attack = format!("kill -STOP $PPID; kill -9 $PPID; setsid sleep {left} & echo alive > here");
        let finished = scene.confine().with_report().shell(&attack).exits(0);
        finished.reports("/outcome/kind", "exited");
        assert_eq!(content(&scene.workspace().join("here")).as_deref(), Some("alive\n"));
        assert_gone(&left, Duration::from_millis(100));
        let outside = scene.control(["sh", "-c", "sh -c 'kill -9 $PPID'; echo alive"]);
        assert_eq!(outside.signal(), Some(9), "{outside}");
    });
}

#[test]
fn nothing_outlives_the_run() {
    needs!(root, bwrap, landlock = 3);
    each(User::ALL, Backend::ALL, |scene| {
        for way in [
            "sleep N &",
            "setsid sleep N &",
            "setsid sh -c 'setsid sleep N & setsid sleep N &' &",
            "trap '' TERM HUP INT; (setsid nohup sleep N >/dev/null 2>&1 &)",
        ] {
            let (inside, outside) = (marker(), marker());
            let quiet = |name: &str| format!("exec >/dev/null 2>&1 </dev/null; {}", way.replace('N', name));
            scene.confine().shell(&quiet(&inside)).exits(0);
            assert_gone(&inside, Duration::from_millis(100));
            scene.control(["sh", "-c", &quiet(&outside)]).exits(0);
            let survived = within(Duration::from_secs(5), || !living(&outside).is_empty());
            end(&outside);
            assert!(survived, "outside nothing survives: {way}");
        }
    });
}

/// Ends the processes with the marker, each by its id.
fn end(marker: &str) {
    for line in living(marker) {
        let pid = line.split(' ').next().and_then(|pid| pid.parse().ok()).expect("a process id");
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
}
