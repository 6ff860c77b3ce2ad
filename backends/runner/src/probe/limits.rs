//! Attempts to outlive a run, and to exceed its limits. Each leaves a mark where it got through.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::unistd::setsid;

use super::ground::Ground;
use super::program;
use super::told::{Orders, Refusal, Subject, Told};

/// Of one file.
pub(super) const FILE_SIZE: u64 = 1024 * 1024;
/// Of one process. Attempts take more than this, and everything else in their run less.
pub(super) const OPEN_FILES: u64 = 64;
/// At one time.
pub(super) const PROCESSES: u64 = 6;
/// Of a whole run, resident.
pub(super) const MEMORY: u64 = 40 * 1024 * 1024;
/// Of one process: the shortest that the kernel knows.
pub(super) const CPU: Duration = Duration::from_secs(1);
/// Of a run.
pub(super) const TIME: Duration = Duration::from_millis(150);

/// How much more than the limit is asked for.
const BEYOND: usize = 2;
/// How long an attempt waits for a limit to end it.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How long the control of one takes.
const GLANCE: Duration = Duration::from_millis(200);
/// The tick of what is polled.
const TICK: Duration = Duration::from_millis(2);
/// Longer than any probe takes.
const LIFE: Duration = Duration::from_secs(30);

fn patience(orders: &Orders) -> Duration {
    match orders.subject {
        Subject::Control => GLANCE,
        Subject::Confined => PATIENCE,
    }
}

fn mark(orders: &Orders, told: &mut Told) {
    told.tried("exceed", File::create(mark_of(&orders.at(""), told)));
}

fn mark_of(ground: &Path, told: &Told) -> std::path::PathBuf {
    ground.join("ws").join(told.effect.name())
}

/// The mark is there.
pub(super) fn marked(ground: &Ground, told: &Told) -> Vec<String> {
    if mark_of(&ground.at(""), told).exists() { vec!["exceed".to_owned()] } else { Vec::new() }
}

pub(super) fn time(orders: &Orders, told: &mut Told) {
    thread::sleep(patience(orders));
    mark(orders, told);
}

/// Touches every page, and stays.
pub(super) fn memory(orders: &Orders, told: &mut Told) {
    let bytes = usize::try_from(MEMORY).unwrap_or(0) * BEYOND;
    let held = std::hint::black_box(vec![1_u8; bytes]);
    thread::sleep(patience(orders));
    drop(std::hint::black_box(held));
    mark(orders, told);
}

pub(super) fn processes(orders: &Orders, told: &mut Told) {
    let wanted = usize::try_from(PROCESSES).unwrap_or(0) * BEYOND;
    let mut idle: Vec<Child> = Vec::new();
    for _ in 0..wanted {
        match program::again("idle").stdin(Stdio::piped()).stdout(Stdio::null()).spawn() {
            Ok(child) => idle.push(child),
            Err(error) => {
                told.tried::<(), _>("start another", Err(error));
                break;
            }
        }
    }
    let all = idle.len() == wanted && idle.iter_mut().all(|child| matches!(child.try_wait(), Ok(None)));
    for mut child in idle {
        drop(child.stdin.take());
        let _ = child.wait();
    }
    if all {
        mark(orders, told);
    }
}

pub(super) fn file_size(orders: &Orders, told: &mut Told) {
    let write = || {
        let mut file = File::create(orders.at("ws/large"))?;
        let block = [0; 64 * 1024];
        for _ in 0..usize::try_from(FILE_SIZE).unwrap_or(0) * BEYOND / block.len() {
            file.write_all(&block)?;
        }
        Ok::<(), std::io::Error>(())
    };
    told.tried("exceed", write());
}

pub(super) fn too_large(ground: &Ground, _: &Told) -> Vec<String> {
    let length = fs::metadata(ground.at("ws/large")).map_or(0, |metadata| metadata.len());
    if length > FILE_SIZE { vec!["exceed".to_owned()] } else { Vec::new() }
}

/// On two threads, since the limit counts the whole process. A second of it is too much for a control, which asks the
/// system whether a limit of its own is in the way.
pub(super) fn cpu(orders: &Orders, told: &mut Told) {
    if orders.subject == Subject::Control {
        let least = 2 * CPU.as_secs();
        let room = getrlimit(Resource::RLIMIT_CPU).is_ok_and(|(soft, _)| soft >= least);
        if room {
            mark(orders, told);
        } else {
            told.tried::<(), _>("exceed", Err(Refusal::saying("a limit of the caller's")));
        }
        return;
    }
    // The kernel counts ticks that the processor was really given for this, so a virtual machine under load is late.
    let until = 5 * CPU;
    thread::spawn(move || burn(until));
    burn(until);
    mark(orders, told);
}

fn burn(until: Duration) {
    while used() < until {
        for number in 0..100_000_u32 {
            std::hint::black_box(number);
        }
    }
}

fn used() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Duration::MAX };
    let micros = |time: nix::sys::time::TimeVal| {
        Duration::from_secs(u64::try_from(time.tv_sec()).unwrap_or(0))
            + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
    };
    micros(usage.user_time()) + micros(usage.system_time())
}

pub(super) fn open_files(orders: &Orders, told: &mut Told) {
    let wanted = usize::try_from(OPEN_FILES).unwrap_or(0) * BEYOND;
    let open: Result<Vec<File>, _> = (0..wanted).map(|_| File::open("/proc/self/exe")).collect();
    if told.tried("open", open).is_some() {
        mark(orders, told);
    }
}

const LOCK: &str = "ws/orphan";
const READY: &str = "ws/orphan-ready";

/// A process of a session of its own, whose parent has ended.
pub(super) fn orphan(orders: &Orders, told: &mut Told) {
    let start = || {
        let mut parent = program::again("orphan");
        parent.arg(orders.at("")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        parent.status()
    };
    told.tried("start", start());
    let ready = orders.at(READY);
    let since = Instant::now();
    while !ready.exists() && since.elapsed() < PATIENCE {
        thread::sleep(TICK);
    }
    told.tried("stay", ready.exists().then_some(()).ok_or_else(|| Refusal::saying("it did not start")));
}

/// The first of the two processes: starts the second and ends.
pub(super) fn orphan_parent(ground: &Path) {
    let _ = setsid();
    let mut child = program::again("orphaned");
    child.arg(ground).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _: Result<Child, _> = Command::spawn(&mut child);
}

/// The second: holds a lock as long as it lives, and lives as long as the throwaway directory.
pub(super) fn orphaned(ground: &Path) {
    let _ = setsid();
    let Ok(file) = File::create(ground.join(LOCK)) else { return };
    let Ok(_lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else { return };
    let _ = File::create(ground.join(READY));
    let since = Instant::now();
    while ground.exists() && since.elapsed() < LIFE {
        thread::sleep(10 * TICK);
    }
}

pub(super) fn outlived(ground: &Ground, _: &Told) -> Vec<String> {
    let Ok(file) = File::open(ground.at(LOCK)) else { return Vec::new() };
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(_) => Vec::new(),
        Err(_) => vec!["stay".to_owned()],
    }
}
