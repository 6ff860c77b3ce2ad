//! Starts the stage the way a runner does, and reads its records.

use std::ffi::OsString;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use confine_stage::{Plan, Record, Role};
use nix::cmsg_space;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, recvmsg, send, socketpair,
};

/// The stage under test: `CONFINE_TEST_BIN` names the directory of another one, which every user can reach.
pub(crate) static STAGE: LazyLock<String> = LazyLock::new(|| match std::env::var("CONFINE_TEST_BIN") {
    Ok(directory) => format!("{directory}/confine-stage"),
    Err(_) => env!("CARGO_BIN_EXE_confine-stage").to_owned(),
});

/// How long any of it may take.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const BWRAP: &[&str] = &[
    "bwrap",
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--as-pid-1",
    "--die-with-parent",
    "--bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
];

/// An ordinary user, with whom an id map hides no mistake.
pub(crate) const ORDINARY: &[&str] = &["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"];

/// A launch in the making.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) plan: Plan,
    pub(crate) wrapper: Vec<&'static str>,
    /// A shell's redirections of the program's descriptors.
    pub(crate) redirections: &'static str,
}

pub(crate) fn supervisor() -> Launch {
    Launch {
        plan: Plan { role: Role::Supervisor, cwd: "/".into(), ..Plan::default() },
        wrapper: Vec::new(),
        redirections: "",
    }
}

/// `None`, and a word about it, where there is no bwrap and nobody requires it.
pub(crate) fn init() -> Option<Launch> {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|directory| directory.join("bwrap").exists());
    if !found {
        let required = std::env::var("CONFINE_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|need| need == "bwrap"), "bwrap is required");
        println!("SKIP: no bwrap");
        return None;
    }
    let plan = Plan { cwd: "/".into(), ..Plan::default() };
    Some(Launch { plan, wrapper: BWRAP.to_vec(), redirections: "" })
}

/// Both roles, where the host has them, each by root and by an ordinary user.
pub(crate) fn everywhere() -> Vec<Launch> {
    let all = || [Some(supervisor()), init()].into_iter().flatten();
    let ordinary = all().map(|mut launch| {
        launch.wrapper.splice(0..0, ORDINARY.iter().copied());
        launch
    });
    all().chain(ordinary).collect()
}

impl Launch {
    fn words(&self, command: &[&str]) -> Vec<OsString> {
        let mut words: Vec<OsString> = self.wrapper.iter().map(OsString::from).collect();
        words.push(STAGE.as_str().into());
        words.extend(self.plan.encode());
        words.push("--".into());
        words.extend(command.iter().map(OsString::from));
        words
    }

    /// Without a control socket.
    pub(crate) fn foreign(&self, command: &[&str]) -> Command {
        let script = format!("exec \"$@\" {}", self.redirections);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg("sh").args(self.words(command));
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    }

    /// Without a control socket, to the end.
    pub(crate) fn output(&self, command: &[&str]) -> Output {
        self.foreign(command).output().unwrap()
    }

    /// With a control socket as descriptor 3: the socket comes in as standard input and is moved by a shell, so that no
    /// other test's process inherits it.
    pub(crate) fn spawn(mut self, command: &[&str]) -> Running {
        self.plan.control = Some(3);
        let (near, far) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC).unwrap();
        let script = format!("exec \"$@\" 3<&0 </dev/null {}", self.redirections);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg("sh").args(self.words(command)).stdin(far);
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running { child: shell.spawn().unwrap(), control: near, terminal: None }
    }

    /// With a control socket, to the end: the records, and what was written.
    pub(crate) fn records(self, command: &[&str]) -> (Vec<Record>, Output) {
        let mut running = self.spawn(command);
        let records = running.rest();
        (records, running.child.wait_with_output().unwrap())
    }
}

/// A launch under way.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) control: OwnedFd,
    /// The master, once it has come.
    pub(crate) terminal: Option<OwnedFd>,
}

impl Running {
    /// `None` at the end of file.
    pub(crate) fn next(&mut self) -> Option<Record> {
        assert!(wait_for(&self.control, PATIENCE), "no record in time");
        let mut bytes = [0; 8192];
        let mut space = cmsg_space!(std::os::fd::RawFd);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message =
            recvmsg::<UnixAddr>(self.control.as_raw_fd(), &mut parts, Some(&mut space), flags).ok()?;
        for part in message.cmsgs().unwrap() {
            if let ControlMessageOwned::ScmRights(fds) = part {
                // SAFETY: recvmsg(2) has just made this descriptor for us.
                self.terminal = fds.first().map(|fd| unsafe { OwnedFd::from_raw_fd(*fd) });
            }
        }
        let length = message.bytes;
        (length > 0).then(|| Record::decode(&bytes[..length]).unwrap())
    }

    pub(crate) fn rest(&mut self) -> Vec<Record> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Until the program runs.
    pub(crate) fn until_started(&mut self) {
        while self.next().expect("the program starts") != Record::Started {}
    }

    pub(crate) fn signal(&self, signal: i32) {
        self.tell(confine_stage::Command::Signal(signal));
    }

    pub(crate) fn tell(&self, command: confine_stage::Command) {
        send(self.control.as_raw_fd(), &command.encode(), MsgFlags::empty()).unwrap();
    }
}

pub(crate) fn wait_for(fd: &OwnedFd, patience: Duration) -> bool {
    let mut source = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    poll(&mut source, PollTimeout::try_from(patience).unwrap()).unwrap() > 0
}

/// Whether it comes true in time.
pub(crate) fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// How many processes have this word as an argument. Zombies have none.
pub(crate) fn count(word: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|each| each == word.as_bytes())).count()
}

/// A number of seconds to sleep that no other test, and no other run of it, uses.
pub(crate) fn unique_seconds(test: u32) -> String {
    format!("{}.{test}", 10_000 + std::process::id())
}

/// The raw status in the records.
pub(crate) fn status(records: &[Record]) -> Option<i32> {
    records.iter().find_map(|record| match record {
        Record::Ended { status, .. } => Some(*status),
        _ => None,
    })
}

/// A directory that is gone with the value.
pub(crate) struct Directory(pub(crate) std::path::PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("confine-stage-test-{}-{name}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn join(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }

    /// A file with these contents and mode.
    pub(crate) fn file(&self, name: &str, contents: &str, mode: u32) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.join(name);
        std::fs::write(&path, contents).unwrap();
        std::fs::set_permissions(Path::new(&path), std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
