//! The throwaway surroundings of one subject: files, sockets, a process, a terminal, shared memory; and the secrets that
//! only they hold.

use std::cell::RefCell;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;

use confine_core::Effect;
use nix::mqueue::{MQ_OFlag, MqAttr, MqdT, mq_close, mq_getattr, mq_open};
use nix::pty::openpty;
use nix::sys::stat::Mode;
use rustix::io::FdFlags;

use super::files::{CONTENT, MODE};
use super::place::{SHM, Throwaway};
use super::program;
use super::system::Segment;
use super::told::{Orders, Subject};

/// What the victim's command line begins with, and a secret follows.
pub(super) const MARKER: &str = "confine-probe-marker-";
/// The variable that holds a secret of the caller's. Not one of confine's own names, which never pass.
pub(super) const ENVIRONMENT: &str = "PROBE_SECRET";
/// What an attempt leaves in shared places.
pub(super) const SHARED: &str = "changed";
/// See [`SHARED`]; a segment of System V shared memory holds a number.
pub(super) const SEGMENT: u8 = 7;

/// Directories, `files` of them in each place of an attempt's own.
const DIRECTORIES: &[&str] = &[
    "ws",
    "ws/setid",
    "ws/carved",
    "out",
    "out/write",
    "out/truncate",
    "out/rename",
    "out/metadata",
    "out/execute",
    "out/lock",
    "hidden",
    "unread",
    "stdio",
];
const FILES: &[&str] = &[
    "ws/setid/user",
    "ws/setid/group",
    "ws/carved/kept",
    "ws/given",
    "ws/mapped",
    "out/write/modify",
    "out/write/delete",
    "out/truncate/truncate",
    "out/truncate/open",
    "out/rename/take",
    "out/rename/link",
    "out/rename/move",
    "out/metadata/mode",
    "out/metadata/times",
    "out/metadata/attribute",
    "out/lock/file",
    STDERR,
];
const STDERR: &str = "stdio/stderr";
const INHERITED: &str = "stdio/inherited";

/// Set-user-id programs of root's, and what makes them say something and end.
const SETID: &[(&str, &str)] = &[
    ("/usr/bin/mount", "--version"),
    ("/bin/mount", "--version"),
    ("/usr/bin/umount", "--version"),
    ("/usr/bin/passwd", "--help"),
    ("/usr/bin/chsh", "--help"),
    ("/usr/bin/newgrp", "--help"),
    ("/usr/bin/fusermount3", "--version"),
    ("/usr/bin/sudo", "--version"),
];

/// One subject's surroundings. Dropped, they are gone.
pub(super) struct Ground {
    pub(super) orders: Orders,
    pub(super) world: World,
    secrets: Secrets,
    victim: RefCell<Child>,
    /// Open in this process without close-on-exec: what is spawned inherits it.
    _inherited: File,
    _directory: Throwaway,
}

/// What listens and waits.
pub(super) struct World {
    /// None where nobody may listen, as inside a sandbox.
    pub(super) tcp: Option<TcpListener>,
    /// See `tcp`.
    pub(super) udp: Option<UdpSocket>,
    pub(super) listening: UnixListener,
    pub(super) hidden: UnixListener,
    pub(super) abstract_listener: UnixListener,
    pub(super) late: Option<Late>,
    /// With its attributes while it is empty.
    pub(super) queue: Option<(MqdT, MqAttr)>,
    pub(super) segment: Option<Segment>,
    _memory: Option<File>,
    /// None where there is none to be had, as inside a sandbox.
    pub(super) terminal: Option<OwnedFd>,
    program_side: OwnedFd,
}

/// What appears after the policy was resolved.
pub(super) struct Late {
    pub(super) listener: UnixListener,
    pub(super) fifo: File,
}

/// By place.
struct Secrets {
    content: String,
    name: String,
    environment: String,
    marker: String,
    memory: String,
}

impl Secrets {
    fn new() -> io::Result<Self> {
        let marker = format!("{MARKER}{}", secret()?);
        Ok(Self { content: secret()?, name: secret()?, environment: secret()?, marker, memory: secret()? })
    }
}

/// 32 hexadecimal digits.
pub(super) fn secret() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Ground {
    /// Makes it.
    ///
    /// # Errors
    /// What the system refuses; what only some attempts need may be missing.
    pub(super) fn prepare(subject: Subject, program: &Path) -> io::Result<Self> {
        let directory = Throwaway::new()?;
        let ground = directory.path().to_owned();
        let secrets = Secrets::new()?;
        files(&ground, &secrets, program)?;
        let shared = directory.name().to_owned();
        let world = World::prepare(&ground, &shared)?;
        let (victim, address) = victim(program, &secrets)?;
        let orders = Orders {
            subject,
            victim: i32::try_from(victim.id()).map_err(io::Error::other)?,
            address,
            length: secrets.memory.len(),
            tcp: world.tcp.as_ref().and_then(|tcp| tcp.local_addr().ok()).map_or(0, |address| address.port()),
            udp: world.udp.as_ref().and_then(|udp| udp.local_addr().ok()).map_or(0, |address| address.port()),
            abstract_name: shared.clone(),
            segment: world.segment.as_ref().map(Segment::id),
            setid: setid(),
            shared,
            ground,
        };
        let inherited = inherited(&orders)?;
        let victim = RefCell::new(victim);
        Ok(Self { orders, world, secrets, victim, _inherited: inherited, _directory: directory })
    }

    /// What appears once the policy is resolved.
    pub(super) fn arrive(&mut self) -> io::Result<()> {
        let listener = listener(&self.at("out/late"))?;
        let path = self.at("out/fifo");
        nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR)?;
        let fifo = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        self.world.late = Some(Late { listener, fifo });
        Ok(())
    }

    /// A path in it.
    pub(super) fn at(&self, below: &str) -> PathBuf {
        self.orders.at(below)
    }

    /// The file on descriptor 2.
    pub(super) fn stderr(&self) -> PathBuf {
        self.at(STDERR)
    }

    /// The variable that the run's caller has.
    pub(super) fn environment(&self) -> (&'static str, &str) {
        (ENVIRONMENT, &self.secrets.environment)
    }

    /// Descriptors for the standard input and the standard error of a run.
    pub(super) fn descriptors(&self) -> io::Result<(OwnedFd, OwnedFd)> {
        let stderr = OpenOptions::new().append(true).open(self.stderr())?;
        Ok((self.world.program_side.try_clone()?, stderr.into()))
    }

    /// Whether that is what only the place of an attempt at `effect` holds.
    pub(super) fn is_secret(&self, effect: Effect, found: &str) -> bool {
        let secrets = &self.secrets;
        let found = found.trim();
        match effect {
            Effect::FsHide => {
                found == secrets.content
                    || found == secrets.name
                    || found == format!("{} bytes", secrets.content.len())
            }
            Effect::EnvLeak => found == format!("{ENVIRONMENT}={}", secrets.environment),
            Effect::ProcSee => found == secrets.marker,
            Effect::ProcTrace => found == secrets.memory,
            _ => found == secrets.content,
        }
    }

    /// Whether the signal of an attempt ended the victim.
    pub(super) fn victim_is_dead(&self) -> bool {
        let ended = self.victim.borrow_mut().try_wait();
        ended.ok().flatten().is_some_and(|status| status.signal() == Some(libc::SIGUSR1))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Some((queue, _)) = self.world.queue.take() {
            let _ = mq_close(queue);
        }
        let mut victim = self.victim.borrow_mut();
        let _ = victim.kill();
        let _ = victim.wait();
    }
}

impl World {
    fn prepare(ground: &Path, shared: &str) -> io::Result<Self> {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok();
        tcp.as_ref().map_or(Ok(()), |tcp| tcp.set_nonblocking(true))?;
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok();
        udp.as_ref().map_or(Ok(()), |udp| udp.set_nonblocking(true))?;
        let abstract_listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(shared)?)?;
        abstract_listener.set_nonblocking(true)?;
        let (terminal, program_side) = terminal()?;
        Ok(Self {
            tcp,
            udp,
            listening: listener(&ground.join("out/listening"))?,
            hidden: listener(&ground.join("hidden/socket"))?,
            abstract_listener,
            late: None,
            queue: queue(shared),
            segment: Segment::new().ok(),
            _memory: memory(shared).ok(),
            terminal,
            program_side,
        })
    }
}

/// A terminal's own end, and the one for a program, which else gets `/dev/null`.
fn terminal() -> io::Result<(Option<OwnedFd>, OwnedFd)> {
    let Ok(pair) = openpty(None, None) else { return Ok((None, File::open("/dev/null")?.into())) };
    rustix::io::ioctl_fionbio(&pair.master, true)?;
    for descriptor in [&pair.master, &pair.slave] {
        rustix::io::fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
    }
    Ok((Some(pair.master), pair.slave))
}

fn queue(shared: &str) -> Option<(MqdT, MqAttr)> {
    let flags =
        MQ_OFlag::O_CREAT | MQ_OFlag::O_EXCL | MQ_OFlag::O_RDWR | MQ_OFlag::O_NONBLOCK | MQ_OFlag::O_CLOEXEC;
    // Without attributes of its own, nix hands none of the mode over either.
    let small = MqAttr::new(0, 1, 64, 0);
    let mode = Mode::S_IRUSR | Mode::S_IWUSR;
    let queue = mq_open(format!("/{shared}").as_str(), flags, mode, Some(&small)).ok()?;
    let empty = mq_getattr(&queue).ok()?;
    Some((queue, empty))
}

/// Removed with the throwaway directory, by the same name.
fn memory(shared: &str) -> io::Result<File> {
    let path = Path::new(SHM).join(shared);
    OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)
}

fn listener(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn files(ground: &Path, secrets: &Secrets, program: &Path) -> io::Result<()> {
    for directory in DIRECTORIES {
        DirBuilder::new().mode(0o700).create(ground.join(directory))?;
    }
    let contents = FILES.iter().map(|file| (*file, CONTENT));
    let kept = ["hidden/secret", "unread/secret", INHERITED].map(|file| (file, secrets.content.as_str()));
    for (file, content) in contents.chain(kept) {
        let mut made = OpenOptions::new().write(true).create_new(true).mode(MODE).open(ground.join(file))?;
        made.write_all(content.as_bytes())?;
        made.set_permissions(Permissions::from_mode(MODE))?;
    }
    fs::write(ground.join("hidden").join(&secrets.name), "")?;
    let script = ground.join("out/execute/script");
    fs::write(&script, format!("#!{} {}\n", program.display(), program::WORD))?;
    fs::set_permissions(script, Permissions::from_mode(0o700))
}

fn inherited(orders: &Orders) -> io::Result<File> {
    let file = File::open(orders.at(INHERITED))?;
    rustix::io::fcntl_setfd(&file, FdFlags::empty())?;
    Ok(file)
}

/// A process with a secret in its command line, one in its environment, and one in its memory; and where that is.
fn victim(program: &Path, secrets: &Secrets) -> io::Result<(Child, usize)> {
    let mut victim = program::start_victim(program, &secrets.marker, (ENVIRONMENT, &secrets.environment))?;
    let missing = || io::Error::other("the victim of attempts does not start");
    victim.stdin.as_mut().ok_or_else(missing)?.write_all(secrets.memory.as_bytes())?;
    let mut address = String::new();
    let mut answer = victim.stdout.take().ok_or_else(missing)?;
    let mut byte = [0];
    while answer.read(&mut byte)? == 1 && byte != *b"\n" {
        address.extend(byte.map(char::from));
    }
    Ok((victim, address.parse().map_err(|_| missing())?))
}

fn setid() -> Option<(PathBuf, String)> {
    let is_setid = |path: &str| {
        fs::metadata(path).is_ok_and(|metadata| metadata.uid() == 0 && metadata.mode() & 0o4001 == 0o4001)
    };
    let found = SETID.iter().find(|(path, _)| is_setid(path))?;
    Some((found.0.into(), found.1.to_owned()))
}
