//! `plan --json`, spawned by a program in another language: it enforces what `run` does, except what its `missing`
//! lists.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use confine_tests::spawner::{LIKELY, RUNNERS, plan, portable};
use confine_tests::world::{assert_gone, content, is_there, marker};
use confine_tests::{Backend, Finished, Scene, User, each, needs};
use serde_json::Value;

/// What a program may try: it exits 0 where it can.
struct Attempt {
    effect: &'static str,
    script: &'static str,
}

const fn attempt(effect: &'static str, script: &'static str) -> Attempt {
    Attempt { effect, script }
}

const TCP: &str = "python3 -c 'import socket,sys; socket.create_connection((\"127.0.0.1\", PORT), 2)'";
const UDP: &str = "python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
s.sendto(b\"x\", (\"127.0.0.1\", UDP))
s.recv(1)'";
const UNIX: &str = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"OUT/listening\")'";
const ABSTRACT: &str = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0NAME\")'";

const ATTEMPTS: &[Attempt] = &[
    attempt("fs-write", "echo x > OUT/new"),
    attempt("fs-write", "rm OUT/kept"),
    attempt("fs-truncate", "truncate -s 0 OUT/kept"),
    attempt("fs-rename", "python3 -c 'import os; os.rename(\"OUT/kept\", \"moved\")'"),
    attempt("fs-metadata", "chmod 600 OUT/kept"),
    attempt("fs-hide", "cat HOME/.ssh/key"),
    attempt("fs-carve-out", "echo x >> .git/config"),
    attempt("fs-carve-out", "mv .git .git2"),
    attempt("fs-setid", "chmod 4755 own"),
    attempt("fd-inherit", "ls /proc/self/fd/9/"),
    attempt("env-leak", "test -n \"$SECRET_TOKEN\""),
    attempt("net-tcp", TCP),
    attempt("net-udp", UDP),
    attempt("net-unix-path", UNIX),
    attempt("net-unix-abstract", ABSTRACT),
    attempt("proc-see", "test -e /proc/PID/status"),
    attempt("proc-signal", "kill -0 PID"),
    attempt("proc-namespace", "unshare -U true"),
];

/// The host around one scene: services, a process of the user's, files outside.
struct Host {
    _tcp: TcpListener,
    _udp: UdpSocket,
    _path: UnixListener,
    _named: UnixListener,
    bystander: Child,
    words: Vec<(&'static str, String)>,
}

impl Host {
    fn make(scene: &Scene) -> Self {
        use std::os::linux::net::SocketAddrExt as _;
        scene.repository(&scene.workspace());
        let out = scene.outside();
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let udp = answering();
        let path = UnixListener::bind(out.join("listening")).expect("a socket");
        scene.own(&out.join("listening"));
        let name = format!("confine-portable-{}", marker());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).expect("a name");
        let named = UnixListener::bind_addr(&address).expect("an abstract socket");
        let mut sleep = scene.command("sleep");
        let bystander = sleep.arg("600").stdin(Stdio::null()).spawn().expect("sleep starts");
        let words = vec![
            ("OUT", text(&out)),
            ("HOME", text(&scene.home())),
            ("UDP", udp.local_addr().expect("an address").port().to_string()),
            ("PORT", tcp.local_addr().expect("an address").port().to_string()),
            ("PID", bystander.id().to_string()),
            ("NAME", name),
        ];
        Self { _tcp: tcp, _udp: udp, _path: path, _named: named, bystander, words }
    }

    /// Everything that the attempts change, as it was.
    fn restore(scene: &Scene) {
        for path in [scene.workspace().join("moved"), scene.outside().join("new")] {
            let _ = fs::remove_file(path);
        }
        if is_there(&scene.workspace().join(".git2")) {
            fs::rename(scene.workspace().join(".git2"), scene.workspace().join(".git")).expect("it is ours");
        }
        scene.write(&scene.outside().join("kept"), "kept\n");
        scene.write(&scene.workspace().join("own"), "");
        scene.write(&scene.home().join(".ssh/key"), "secret\n");
    }

    fn script(&self, attempt: &Attempt) -> String {
        self.words.iter().fold(attempt.script.to_owned(), |script, (word, value)| script.replace(word, value))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.bystander.kill();
        let _ = self.bystander.wait();
    }
}

/// A service that sends back what it gets.
fn answering() -> UdpSocket {
    let service = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let own = service.try_clone().expect("a copy");
    std::thread::spawn(move || {
        let mut bytes = [0; 16];
        while let Ok((count, from)) = own.recv_from(&mut bytes) {
            let _ = own.send_to(&bytes[..count], from);
        }
    });
    service
}

fn text(path: &Path) -> String {
    path.to_str().expect("a path of ours").to_owned()
}

/// The effects of a list of losses.
fn effects(losses: &Value) -> Vec<&str> {
    losses.as_array().expect("a list").iter().filter_map(|loss| loss["effect"].as_str()).collect()
}

/// The attempt outside, with descriptor 9 and the secret that the spawner has too.
fn control(scene: &Scene, script: &str) -> Finished {
    let mut command = scene.command("sh");
    let script = format!("exec 9< {}; {script}", scene.outside().display());
    command.args(["-c", &script]).env("SECRET_TOKEN", "s3cret");
    Finished::of(command, &[])
}

fn a_foreign_spawner_enforces_what_run_does_except_what_is_missing(backend: Backend) {
    each(User::ALL, &[backend], |scene| {
        let host = Host::make(scene);
        let mut tried = 0;
        for attempt in ATTEMPTS {
            let script = host.script(attempt);
            Host::restore(scene);
            let plan = plan(scene, &["sh", "-c", &script]);
            if effects(&plan["missing"]).contains(&attempt.effect) {
                continue;
            }
            let portable = portable(scene, &["sh", "-c", &script], |plan| plan);
            assert_ne!(portable.code(), Some(0), "{} was not stopped: {portable}", attempt.effect);
            let portable = portable.fails();
            assert!(!portable.stderr.contains(LIKELY), "{portable}");
            scene.confine().env("SECRET_TOKEN", "s3cret").shell(&script).fails();
            assert_eq!(content(&scene.outside().join("kept")).as_deref(), Some("kept\n"), "{portable}");
            assert!(!is_there(&scene.outside().join("new")), "{portable}");
            let outside = control(scene, &script);
            assert_eq!(outside.code(), Some(0), "it cannot be done outside either: {outside}");
            tried += 1;
        }
        assert!(tried >= 12, "only {tried} of {} attempts count", ATTEMPTS.len());
    });
}

#[test]
fn a_foreign_spawner_of_bwrap_enforces_what_run_does_except_what_is_missing() {
    needs!(root, bwrap, git, python3, unshare);
    a_foreign_spawner_enforces_what_run_does_except_what_is_missing(Backend::Bwrap);
}

#[test]
fn a_foreign_spawner_of_landlock_enforces_what_run_does_except_what_is_missing() {
    needs!(root, landlock = 6, git, python3, unshare);
    a_foreign_spawner_enforces_what_run_does_except_what_is_missing(Backend::Landlock);
}

#[test]
fn a_plan_is_missing_only_what_run_is_missing_and_what_the_runner_does() {
    needs!(root, bwrap, landlock = 6, git);
    each(User::ALL, Backend::ALL, |scene| {
        scene.repository(&scene.workspace());
        let run = scene.confine().with_report().run(["true"]).exits(0);
        let report = run.report.as_ref().expect("a report");
        let mut expected = effects(&report["missing"]);
        let runners = |effect: &&str| scene.user == User::Root || *effect != "fs-metadata";
        expected.extend(RUNNERS.split(',').filter(runners));
        expected.sort_unstable();
        expected.dedup();
        let plan = plan(scene, &["true"]);
        let mut missing = effects(&plan["missing"]);
        missing.sort_unstable();
        assert_eq!(missing, expected);
    });
}

#[test]
fn a_foreign_spawner_gets_the_programs_own_exit_code_and_environment() {
    needs!(root, bwrap, landlock = 6, python3);
    each(User::ALL, Backend::ALL, |scene| {
        for (script, code) in
            [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -15 $$", 143)]
        {
            let run = portable(scene, &["sh", "-c", script], |plan| plan).exits(code);
            assert!(!run.stderr.contains(LIKELY), "{run}");
        }
        portable(scene, &["no-such-program"], |plan| plan).exits(127);
        portable(scene, &["/etc/hostname"], |plan| plan).exits(126);
        let plan = plan(scene, &["env"]);
        let run = portable(scene, &["env"], |plan| plan).exits(0);
        let passed = plan["env"]["pass"].as_array().expect("names").iter().filter_map(Value::as_str);
        let set = plan["env"]["set"].as_object().expect("values").keys().map(String::as_str);
        let known: Vec<_> = passed.chain(set).chain(["TMPDIR", "PWD"]).collect();
        let names = run.stdout.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
        let unknown: Vec<_> = names.filter(|name| !known.contains(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?} besides {known:?}");
    });
}

#[test]
fn nothing_outlives_a_run_of_a_foreign_spawner() {
    needs!(root, bwrap, landlock = 6, python3);
    each(User::ALL, Backend::ALL, |scene| {
        let marker = marker();
        let script = format!("setsid sleep {marker} & (setsid sleep {marker} &) ; exit 3");
        portable(scene, &["sh", "-c", &script], |plan| plan).exits(3);
        assert_gone(&marker, Duration::from_secs(2));
    });
}
