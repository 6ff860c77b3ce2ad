//! Attempts at the network and at sockets: listeners outside tell who got through.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};

use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};

use super::ground::Ground;
use super::system;
use super::told::{Orders, Told};

pub(super) fn tcp(orders: &Orders, told: &mut Told) {
    told.tried("connect", TcpStream::connect((Ipv4Addr::LOCALHOST, orders.tcp)));
}

pub(super) fn tcp_reached(ground: &Ground, _: &Told) -> Vec<String> {
    let reached = ground.world.tcp.as_ref().is_some_and(|tcp| tcp.accept().is_ok());
    if reached { vec!["connect".to_owned()] } else { Vec::new() }
}

pub(super) fn udp(orders: &Orders, told: &mut Told) {
    let send = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.send_to(b"x", (Ipv4Addr::LOCALHOST, orders.udp));
    told.tried("send", send());
}

pub(super) fn udp_reached(ground: &Ground, _: &Told) -> Vec<String> {
    let reached = ground.world.udp.as_ref().is_some_and(|udp| udp.recv(&mut [0; 8]).is_ok());
    if reached { vec!["send".to_owned()] } else { Vec::new() }
}

pub(super) fn path(orders: &Orders, told: &mut Told) {
    told.tried("listening", UnixStream::connect(orders.at("out/listening")));
    told.tried("hidden", UnixStream::connect(orders.at("hidden/socket")));
}

pub(super) fn path_reached(ground: &Ground, _: &Told) -> Vec<String> {
    let listeners = [("listening", &ground.world.listening), ("hidden", &ground.world.hidden)];
    let reached = listeners.into_iter().filter(|(_, listener)| listener.accept().is_ok());
    reached.map(|(act, _)| act.to_owned()).collect()
}

/// Both appeared after the policy was resolved.
pub(super) fn new_path(orders: &Orders, told: &mut Told) {
    told.tried("connect", UnixStream::connect(orders.at("out/late")));
    let fifo = || {
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(libc::O_NONBLOCK).open(orders.at("out/fifo"))?.write_all(b"x")
    };
    told.tried("write a FIFO", fifo());
}

pub(super) fn new_path_reached(ground: &Ground, _: &Told) -> Vec<String> {
    let mut reached = Vec::new();
    if ground.world.late.as_ref().is_some_and(|late| late.listener.accept().is_ok()) {
        reached.push("connect".to_owned());
    }
    let read = |late: &super::ground::Late| (&late.fifo).read(&mut [0; 8]);
    if ground.world.late.as_ref().is_some_and(|late| read(late).is_ok_and(|length| length > 0)) {
        reached.push("write a FIFO".to_owned());
    }
    reached
}

pub(super) fn abstract_name(orders: &Orders, told: &mut Told) {
    let connect = || UnixStream::connect_addr(&SocketAddr::from_abstract_name(&orders.abstract_name)?);
    told.tried("connect", connect());
}

pub(super) fn abstract_reached(ground: &Ground, _: &Told) -> Vec<String> {
    match ground.world.abstract_listener.accept() {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Vec::new(),
        Err(_) => Vec::new(),
        Ok(_) => vec!["connect".to_owned()],
    }
}

/// The system's own answer counts: what these give is a descriptor.
pub(super) fn other(_: &Orders, told: &mut Told) {
    let flags = SockFlag::SOCK_CLOEXEC;
    let audit = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkSockDiag);
    told.tried("netlink", audit);
    told.tried("vsock", socket(AddressFamily::Vsock, SockType::Stream, flags, None));
    told.tried("packet", socket(AddressFamily::Packet, SockType::Raw, flags, None));
    told.tried("raw", socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Icmp));
    told.tried("io_uring", system::make_ring());
}
