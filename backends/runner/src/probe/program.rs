//! The program that makes attempts: a mode of any executable that calls [`attempt`] first thing.
//!
//! Inside, the first process makes one attempt after the other, each in a process of its own that may die of it.

use std::ffi::{OsStr, OsString};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use confine_core::Effect;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::alarm;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::attempt::attempt_at;
use super::told::{Orders, Told};
use super::{limits, system};

/// The first argument of an executable that is to make attempts.
pub const WORD: &str = "probe-attempt";
/// How a script that was executed ends.
pub(super) const EXECUTED: u8 = 42;
/// The words were not understood.
const USAGE: u8 = 125;
/// In seconds: what hangs is ended by its own alarm.
const PATIENCE: u32 = 25;

/// What an executable does whose first argument is [`WORD`], with the words that follow it; answers its exit code. Not
/// for people, and not stable.
pub fn attempt(words: &[OsString]) -> u8 {
    protect();
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    let known = match words.as_slice() {
        [word, orders, effects] if *word == "batch" => batch(orders, effects),
        [word, orders, effect] if *word == "one" => one(orders, effect),
        [word, ..] if *word == "victim" => victim(),
        [word] if *word == "idle" => idle(),
        [word] if *word == "namespace" => unshare(CloneFlags::CLONE_NEWUSER).ok(),
        [word, ground] if *word == "orphan" => done(|| limits::orphan_parent(Path::new(ground))),
        [word, ground] if *word == "orphaned" => done(|| limits::orphaned(Path::new(ground))),
        [script] if script.as_bytes().starts_with(b"/") => return EXECUTED,
        _ => None,
    };
    if known.is_some() { 0 } else { USAGE }
}

/// Whether a process of this user may make a user namespace here, tried by `program` ([`attempt`]): settings say it, and
/// so do filters, which nothing shows.
pub fn makes_namespaces(program: &Path) -> bool {
    let mut command = Command::new(program);
    command.args([WORD, "namespace"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn done(what: impl FnOnce()) -> Option<()> {
    what();
    Some(())
}

/// The victim's id on the host may be another process's inside; the signal for the victim is to do nothing to those.
fn protect() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGUSR1);
    let _ = signals.thread_block();
}

/// This executable again, for `word`.
pub(super) fn again(word: &str) -> Command {
    let mut command =
        Command::new(std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe")));
    command.args([WORD, word]);
    command
}

fn batch(orders: &OsStr, effects: &OsStr) -> Option<()> {
    alarm::set(PATIENCE);
    let effects: Vec<Effect> = effects.to_str()?.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
    let start = |effect: Effect| again("one").arg(orders).arg(effect.name()).spawn().ok();
    // It takes a second, in which the others are made.
    let long = effects.contains(&Effect::LimitCpu).then(|| start(Effect::LimitCpu)).flatten();
    for effect in effects.into_iter().filter(|effect| *effect != Effect::LimitCpu) {
        match start(effect) {
            Some(child) => finish(effect, child),
            // Under a limit on processes there may be no other.
            None => one(orders, OsStr::new(effect.name()))?,
        }
    }
    if let Some(child) = long {
        finish(Effect::LimitCpu, child);
    }
    Some(())
}

/// One that a signal ended said nothing.
fn finish(effect: Effect, mut child: Child) {
    let signal = child.wait().ok().and_then(|status| status.signal());
    if signal.is_some() {
        say(&Told { signal, ..Told::of(effect) });
    }
}

fn one(orders: &OsStr, effect: &OsStr) -> Option<()> {
    alarm::set(PATIENCE);
    let orders: Orders = serde_json::from_slice(orders.as_bytes()).ok()?;
    let attempt = attempt_at(effect.to_str()?.parse().ok()?)?;
    let mut told = Told::of(attempt.effect);
    (attempt.act)(&orders, &mut told);
    say(&told);
    Some(())
}

/// One write of less than PIPE_BUF bytes, so that no other line gets into it.
fn say(told: &Told) {
    if let Ok(mut line) = serde_json::to_vec(told) {
        line.push(b'\n');
        let _ = std::io::stdout().write_all(&line);
    }
}

/// A process that attempts are made at: keeps what stdin says in its memory, and says where. It ends with its stdin.
fn victim() -> Option<()> {
    SigSet::all().thread_unblock().ok()?;
    // Where there is no Yama, there is nothing to allow.
    let _ = system::allow_tracers();
    // What has more capabilities than the program inside is out of its reach, whatever confines that.
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    let _ = set_capabilities(None, none);
    let mut secret = [0; 64];
    let length = std::io::stdin().read(&mut secret).ok()?;
    let secret = std::hint::black_box(secret.get(..length)?);
    println!("{}", secret.as_ptr().addr());
    std::io::stdin().read_to_end(&mut Vec::new()).ok().map(drop)
}

fn idle() -> Option<()> {
    std::io::stdin().read_to_end(&mut Vec::new()).ok().map(drop)
}

/// What runs `effects` in one batch.
pub(super) fn words(program: &Path, orders: &str, effects: &[Effect]) -> Vec<OsString> {
    let effects: Vec<&str> = effects.iter().map(|effect| effect.name()).collect();
    vec![program.into(), WORD.into(), "batch".into(), orders.into(), effects.join(",").into()]
}

/// The victim, its secret still to be told.
pub(super) fn start_victim(
    program: &Path,
    marker: &str,
    environment: (&str, &str),
) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command.args([WORD, "victim", marker]).env_clear().env(environment.0, environment.1).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
}
