//! Attempts at other processes, at privileges and at the kernel.

use std::fs::{self, File, OpenOptions};
use std::io::{IoSliceMut, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::mqueue::{MQ_OFlag, mq_getattr, mq_open, mq_send};
use nix::sched::{CloneFlags, unshare};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::{Pid, Uid, chown, setsid};

use super::ground::{ENVIRONMENT, Ground, MARKER, SEGMENT, SHARED};
use super::place::SHM;
use super::system;
use super::told::{Orders, Refusal, Told};

/// Settings whose change is code execution on the host, or close to it. They are opened for writing, and not written.
const SETTINGS: &[&str] = &[
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/panic_on_oom",
    "/proc/sysrq-trigger",
];
/// Tables that tell root about the kernel and about other processes.
const TABLES: &[&str] =
    &["/proc/kpageflags", "/proc/kpagecount", "/proc/slabinfo", "/proc/timer_list", "/proc/vmallocinfo"];
/// Of these only the start is looked at.
const LINE: usize = 64 * 1024;
/// How long a set-user-id program may take to start, and how often it is looked at.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_micros(500);
/// What the world shows.
const GIVEN: &str = "give a file away";
/// Whom files are given to.
const STRANGER: u32 = 12_321;

/// Every process's file of that name, its parts separated by NUL bytes.
fn parts(name: &str) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in
        processes.filter(|one| one.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit))
    {
        let mut bytes = vec![0; LINE];
        let read = File::open(process.path().join(name)).and_then(|mut file| file.read(&mut bytes));
        let bytes = bytes.get(..read.unwrap_or(0)).unwrap_or_default();
        parts.extend(bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec));
    }
    parts
}

fn look(told: &mut Told, act: &str, name: &str, prefix: &str) {
    let parts = parts(name);
    let known = parts.iter().filter(|part| part.starts_with(prefix.as_bytes()));
    known.for_each(|part| told.found(part));
    let seen = !parts.is_empty();
    told.tried(act, seen.then_some(()).ok_or_else(|| Refusal::saying("nothing is there")));
}

pub(super) fn see(_: &Orders, told: &mut Told) {
    look(told, "read command lines", "cmdline", MARKER);
}

pub(super) fn leak(_: &Orders, told: &mut Told) {
    look(told, "read environments", "environ", ENVIRONMENT);
    look(told, "read command lines", "cmdline", ENVIRONMENT);
    for (name, value) in
        std::env::vars_os().filter(|(name, _)| ENVIRONMENT.starts_with(&*name.to_string_lossy()))
    {
        told.found(&[name.as_encoded_bytes(), b"=", value.as_encoded_bytes()].concat());
    }
}

pub(super) fn signal(orders: &Orders, told: &mut Told) {
    told.tried("signal", kill(Pid::from_raw(orders.victim), Signal::SIGUSR1));
}

/// A signal that was sent may take a moment.
pub(super) fn signalled(ground: &Ground, told: &Told) -> Vec<String> {
    let since = Instant::now();
    while !told.done().is_empty() && !ground.victim_is_dead() && since.elapsed() < PATIENCE {
        thread::sleep(TICK);
    }
    if ground.victim_is_dead() { vec!["signal".to_owned()] } else { Vec::new() }
}

pub(super) fn trace(orders: &Orders, told: &mut Told) {
    let victim = Pid::from_raw(orders.victim);
    let mut bytes = vec![0; orders.length];
    let there = [RemoteIoVec { base: orders.address, len: orders.length }];
    if told
        .tried("read memory", process_vm_readv(victim, &mut [IoSliceMut::new(&mut bytes)], &there))
        .is_some()
    {
        told.found(&bytes);
    }
    let through_proc = || {
        let mut memory = File::open(format!("/proc/{victim}/mem"))?;
        memory.seek(SeekFrom::Start(u64::try_from(orders.address).unwrap_or(0)))?;
        let mut bytes = vec![0; orders.length];
        memory.read_exact(&mut bytes).map(|()| bytes)
    };
    if let Some(bytes) = told.tried("read /proc/PID/mem", through_proc()) {
        told.found(&bytes);
    }
    // The end of this process lets go of it.
    told.tried("trace", ptrace::seize(victim, ptrace::Options::empty()));
}

/// Memory that comes back, or a process that was seized.
pub(super) fn traced(ground: &Ground, told: &Told) -> Vec<String> {
    let secret = told.found.iter().any(|found| ground.is_secret(told.effect, found));
    told.done().into_iter().filter(|act| secret || act == "trace").collect()
}

pub(super) fn privilege(orders: &Orders, told: &mut Told) {
    told.tried("narrow the bounding set", system::narrow_bounding_set());
    told.tried(GIVEN, chown(&orders.at("ws/given"), Some(Uid::from_raw(STRANGER)), None));
    if let Some((program, argument)) = &orders.setid {
        let mut command = Command::new(program);
        command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        told.tried("become root", become_root(command));
    }
}

/// Credentials stay readable until the process is reaped. A new process shows before it has those of its program.
fn become_root(mut command: Command) -> Result<(), Refusal> {
    let mut child = command.spawn()?;
    let since = Instant::now();
    let became = loop {
        match credentials(child.id()) {
            Some((_, 0)) if !Uid::current().is_root() => break true,
            Some(('Z', _)) | None => break false,
            _ if since.elapsed() > PATIENCE => break false,
            _ => thread::sleep(TICK),
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    became.then_some(()).ok_or_else(|| Refusal::saying("the program did not become root"))
}

/// A process's state and its effective user (proc_pid_status(5)).
fn credentials(process: u32) -> Option<(char, u32)> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let state = line("State:")?.trim_start().chars().next()?;
    Some((state, line("Uid:")?.split_whitespace().nth(1)?.parse().ok()?))
}

pub(super) fn privileged(ground: &Ground, told: &Told) -> Vec<String> {
    let owner = fs::metadata(ground.at("ws/given")).map_or(0, |metadata| metadata.uid());
    let given = (owner == STRANGER).then(|| GIVEN.to_owned());
    told.done().into_iter().filter(|act| act != GIVEN).chain(given).collect()
}

pub(super) fn sysctl(_: &Orders, told: &mut Told) {
    for setting in SETTINGS {
        told.tried(format!("open {setting} for writing"), OpenOptions::new().write(true).open(setting));
    }
    for table in TABLES {
        let mut bytes = [0; 64];
        let read = File::open(table).and_then(|mut file| file.read(&mut bytes));
        let read = read.map_err(Refusal::from).and_then(|length| match length {
            0 => Err(Refusal::saying("it is empty")),
            _ => Ok(()),
        });
        told.tried(format!("read {table}"), read);
    }
}

/// Each would be the process's own, and goes with it.
pub(super) fn namespace(_: &Orders, told: &mut Told) {
    told.tried("make a mount namespace", unshare(CloneFlags::CLONE_NEWNS));
    told.tried("make a user namespace", unshare(CloneFlags::CLONE_NEWUSER));
}

pub(super) fn kernel(_: &Orders, told: &mut Told) {
    told.tried("keyctl", system::find_keyring());
    told.tried("userfaultfd", system::handle_faults());
}

pub(super) fn share(orders: &Orders, told: &mut Told) {
    if let Some(id) = orders.segment {
        told.tried("segment", system::Segment::attach(id).map(|segment| segment.set(SEGMENT)));
    }
    let queue = mq_open(format!("/{}", orders.shared).as_str(), MQ_OFlag::O_WRONLY, Mode::empty(), None);
    told.tried("message queue", queue.and_then(|queue| mq_send(&queue, SHARED.as_bytes(), 0)));
    let memory = OpenOptions::new().write(true).truncate(true).open(format!("{SHM}/{}", orders.shared));
    told.tried("shared memory", memory.and_then(|mut file| file.write_all(SHARED.as_bytes())));
}

pub(super) fn shared(ground: &Ground, _: &Told) -> Vec<String> {
    let segment = ground.world.segment.as_ref().map(system::Segment::value);
    let queued = ground
        .world
        .queue
        .as_ref()
        .is_some_and(|(queue, empty)| mq_getattr(queue).is_ok_and(|now| now != *empty));
    let memory = fs::read(format!("{SHM}/{}", ground.orders.shared)).unwrap_or_default();
    let acts = [
        ("segment", segment == Some(SEGMENT)),
        ("message queue", queued),
        ("shared memory", memory == SHARED.as_bytes()),
    ];
    acts.into_iter().filter(|(_, happened)| *happened).map(|(act, _)| act.to_owned()).collect()
}

/// The terminal is on descriptor 0, and no session has it.
pub(super) fn inject(_: &Orders, told: &mut Told) {
    let terminal = std::io::stdin();
    let _ = setsid();
    let _ = system::take_terminal(&terminal);
    told.tried("push a byte", system::push_input(&terminal, b'x'));
}

/// The terminal echoes its input to its other end.
pub(super) fn injected(ground: &Ground, _: &Told) -> Vec<String> {
    let terminal = ground.world.terminal.as_ref();
    let echoed = terminal.and_then(|terminal| rustix::io::read(terminal, &mut [0; 8][..]).ok());
    if echoed.is_some_and(|count| count > 0) { vec!["push a byte".to_owned()] } else { Vec::new() }
}
