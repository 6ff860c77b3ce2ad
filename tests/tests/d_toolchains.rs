//! Field cases D: toolchains and local communication.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use confine_tests::world::{content, is_there, marker, names};
use confine_tests::{Backend, Scene, Temporary, User, each, needs, program};

const EVERYBODY: &[User] = User::ALL;
const ROOT_AND_ORDINARY: &[User] = &[User::Root, User::Ordinary];

#[test]
fn case_d03_a_semaphore_in_shared_memory_works() {
    needs!(root, bwrap, landlock = 6, python3);
    each(EVERYBODY, Backend::ALL, |scene| {
        let code = "import multiprocessing as m; m.Semaphore(); print(1)";
        assert_eq!(scene.confine().with_report().run(["python3", "-c", code]).exits(0).stdout, "1\n");
        // With bwrap it is private; Landlock alone shares the host's, and says so.
        let name = format!("/dev/shm/confine-{}", marker());
        let run = scene.confine().with_report().shell(&format!("echo x > {name}")).exits(0);
        let shared = is_there(Path::new(&name));
        let _ = fs::remove_file(&name);
        assert_eq!(shared, scene.backend == Backend::Landlock, "{run}");
        let missing = run.report.as_ref().expect("a report")["missing"].to_string();
        assert_eq!(missing.contains("/dev/shm"), shared, "{missing}");
    });
}

#[test]
fn case_d04_the_usual_devices_work_and_no_other() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        let read_only = || scene.confine().option("--policy", "read-only");
        let usual = "set -e; echo x >/dev/null 2>/dev/zero; dd if=/dev/urandom bs=1 count=1 of=/dev/null 2>/dev/null; \
                     head -c1 /dev/random >/dev/null; head -c1 /dev/full >/dev/null; sh -c 'echo out >/dev/stdout' | cat; \
                     ! sh -c 'echo x > /dev/full' 2>/dev/null";
        assert_eq!(read_only().shell(usual).exits(0).stdout, "out\n");
        // Without --tty there is no controlling terminal.
        read_only().shell("exec 3</dev/tty").fails();
        if scene.user == User::Root {
            let others = "cat /dev/kmsg /dev/mem /dev/port 2>/dev/null | head -c1 | wc -c";
            assert_eq!(read_only().shell(others).exits(0).stdout.trim(), "0");
            read_only().shell("mknod node c 1 3").fails();
            scene.confine().shell("mknod node c 1 3").fails();
            assert_eq!(names(&scene.workspace()), Vec::<String>::new());
        }
    });
}

const LOCAL: &str = "
import socket, sys
a, b = socket.socketpair()
a.sendall(b'x'); assert b.recv(1) == b'x'
server = socket.socket(socket.AF_UNIX); server.bind(sys.argv[1]); server.listen()
client = socket.socket(socket.AF_UNIX); client.connect(sys.argv[1])
peer, _ = server.accept(); client.sendall(b'y'); assert peer.recv(1) == b'y'
";

const CONNECT: &str = "
import socket, sys
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
socket.create_connection((sys.argv[1], int(sys.argv[2])), 2).close() if family == socket.AF_INET else \\
    socket.socket(family).connect((sys.argv[1], int(sys.argv[2])))
";

const SEND: &str = "
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', int(sys.argv[1])))
";

#[test]
fn case_d07_local_sockets_work_while_the_network_is_off() {
    needs!(root, bwrap, landlock = 6, python3);
    each(EVERYBODY, Backend::ALL, |scene| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        scene.confine().run(["python3", "-c", LOCAL, "u.sock"]).exits(0);
        let tmp = format!("import os; os.chdir(os.environ.get('TMPDIR', '/tmp'))\n{LOCAL}");
        scene.confine().run(["python3", "-c", &tmp, "u2.sock"]).exits(0);

        scene.confine().run(["python3", "-c", CONNECT, "127.0.0.1", &port]).fails();
        scene.confine().run(["python3", "-c", CONNECT, "::1", &port]).fails();
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "a connection came out of the sandbox");

        let open = scene.confine().option("--network", "open");
        open.run(["python3", "-c", CONNECT, "127.0.0.1", &port]).exits(0);
        assert!(listener.accept().is_ok());
        scene.control(["python3", "-c", CONNECT, "127.0.0.1", &port]).exits(0);
        assert!(listener.accept().is_ok());
    });
}

#[test]
fn case_d07_no_datagram_leaves_while_the_network_is_off() {
    needs!(root, bwrap, landlock = 6, python3);
    each(EVERYBODY, Backend::ALL, |scene| {
        let receiver = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = receiver.local_addr().unwrap().port().to_string();
        receiver.set_nonblocking(true).unwrap();
        let mut byte = [0];
        // In an empty network namespace sending to its own loopback succeeds; what counts is that nothing arrives.
        scene.confine().run(["python3", "-c", SEND, &port]);
        thread::sleep(Duration::from_millis(30));
        assert!(receiver.recv(&mut byte).is_err(), "a datagram came out of the sandbox");
        receiver.set_nonblocking(false).unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        scene.confine().option("--network", "open").run(["python3", "-c", SEND, &port]).exits(0);
        receiver.recv(&mut byte).expect("with an open network it arrives");
        scene.control(["python3", "-c", SEND, &port]).exits(0);
        receiver.recv(&mut byte).expect("outside it arrives");
    });
}

/// Answers every connection with one byte, until it is dropped.
fn answer(listener: UnixListener) {
    thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { return };
            let _ = connection.write_all(b"!");
        }
    });
}

const ASK: &str = "
import socket, sys
name = sys.argv[1]
name = '\\0' + name[1:] if name.startswith('@') else name
client = socket.socket(socket.AF_UNIX); client.settimeout(2); client.connect(name)
print(client.recv(1).decode())
";

#[test]
fn case_d08_sockets_of_the_host_are_not_reached() {
    needs!(root, bwrap, landlock = 6, python3);
    each(EVERYBODY, Backend::ALL, |scene| {
        let place = Temporary::new("/run/confine-socket-");
        let path = place.path().join("svc.sock");
        let elsewhere = scene.outside().join("svc.sock");
        for socket in [&path, &elsewhere] {
            answer(UnixListener::bind(socket).unwrap());
            fs::set_permissions(socket, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let abstract_name = format!("confine-{}", marker());
        answer(UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap()).unwrap());
        let at_abstract = format!("@{abstract_name}");
        let (path, elsewhere) = (path.to_str().unwrap(), elsewhere.to_str().unwrap());

        for name in [path, elsewhere, &at_abstract] {
            assert_eq!(scene.control(["python3", "-c", ASK, name]).exits(0).stdout, "!\n");
        }
        scene.confine().run(["python3", "-c", ASK, &at_abstract]).fails();
        match scene.backend {
            Backend::Bwrap => {
                for name in [path, elsewhere] {
                    scene.confine().run(["python3", "-c", ASK, name]).fails();
                    scene.confine().option("--socket", name).run(["python3", "-c", ASK, name]).exits(0);
                }
            }
            // Landlock alone does not govern pathname sockets below ABI 9, and says so.
            Backend::Landlock => {
                let run = scene.plain().option("--backend", "landlock").run(["true"]).exits(125);
                run.says("net-unix-path");
            }
        }
    });
}

#[test]
fn case_d08_a_listener_that_vanishes_during_the_launch_breaks_no_run() {
    needs!(root, bwrap);
    each(&[User::Ordinary], &[Backend::Bwrap], |scene| {
        let over = Arc::new(AtomicBool::new(false));
        let coming_and_going = thread::spawn({
            let (over, place) = (Arc::clone(&over), scene.outside());
            move || {
                for number in 0.. {
                    let socket = place.join(format!("{number}.sock"));
                    let listener = UnixListener::bind(&socket).unwrap();
                    thread::sleep(Duration::from_millis(10));
                    drop(listener);
                    fs::remove_file(&socket).unwrap();
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                }
            }
        });
        let codes: Vec<_> = (0..20).map(|_| scene.confine().run(["true"]).code()).collect();
        over.store(true, Ordering::Relaxed);
        coming_and_going.join().unwrap();
        assert_eq!(codes, [Some(0); 20]);
    });
}

#[test]
fn case_d08_a_listener_that_root_inside_cannot_reach_needs_no_mask() {
    needs!(root, bwrap, python3);
    each(&[User::Root], &[Backend::Bwrap], |scene| {
        for (mode, mask) in [(0o700, false), (0o755, true)] {
            let place = scene.directory(&scene.base().join(format!("{mode:o}")));
            let socket = place.join("svc.sock");
            answer(UnixListener::bind(&socket).unwrap());
            fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
            fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
            chown(&place, Some(65534), Some(65534)).unwrap();
            let socket = socket.to_str().unwrap();
            assert_eq!(scene.control(["python3", "-c", ASK, socket]).exits(0).stdout, "!\n");
            scene.confine().run(["true"]).exits(0);
            scene.confine().run(["python3", "-c", ASK, socket]).fails();
            let losses = "fs-carve-out-new,fd-stdio,fs-metadata,net-unix-path-new,orphan";
            let plan = scene.confine().verb(["plan"]).option("--accept-missing", losses);
            let plan = plan.run(["true"]).exits(0).stdout;
            assert_eq!(plan.contains(socket), mask, "{mode:o}: {plan}");
        }
    });
}

#[test]
fn case_d10_other_entries_to_the_kernel_are_closed() {
    needs!(root, bwrap, landlock = 6, cc, ia32, io_uring);
    each(EVERYBODY, Backend::ALL, |scene| {
        let ring = program::compile("io_uring", scene.base());
        let entry = program::compile("int80", scene.base());
        let (ring, entry) = (ring.to_str().unwrap(), entry.to_str().unwrap());
        scene.control([ring]).exits(0);
        scene.control([entry]).exits(0);
        for network in ["off", "open"] {
            scene.confine().option("--network", network).run([ring]).exits(1).says("io_uring_setup");
            let killed = scene.confine().option("--network", network).with_report().run([entry]).exits(159);
            killed.reports("/outcome/kind", "signaled").reports("/outcome/signal", 31);
        }
    });
}

#[test]
fn case_d10_threads_start_although_clone3_is_refused() {
    needs!(root, bwrap, landlock = 6, python3);
    each(ROOT_AND_ORDINARY, Backend::ALL, |scene| {
        let code = "import threading as t; x = t.Thread(target=lambda: print('ran')); x.start(); x.join()";
        assert_eq!(scene.confine().run(["python3", "-c", code]).exits(0).stdout, "ran\n");
    });
}

#[test]
fn case_d11_rename_and_link_work_across_directories_of_a_grant() {
    needs!(root, bwrap, landlock = 6, python3);
    each(EVERYBODY, Backend::ALL, |scene| {
        let script =
            "mkdir a b && echo 1 > a/f && python3 -c 'import os; os.rename(\"a/f\", \"b/f\")' && ln b/f a/h";
        scene.confine().shell(script).exits(0);
        assert_eq!(content(&scene.workspace().join("b/f")).as_deref(), Some("1\n"));
        assert_eq!(content(&scene.workspace().join("a/h")).as_deref(), Some("1\n"));
        assert!(!is_there(&scene.workspace().join("a/f")));

        // Out of the grant, neither.
        let out = scene.outside();
        for act in ["os.rename", "os.link"] {
            let code = format!("import os; {act}('b/f', '{}/f')", out.display());
            scene.confine().run(["python3", "-c", &code]).fails();
            assert_eq!(names(&out), Vec::<String>::new());
        }
        let code = format!("import os; os.link('b/f', '{}/f')", out.display());
        scene.control(["python3", "-c", &code]).exits(0);
        assert_eq!(names(&out), ["f"]);
    });
}

#[test]
fn case_d13_metadata_outside_stays_or_the_loss_is_told() {
    needs!(root, bwrap, landlock = 6, setfattr);
    each(EVERYBODY, Backend::ALL, |scene| {
        let file = scene.write(&scene.outside().join("O"), "x");
        let state = || {
            let metadata = fs::metadata(&file).unwrap();
            let attributes =
                Command::new("getfattr").args(["-d", "--absolute-names"]).arg(&file).output().unwrap();
            (metadata.permissions().mode(), metadata.modified().unwrap(), attributes.stdout)
        };
        let before = state();
        let place = file.display();
        let acts = [
            format!("chmod 777 {place}"),
            format!("touch -d 2001-01-01 {place}"),
            format!("setfattr -n user.a -v b {place}"),
        ];
        match scene.backend {
            Backend::Bwrap => {
                for act in &acts {
                    scene.confine().shell(act).fails();
                }
                assert_eq!(state(), before);
                for act in &acts {
                    scene.confine().options(["--write".into(), scene.outside()]).shell(act).exits(0);
                }
                assert_ne!(state(), before);
            }
            Backend::Landlock => {
                scene.plain().option("--backend", "landlock").run(["true"]).exits(125).says("fs-metadata");
                let run = scene.confine().with_report().run(["true"]).exits(0);
                let missing =
                    run.report.as_ref().and_then(|report| report["missing"].as_array()).expect("a list");
                assert!(missing.iter().any(|loss| loss["effect"] == "fs-metadata"), "{missing:?}");
            }
        }
        for act in &acts {
            scene.control(["sh", "-c", act]).exits(0);
        }
    });
}

/// A process of the scene's user outside.
struct Bystander(Child);

impl Bystander {
    fn new(scene: &Scene) -> Self {
        let mut command = scene.command("sleep");
        Self(command.arg(marker()).stdin(Stdio::piped()).spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn case_d14_no_signal_crosses_the_border() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        let mut outside = Bystander::new(scene);
        let pid = outside.0.id();
        let expected = match scene.backend {
            Backend::Bwrap => "No such process",
            Backend::Landlock => "Operation not permitted",
        };
        for signal in ["-0", "-TERM", "-KILL"] {
            scene.confine().run(["/bin/kill", signal, &pid.to_string()]).fails().says(expected);
        }
        thread::sleep(Duration::from_millis(20));
        assert!(outside.lives());
        // The twin inside, and the control outside.
        scene.confine().shell("sleep 60 & kill -TERM $!; wait $!; test $? = 143").exits(0);
        scene.control(["/bin/kill", "-TERM", &pid.to_string()]).exits(0);
        let mut nothing = String::new();
        let _ = outside.0.stdout.take().map(|mut out| out.read_to_string(&mut nothing));
        assert!(confine_tests::world::within(Duration::from_secs(2), || !outside.lives()));
    });
}
