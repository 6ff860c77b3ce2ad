//! `confine backend`: the third-party backends that the user trusts, by the content of their programs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;

use confine_core::{AbsPath, BackendId, LaunchFault, LaunchStage, Text};
use confine_runner::find::Find;
use confine_runner::foreign::{self, Foreign, ForeignError};
use confine_runner::lock::{BackendName, Lock, LockFileError, Pin};
use confine_runner::places::Places;
use serde::Serialize;

use crate::arguments::BackendCommand;
use crate::fault::{self, Answer};
use crate::{answer, generated};

/// The answer of `backend lock --json`.
#[derive(Serialize)]
struct Locked {
    version: u32,
    pinned: Pin,
    /// What was pinned by that name.
    before: Option<Pin>,
}

/// The answer of `backend unlock --json`.
#[derive(Serialize)]
struct Unlocked {
    version: u32,
    forgotten: Pin,
}

/// The answer of `backend list --json`.
#[derive(Serialize)]
struct Listed {
    version: u32,
    backends: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    #[serde(flatten)]
    pin: Pin,
    /// Whether the file is the one that was pinned.
    unchanged: bool,
    reason: Option<String>,
    remedy: Option<String>,
}

/// Does what the arguments say.
pub(crate) fn backend(command: &BackendCommand) -> Answer {
    match command {
        BackendCommand::Lock { program, json } => lock(program, *json),
        BackendCommand::List { json } => list(*json),
        BackendCommand::Unlock { name, json } => unlock(name, *json),
        BackendCommand::Schema => generated::protocol(),
    }
}

/// Pins a program, once it has said who it is.
fn lock(word: &OsStr, json: bool) -> Answer {
    let unable = |error: &ForeignError| refused(&format!("pin `{}`", Text::from(word)), error);
    let pinned = foreign::locate(word, &Find::here()).map_err(|error| unable(&error))?;
    Foreign::new(pinned.clone()).describe().map_err(|error| unable(&error))?;
    let change = |lock: &mut Lock| lock.insert(pinned.clone());
    let before = Lock::change(&Places::here(), change).map_err(|error| unusable(&error))?;
    if json {
        answer::json(&Locked { version: 1, pinned, before })?;
        return Ok(0);
    }
    let Pin { name, path, sha256 } = &pinned;
    fault::line(&format!("`--backend {name}` runs `{path}`, sha256 {sha256}"));
    match before {
        Some(before) if before == pinned => fault::line("that is what was pinned already"),
        Some(Pin { path, sha256, .. }) => fault::line(&format!("before, it was `{path}`, sha256 {sha256}")),
        None => {}
    }
    Ok(0)
}

/// Prints what is pinned: name, state, path, digest. Runs nothing.
fn list(json: bool) -> Answer {
    let lock = Lock::read(&Places::here()).map_err(|error| unusable(&error))?;
    let backends: Vec<Entry> = lock.backends().iter().cloned().map(Entry::of).collect();
    if json {
        answer::json(&Listed { version: 1, backends })?;
        return Ok(0);
    }
    let mut text = String::new();
    for Entry { pin: Pin { name, path, sha256 }, unchanged, reason, remedy } in &backends {
        let state = if *unchanged { "unchanged" } else { "refused" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:10}  {state:9}  {path}  {sha256}");
        for (label, line) in [("reason", reason), ("remedy", remedy)] {
            if let Some(line) = line {
                let _ = writeln!(text, "{:10}  {label}: {}", "", Text::from(line.as_str()));
            }
        }
    }
    answer::text(&text)?;
    Ok(0)
}

/// Forgets a backend.
fn unlock(word: &str, json: bool) -> Answer {
    let absent = || {
        fault::usage(
            format!("forget `{}`: no backend of that name is pinned", Text::from(word)),
            "`confine backend list` shows what is pinned",
        )
    };
    let name = BackendName::new(word).map_err(|_| absent())?;
    let places = Places::here();
    Lock::read(&places).map_err(|error| unusable(&error))?.backend(&name).ok_or_else(absent)?;
    let forgotten = Lock::change(&places, |lock| lock.remove(&name)).map_err(|error| unusable(&error))?;
    let forgotten = forgotten.ok_or_else(absent)?;
    if json {
        answer::json(&Unlocked { version: 1, forgotten })?;
    } else {
        fault::line(&format!("`{}` is forgotten; the file `{}` stays", forgotten.name, forgotten.path));
    }
    Ok(0)
}

/// The third-party backend that `word` names, where one of that name is pinned. The lock is not looked at where `word`
/// can only be one of ours.
///
/// # Errors
/// A lock that cannot be read, or that lies in one of `workspaces`, whose content may be anybody's.
pub(crate) fn pinned(word: &str, workspaces: &BTreeSet<AbsPath>) -> Result<Option<Foreign>, LaunchFault> {
    let Ok(name) = BackendName::new(word) else { return Ok(None) };
    let places = Places::here();
    if let Some((configuration, workspace)) = swallowed(&places, workspaces) {
        let text = format!(
            "use the backend `{name}`: what is pinned is kept in `{configuration}`, in the workspace `{workspace}`"
        );
        return Err(fault::usage(
            text,
            "set `XDG_CONFIG_HOME` to a directory outside, or name another workspace",
        ));
    }
    let lock = Lock::read(&places).map_err(|error| unusable(&error))?;
    Ok(lock.backend(&name).cloned().map(Foreign::new))
}

/// The names in a lock that cannot be used, as far as it has any. Nothing is to be started by them.
pub(crate) fn refused_names() -> Vec<BackendId> {
    Lock::names(&Places::here()).iter().map(BackendName::id).collect()
}

/// Every third-party backend that is pinned; none where the lock lies in one of `workspaces`.
///
/// # Errors
/// A lock that cannot be read.
pub(crate) fn all(workspaces: &BTreeSet<AbsPath>) -> Result<Vec<Foreign>, LaunchFault> {
    let places = Places::here();
    if swallowed(&places, workspaces).is_some() {
        return Ok(Vec::new());
    }
    let lock = Lock::read(&places).map_err(|error| unusable(&error))?;
    Ok(lock.backends().iter().cloned().map(Foreign::new).collect())
}

/// The configuration directory, and the workspace that it lies in. `/` holds everything, and so says nothing.
fn swallowed<'a>(places: &Places, workspaces: &'a BTreeSet<AbsPath>) -> Option<(AbsPath, &'a AbsPath)> {
    let spelt = places.configuration.clone()?;
    let canonical = spelt.as_path().canonicalize().ok().and_then(|path| AbsPath::new(path).ok());
    let inside = |path: AbsPath| {
        let around = workspaces.iter().find(|root| **root != AbsPath::root() && path.is_within(root))?;
        Some((path, around))
    };
    canonical.into_iter().chain([spelt]).find_map(inside)
}

impl Entry {
    fn of(pin: Pin) -> Self {
        let refusal = Foreign::new(pin.clone()).verify().err();
        Self {
            pin,
            unchanged: refusal.is_none(),
            reason: refusal.as_ref().map(ToString::to_string),
            remedy: refusal.as_ref().map(ForeignError::help),
        }
    }
}

fn refused(doing: &str, error: &ForeignError) -> LaunchFault {
    fault::usage(format!("{doing}: {error}"), error.help())
}

fn unusable(error: &LockFileError) -> LaunchFault {
    LaunchFault::new(LaunchStage::Choose, format!("use the lock of backends: {error}")).help(error.help())
}
