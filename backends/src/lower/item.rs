//! What the walk meets, in one sorted map: the plan's entries, and what a backend puts around them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use confine_core::AbsPath;
use confine_core::policy::fs::Proc;
use confine_core::policy::{Access, FsPlan, Kind};

/// What stands around the plan.
#[derive(Clone, Copy, Debug)]
pub enum Backdrop<'a> {
    /// A mount view of its own, with a minimal `/dev` and a `/proc` that is read-only. `/tmp` and `/run` are the plan's.
    Namespaces {
        /// The stage on the host.
        stage: &'a AbsPath,
        /// Kernel tables in `/proc` to be masked.
        tables: &'a [AbsPath],
    },
    /// The host's own view.
    Host,
    /// The host's own view on macOS, where nothing in `/dev` is anybody's but the few nodes that every program has.
    Profile,
}

/// One place of the walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Entry(Access, Kind),
    Placeholder,
    Named,
    Precreated,
    Link(PathBuf),
    Devices,
    Node,
    SharedMemory,
    Processes(Proc),
    Stage(AbsPath),
}

pub(super) type Items = BTreeMap<AbsPath, Item>;

/// Where the stage is, where its own place is out of view. `/dev` is always the sandbox's own.
const STAGE_INSIDE: &str = "/dev/confine-stage";

/// The nodes of a minimal `/dev`. Not `/dev/pts`: the terminals of the same user's other sessions are there.
const NODES: [&str; 7] = ["null", "zero", "full", "random", "urandom", "tty", "ptmx"];

pub(super) fn items(plan: &FsPlan, backdrop: Backdrop<'_>) -> Items {
    let mut items: Items = BTreeMap::new();
    items.insert(AbsPath::root(), Item::Entry(Access::Hide, Kind::Directory));
    items.extend(links(plan));
    items.extend(plan.precreate.iter().map(|path| (path.clone(), Item::Precreated)));
    items.extend(plan.placeholders.keys().map(|path| (path.clone(), Item::Placeholder)));
    let entries = plan.entries.iter();
    items.extend(entries.map(|(path, entry)| (path.clone(), Item::Entry(entry.access, entry.kind))));
    match backdrop {
        Backdrop::Namespaces { stage, tables } => {
            pseudo_file_systems(plan, tables, &mut items);
            stage_in_view(stage, &mut items);
        }
        Backdrop::Host => host_nodes(&mut items),
        Backdrop::Profile => without_devices(plan, &mut items),
    }
    items
}

fn pseudo_file_systems(plan: &FsPlan, tables: &[AbsPath], items: &mut Items) {
    let [dev, shared, pts, proc] = ["/dev", "/dev/shm", "/dev/pts", "/proc"].map(fixed);
    items.retain(|path, item| {
        let below_proc = path.is_within(&proc) && !matches!(item, Item::Entry(Access::Hide, _));
        !(below_proc || *path == pts || path.is_within(&dev) && matches!(item, Item::Link(_)))
    });
    items.insert(dev, Item::Devices);
    items.insert(shared, Item::SharedMemory);
    items.insert(proc, Item::Processes(plan.proc));
    items.extend(tables.iter().map(|table| (table.clone(), Item::Entry(Access::Hide, Kind::File))));
}

fn host_nodes(items: &mut Items) {
    let [dev, shared, proc] = ["/dev", "/dev/shm", "/proc"].map(fixed);
    items.extend(NODES.iter().filter_map(|node| Some((dev.join(node).ok()?, Item::Node))));
    items.insert(shared, Item::SharedMemory);
    items.insert(proc, Item::Processes(Proc::Host));
}

fn without_devices(plan: &FsPlan, items: &mut Items) {
    let links = plan.protected_links.iter().map(|link| &link.path);
    for name in plan.missing.iter().chain(links) {
        items.entry(name.clone()).or_insert(Item::Named);
    }
    items.insert(fixed("/dev"), Item::Entry(Access::Hide, Kind::Directory));
}

fn stage_in_view(stage: &AbsPath, items: &mut Items) {
    if !shows_host(items, stage) {
        items.insert(fixed(STAGE_INSIDE), Item::Stage(stage.clone()));
    }
}

fn shows_host(items: &Items, path: &AbsPath) -> bool {
    let nearest = path.ancestors().find_map(|above| items.get(&above));
    matches!(nearest, Some(Item::Entry(access, _)) if access.shows_host())
}

/// A literal of this crate.
#[expect(clippy::expect_used, reason = "every caller passes a literal that is absolute and clean")]
pub(crate) fn fixed(path: &str) -> AbsPath {
    AbsPath::new(path).expect("invariant: a literal absolute path")
}

/// The links of the plan, each at the place where it really is: a link reached through another one is made in that
/// one's target.
fn links(plan: &FsPlan) -> impl Iterator<Item = (AbsPath, Item)> + '_ {
    plan.links.iter().filter_map(|(link, target)| {
        let directory = place(&link.parent()?, &plan.links)?;
        let name = link.as_path().file_name()?;
        Some((directory.join(name).ok()?, Item::Link(target.clone())))
    })
}

/// As many links as path_resolution(7) follows.
const LINKS: usize = 40;

fn place(directory: &AbsPath, links: &BTreeMap<AbsPath, PathBuf>) -> Option<AbsPath> {
    let mut path = directory.clone();
    for _ in 0..LINKS {
        let Some(link) = topmost(&path, links) else { return Some(path) };
        let target = links.get(&link)?;
        let rest = path.as_path().strip_prefix(link.as_path()).ok()?;
        path = clean(&link.parent()?.as_path().join(target).join(rest))?;
    }
    None
}

fn topmost(path: &AbsPath, links: &BTreeMap<AbsPath, PathBuf>) -> Option<AbsPath> {
    path.ancestors().filter(|above| links.contains_key(above)).last()
}

fn clean(path: &Path) -> Option<AbsPath> {
    let mut parts: Vec<OsString> = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name.to_owned()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    AbsPath::new(Path::new("/").join(parts.iter().collect::<PathBuf>())).ok()
}
