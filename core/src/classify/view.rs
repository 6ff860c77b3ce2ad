//! What a backend makes of the file part of a policy: in a mount view of its own the nearest listed ancestor decides, and
//! with Landlock alone every listed ancestor adds its rights, over the host's own view.
//!
//! The places that a backend adds to every policy are here too. Tests on real sandboxes compare.

use super::sandbox::{Rule, Sandbox};
use crate::policy::{Access, Entry, FsPlan, Kind, Source};
use crate::{AbsPath, Effect, Layer};

/// What may be done at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Which entry says so.
    pub(super) rule: Option<Rule>,
    /// Reading and executing.
    pub(super) read: Gate,
    /// Creating, changing, removing.
    pub(super) write: Gate,
}

/// Whether something passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// It does.
    Open,
    /// It does, although the policy says otherwise: this effect is not enforced.
    Lost(Effect),
    /// It does not.
    Closed(Effect),
}

/// Device nodes that every sandbox has.
const NODES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty", "ptmx"];
/// What more a `/dev` of its own has.
const OWN_NODES: &[&str] = &["console", "fd", "stdin", "stdout", "stderr", "core", "pts"];

/// Whether a mount view has something of its own at `path` whatever the policy says: its processes, its terminals, its
/// shared memory.
pub(super) fn is_own(path: &AbsPath) -> bool {
    let first =
        |top| below(path, top).and_then(|rest| rest.split('/').next()).filter(|name| !name.is_empty());
    let is_process =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_digit()) || matches!(name, "self" | "thread-self");
    first("/proc").is_some_and(is_process) || first("/dev").is_some_and(|name| matches!(name, "shm" | "pts"))
}

/// What may be done at `path`.
pub(super) fn at(sandbox: &Sandbox<'_>, path: &AbsPath) -> Place {
    let fs = &sandbox.policy.fs;
    if fs.precreate.contains(path) {
        return Place { rule: None, read: Gate::Open, write: Gate::Open };
    }
    if sandbox.layers.contains(&Layer::Mount) { mounted(fs, path) } else { added(sandbox, path) }
}

/// By the mounts.
fn mounted(fs: &FsPlan, path: &AbsPath) -> Place {
    let listed = fs.listed_at(path);
    let rule = listed.as_ref().map(|(at, entry)| Rule::new(at, entry));
    let place = |read, write| Place { rule: rule.clone(), read, write };
    if let Some(rest) = below(path, "/proc") {
        let hidden = listed.as_ref().is_some_and(|(at, entry)| {
            entry.access == Access::Hide && below(at, "/proc").is_some_and(|rest| !rest.is_empty())
        });
        let read = if hidden && !rest.is_empty() { Gate::Closed(Effect::ProcSysctl) } else { Gate::Open };
        return Place { rule: rule.filter(|_| hidden), read, write: Gate::Closed(Effect::ProcSysctl) };
    }
    if let Some(rest) = below(path, "/dev") {
        return device(fs, path, rest);
    }
    if fs.placeholders.keys().any(|one| path.is_within(one)) {
        return place(Gate::Open, Gate::Closed(Effect::FsCarveOutNew));
    }
    let Some((at, entry)) = listed else {
        return place(Gate::Closed(Effect::FsRead), Gate::Closed(Effect::FsWrite));
    };
    match entry.access {
        Access::Write => place(Gate::Open, Gate::Open),
        Access::Read => place(Gate::Open, Gate::Closed(Effect::FsWrite)),
        Access::Protect => place(Gate::Open, Gate::Closed(Effect::FsCarveOut)),
        // The directory itself is there; the host's files in it are not.
        Access::Scratch if at == *path => place(Gate::Open, Gate::Open),
        Access::Scratch => place(Gate::Closed(Effect::FsHide), Gate::Open),
        Access::Hide if at == AbsPath::root() => {
            place(Gate::Closed(Effect::FsRead), Gate::Closed(Effect::FsWrite))
        }
        Access::Hide => place(Gate::Closed(Effect::FsHide), Gate::Closed(Effect::FsHide)),
    }
}

/// In a `/dev` of its own.
fn device(fs: &FsPlan, path: &AbsPath, rest: &str) -> Place {
    let open = |rule| Place { rule, read: Gate::Open, write: Gate::Open };
    if let Some(entry) = fs.entries.get(path).filter(|entry| grants_device(entry)) {
        return open(Some(Rule::new(path, entry)));
    }
    let first = rest.split('/').next().unwrap_or_default();
    if first == "shm" || NODES.contains(&rest) || OWN_NODES.contains(&first) {
        return open(None);
    }
    let read = if rest.is_empty() { Gate::Open } else { Gate::Closed(Effect::FsDevice) };
    Place { rule: None, read, write: Gate::Closed(Effect::FsDevice) }
}

fn grants_device(entry: &Entry) -> bool {
    entry.kind == Kind::Device && entry.access == Access::Write
}

/// By the rules, which add up.
fn added(sandbox: &Sandbox<'_>, path: &AbsPath) -> Place {
    let fs = &sandbox.policy.fs;
    let nearest = fs.listed_at(path);
    let lost = lost(nearest.as_ref().map(|(_, entry)| *entry));
    let own = own(path);
    let listed = |wanted: fn(Access) -> bool| {
        let mut above = path.ancestors();
        above.find_map(|at| {
            fs.entries.get(&at).filter(|entry| wanted(entry.access)).map(|entry| Rule::new(&at, entry))
        })
    };
    let reads = listed(Access::shows_host);
    let writes = listed(|access| access == Access::Write);
    let gate = |rule: &Option<Rule>, own: bool, loss: Option<Effect>, effect| match (rule, loss) {
        _ if own => Gate::Open,
        (Some(_), Some(loss)) => Gate::Lost(loss),
        (Some(_), None) => Gate::Open,
        (None, _) => Gate::Closed(effect),
    };
    let (lost_reading, lost_writing) = lost;
    let in_proc = below(path, "/proc").is_some();
    let writing = if in_proc { Effect::ProcSysctl } else { Effect::FsWrite };
    Place {
        read: gate(&reads, own.0, lost_reading, Effect::FsRead),
        write: gate(&writes, own.1, lost_writing, writing),
        rule: nearest.map(|(at, entry)| Rule::new(&at, entry)),
    }
}

/// What the nearest entry takes away and rules that add up do not: of reading, and of writing.
fn lost(nearest: Option<&Entry>) -> (Option<Effect>, Option<Effect>) {
    let Some(entry) = nearest else { return (None, None) };
    let hidden = match (entry.kind, &entry.source) {
        (Kind::Socket, _) | (_, Source::Listening) => Effect::NetUnixPath,
        _ => Effect::FsHide,
    };
    match entry.access {
        Access::Hide => (Some(hidden), Some(hidden)),
        Access::Scratch => (Some(Effect::FsHide), None),
        Access::Read | Access::Protect => (None, Some(Effect::FsCarveOut)),
        Access::Write => (None, None),
    }
}

/// What the backend itself opens on the host: to be read, and to be written.
fn own(path: &AbsPath) -> (bool, bool) {
    if below(path, "/proc").is_some() {
        return (true, false);
    }
    match below(path, "/dev") {
        Some(rest) if rest == "shm" || rest.starts_with("shm/") || NODES.contains(&rest) => (true, true),
        _ => (false, false),
    }
}

/// What of `path` lies below `top`; empty for `top` itself.
fn below<'p>(path: &'p AbsPath, top: &str) -> Option<&'p str> {
    path.as_path().strip_prefix(top).ok().map(|rest| rest.to_str().unwrap_or("?"))
}
