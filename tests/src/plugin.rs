//! Egress plugins, and a small broker that speaks with their helper by frames: what the helper does is seen without the
//! real broker, unconfined and in a sandbox.

mod confined;
mod lane;

use std::fs::{self, File};
use std::io::{IoSlice, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use confine_core::egress::frame::{Decoder, Frame, Link};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use crate::installation;
use confined::Confined;

pub use lane::{Answered, Asked, Lane};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Compiles a C file of the project to a plugin in `directory`, with `flags`.
///
/// # Panics
/// When the compiler refuses it.
pub fn compile(source: &str, directory: &Path, flags: &[&str]) -> PathBuf {
    let source = Path::new(ROOT).join(source);
    let stem = source.file_stem().expect("a file").to_string_lossy().into_owned();
    let library = directory.join(format!("{stem}{}.so", flags.concat()));
    let include = format!("-I{ROOT}/plugins/abi/include");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-fvisibility=hidden", "-O1", "-Wall", "-Wno-unused", &include]).args(flags);
    let output = cc.arg("-o").arg(&library).arg(&source).output().expect("`cc` starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

/// The library that cargo made of a crate of the workspace.
///
/// # Panics
/// When it is not there: `cargo build --workspace` makes it.
pub fn built(name: &str) -> PathBuf {
    let path = installation::target().join(format!("lib{name}.so"));
    assert!(path.is_file(), "`{}` is missing: `cargo build` makes it", path.display());
    path
}

/// What lies in the section of a library that holds its manifest, as `objcopy` finds it.
///
/// # Panics
/// Without such a section.
pub fn section(library: &Path) -> Vec<u8> {
    let place = crate::Temporary::new("/tmp/confine-section-");
    let out = place.path().join("manifest");
    let dump = format!("--dump-section=.confine.manifest={}", out.display());
    let status = Command::new("objcopy").arg(dump).arg(library).arg(place.path().join("rest")).status();
    assert!(status.expect("`objcopy` starts").success());
    fs::read(out).expect("the section")
}

/// Where a helper runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere in particular.
    Bare,
    /// In the sandbox that the manifest makes.
    In(crate::Backend),
}

/// A helper with a plugin.
pub struct Helper {
    control: Option<UnixStream>,
    decoder: Decoder,
    /// Its lanes.
    pub lanes: Vec<Lane>,
    process: Process,
}

enum Process {
    Bare(Child),
    In(Confined),
}

/// What a helper says first.
#[derive(Debug)]
pub enum Greeting {
    /// Its ABI, the size of the plugin's table, and the manifest.
    Hello(u32, u64, Vec<u8>),
    /// Why not.
    Refused(String),
    /// Nothing: it ended.
    Nothing,
}

impl Helper {
    /// Starts one and hands it the plugin.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(plugin: &Path, place: Place, lanes: u32, config: &str) -> Self {
        Self::new(plugin, place, (lanes, lanes), config)
    }

    /// One that is told of `lanes` lanes and gets `sent`.
    ///
    /// # Panics
    /// When it does not start.
    pub fn announced(plugin: &Path, lanes: u32, sent: u32) -> Self {
        Self::new(plugin, Place::Bare, (lanes, sent), "{}")
    }

    fn new(plugin: &Path, place: Place, (lanes, sockets): (u32, u32), config: &str) -> Self {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        ours.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let process = match place {
            Place::Bare => Process::Bare(bare(theirs.into())),
            Place::In(backend) => Process::In(Confined::start(&section(plugin), backend, theirs.into())),
        };
        let (mut own, mut sent) = (Vec::new(), vec![sealed(plugin)]);
        for _ in 0..sockets {
            let (ours, theirs) = UnixStream::pair().expect("a socket pair");
            own.push(Lane::new(ours));
            sent.push(theirs.into());
        }
        hand(&ours, Frame::Open { abi: 1, lanes, config: config.as_bytes() }, &sent);
        let decoder = Decoder::new(Link::ControlToBroker);
        Self { control: Some(ours), decoder, lanes: own, process }
    }

    /// The same, and it says hello.
    ///
    /// # Panics
    /// When it does not.
    pub fn greeted(plugin: &Path, place: Place) -> Self {
        let mut helper = Self::start(plugin, place, 1, "{}");
        match helper.greeting() {
            Greeting::Hello(..) => helper,
            other => panic!("no hello, but {other:?}; it says: {}", helper.ended().1),
        }
    }

    /// What it says first.
    ///
    /// # Panics
    /// When it says what it may not, or nothing for too long.
    pub fn greeting(&mut self) -> Greeting {
        let control = self.control.as_mut().expect("an open control socket");
        loop {
            match self.decoder.frame().expect("a frame of the control socket") {
                Some(Frame::Hello { abi, size, manifest }) => {
                    return Greeting::Hello(abi, size, manifest.to_vec());
                }
                Some(Frame::Refused { reason }) => return Greeting::Refused(reason.to_owned()),
                Some(other) => panic!("{other:?}"),
                None => {}
            }
            let mut buffer = [0; 4096];
            match control.read(&mut buffer) {
                Ok(0) => return Greeting::Nothing,
                Ok(count) => self.decoder.push(&buffer[..count]),
                Err(error) => panic!("the helper says nothing: {error}"),
            }
        }
    }

    /// One call on the first lane, with nothing to ask for.
    ///
    /// # Panics
    /// As [`Lane::call`].
    pub fn call(&mut self, input: &str) -> Answered {
        self.lanes[0].call(input)
    }

    /// Sends bytes on the control socket, as they are.
    ///
    /// # Panics
    /// When the helper is gone.
    pub fn says(&mut self, bytes: &[u8]) {
        self.control.as_mut().expect("an open control socket").write_all(bytes).expect("the helper reads");
    }

    /// Closes everything, and waits: the exit code, or `None` for a signal, and what it said on its standard error.
    ///
    /// # Panics
    /// When the helper does not end.
    pub fn end(mut self) -> (Option<i32>, String) {
        self.lanes.clear();
        self.control = None;
        self.ended()
    }

    /// Waits for its own end.
    ///
    /// # Panics
    /// When that does not come.
    pub fn ended(self) -> (Option<i32>, String) {
        match self.process {
            Process::Bare(child) => {
                let output = child.wait_with_output().expect("the helper is a child");
                (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
            }
            Process::In(confined) => confined.ended(),
        }
    }

    /// Its process on the host: the helper's, or that of its sandbox.
    pub fn pid(&self) -> u32 {
        match &self.process {
            Process::Bare(child) => child.id(),
            Process::In(confined) => confined.pid(),
        }
    }
}

fn bare(control: OwnedFd) -> Child {
    let mut command = Command::new(installation::plugin_host());
    command.env_clear().stdin(control).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the helper starts")
}

/// A frame, with descriptors beside its first byte.
fn hand(socket: &UnixStream, frame: Frame<'_>, descriptors: &[OwnedFd]) {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes).expect("a frame");
    let raw: Vec<_> = descriptors.iter().map(|one| one.as_raw_fd()).collect();
    let rights = [ControlMessage::ScmRights(&raw)];
    let sent =
        sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(&bytes)], &rights, MsgFlags::MSG_NOSIGNAL, None);
    assert_eq!(sent.expect("the helper reads"), bytes.len());
}

fn sealed(plugin: &Path) -> OwnedFd {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let mut file = File::from(memfd_create(c"plugin", flags).expect("a file in memory"));
    file.write_all(&fs::read(plugin).expect("the plugin")).expect("room");
    let seals =
        SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals)).expect("seals");
    file.into()
}
