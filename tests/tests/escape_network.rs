//! Sockets and shared memory of the host. Each attempt works outside, as its control; where a grant exists, inside with
//! it, as its twin.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use confine_tests::program::compile;
use confine_tests::world::within;
use confine_tests::{Backend, Scene, User, each, needs};

/// Whether one byte arrives soon at a listener that does not block.
fn arrives<S: std::io::Read>(accept: impl Fn() -> std::io::Result<S>) -> bool {
    within(Duration::from_millis(200), || {
        accept().is_ok_and(|mut stream| stream.read(&mut [0]).is_ok_and(|n| n == 1))
    })
}

fn attack(scene: &Scene, how: &str, to: impl Into<PathBuf>) -> [PathBuf; 3] {
    [compile("reach", scene.base()), how.into(), to.into()]
}

#[test]
fn a_tcp_service_on_loopback_is_out_of_reach() {
    needs!(root, bwrap, landlock = 4, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback is up");
        listener.set_nonblocking(true).expect("a listener may poll");
        let port = listener.local_addr().expect("it is bound").port().to_string();
        let attack = attack(scene, "tcp", port);
        let arrives = || arrives(|| listener.accept().map(|(stream, _)| stream));
        scene.confine().run(&attack).fails();
        assert!(!arrives());
        scene.confine().option("--network", "open").run(&attack).exits(0);
        assert!(arrives(), "with the network");
        scene.control(&attack).exits(0);
        assert!(arrives(), "outside");
    });
}

#[test]
fn a_datagram_does_not_get_out() {
    needs!(root, bwrap, landlock = 3, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback is up");
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout is no fault");
        let port = socket.local_addr().expect("it is bound").port().to_string();
        let attack = attack(scene, "udp", port);
        let arrives = || socket.recv(&mut [0]).is_ok();
        scene.confine().run(&attack);
        assert!(!arrives());
        scene.confine().option("--network", "open").run(&attack).exits(0);
        assert!(arrives(), "with the network");
        scene.control(&attack).exits(0);
        assert!(arrives(), "outside");
    });
}

#[test]
fn an_abstract_socket_is_out_of_reach_even_with_the_network() {
    needs!(root, bwrap, landlock = 6, cc);
    each(User::ALL, Backend::ALL, |scene| {
        let name = format!("confine-test-{}-{}-{}", std::process::id(), scene.user.id(), scene.backend.id());
        let address = SocketAddr::from_abstract_name(&name).expect("a short name");
        let listener = UnixListener::bind_addr(&address).expect("the name is free");
        listener.set_nonblocking(true).expect("a listener may poll");
        let attack = attack(scene, "abstract", name);
        let arrives = || arrives(|| listener.accept().map(|(stream, _)| stream));
        for network in ["off", "open"] {
            scene.confine().option("--network", network).run(&attack).fails();
            assert!(!arrives(), "inside, network {network}");
        }
        scene.control(&attack).exits(0);
        assert!(arrives(), "outside");
    });
}

#[test]
fn a_pathname_socket_that_listens_at_launch_is_out_of_reach() {
    needs!(root, bwrap, cc);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let path = scene.outside().join("service");
        let listener = UnixListener::bind(&path).expect("the path is free");
        scene.own(&path);
        listener.set_nonblocking(true).expect("a listener may poll");
        let attack = attack(scene, "unix", &path);
        let arrives = || arrives(|| listener.accept().map(|(stream, _)| stream));
        scene.confine().run(&attack).fails();
        assert!(!arrives());
        scene.confine().option("--socket", &path).run(&attack).exits(0);
        assert!(arrives(), "with the grant");
        scene.control(&attack).exits(0);
        assert!(arrives(), "outside");
    });
}

/// Shared memory of the host, removed at the end.
struct Segment<'a> {
    scene: &'a Scene,
    program: PathBuf,
    key: String,
}

impl<'a> Segment<'a> {
    fn make(scene: &'a Scene) -> Self {
        let key = format!("{:x}", 0x00c0_0000 + std::process::id() * 8 + scene.user.id() % 8);
        let segment = Self { scene, program: compile("segment", scene.base()), key };
        scene.control(segment.act("make")).exits(0);
        segment
    }

    fn act(&self, act: &str) -> [PathBuf; 3] {
        [self.program.clone(), act.into(), Path::new(&self.key).into()]
    }

    fn word(&self) -> String {
        self.scene.control(self.act("read")).exits(0).stdout.trim().to_owned()
    }
}

impl Drop for Segment<'_> {
    fn drop(&mut self) {
        self.scene.control(self.act("drop"));
    }
}

#[test]
fn shared_memory_of_the_host_cannot_be_written() {
    needs!(root, bwrap, cc);
    each(User::ALL, &[Backend::Bwrap], |scene| {
        let segment = Segment::make(scene);
        scene.confine().run(segment.act("write")).fails();
        assert_eq!(segment.word(), "1");
        scene.control(segment.act("write")).exits(0);
        assert_eq!(segment.word(), "2");
    });
}
