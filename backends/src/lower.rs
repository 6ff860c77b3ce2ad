//! From the file part of a policy to mounts, Landlock rules and clauses of a Seatbelt profile, in one walk.
//!
//! The plan is walked once in path order, and the same step pushes to all lists, so the layers cannot disagree by
//! construction. There is no other producer of any of them. Landlock paths are destination paths.

mod clause;
mod item;
mod mount;

use std::collections::BTreeMap;
use std::path::PathBuf;

use confine_core::policy::fs::Proc;
use confine_core::policy::{Access, FsPlan, Kind};
use confine_core::{AbsPath, Effect, Gap, Reason};

pub use clause::Clause;
pub use item::Backdrop;
use item::Item;
pub(crate) use item::fixed;
pub use mount::{Grant, Mount, Operation};

use crate::access::{Showing, row};
use crate::landlock::rights;

/// Bytes of the private `/tmp`.
pub const TMP_BYTES: u64 = 4 << 30;
/// Bytes of the private `/dev/shm`.
pub const SHARED_MEMORY_BYTES: u64 = 1 << 30;

/// What bwrap mounts below its own `/dev`.
const NODES: [&str; 8] = [
    "/dev/console",
    "/dev/full",
    "/dev/null",
    "/dev/pts",
    "/dev/random",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// A plan in the words of the layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lowered {
    /// In the order in which they must be done.
    pub mounts: Vec<Mount>,
    /// In path order; they only add up.
    pub grants: Vec<Grant>,
    /// In path order, so that the last one that matches a path is the nearest.
    pub clauses: Vec<Clause>,
    /// What only the mounts say: Landlock rules only add up, and nothing subtracts.
    pub mount_only: Vec<Gap>,
    /// Directories that are mounted onto themselves so that they cannot be renamed: a carve-out lies below.
    pub pins: Vec<AbsPath>,
    /// Hidden places below which nothing is shown again.
    pub masked: Vec<AbsPath>,
    /// Where the stage is in this view, where its own place is out of view.
    pub stage: Option<AbsPath>,
}

/// Lowers `plan` in front of `backdrop`.
pub fn lower(plan: &FsPlan, backdrop: Backdrop<'_>) -> Lowered {
    let mut walk = Walk::new(backdrop);
    for (path, item) in item::items(plan, backdrop) {
        walk.step(path, item);
    }
    walk.finish()
}

impl Lowered {
    /// The host's paths that are mounted onto themselves, the root aside.
    pub fn bound(&self) -> Vec<AbsPath> {
        let own = |mount: &&Mount| mount.shows_its_own() && *mount.at() != AbsPath::root();
        self.mounts.iter().filter(own).map(|mount| mount.at().clone()).collect()
    }

    /// Where a mount may be writable: here or below, and nowhere else.
    pub fn writable(&self) -> Vec<AbsPath> {
        let own = self.mounts.iter().filter(|mount| mount.is_writable()).map(|mount| mount.at().clone());
        own.chain(NODES.map(fixed)).collect()
    }
}

struct Walk {
    lowered: Lowered,
    /// What is mounted so far, and what it shows.
    mounted: BTreeMap<AbsPath, Showing>,
    granted: BTreeMap<AbsPath, u64>,
    /// Made read-only when everything is mounted.
    closing: Vec<AbsPath>,
    private: bool,
}

impl Walk {
    fn new(backdrop: Backdrop<'_>) -> Self {
        Self {
            lowered: Lowered::default(),
            mounted: BTreeMap::new(),
            granted: BTreeMap::new(),
            closing: Vec::new(),
            private: matches!(backdrop, Backdrop::Namespaces { .. }),
        }
    }

    fn step(&mut self, path: AbsPath, item: Item) {
        match item {
            Item::Entry(access, kind) => self.entry(path, access, kind),
            Item::Placeholder => self.placeholder(path),
            Item::Named => self.named(path),
            Item::Precreated => self.precreated(path),
            Item::Link(target) => self.link(path, target),
            Item::Devices => self.devices(path),
            Item::Node => self.grant(&path, rights::DEVICE),
            Item::SharedMemory => self.shared_memory(path),
            Item::Processes(proc) => self.processes(path, proc),
            Item::Stage(from) => self.stage(path, from),
        }
    }

    fn entry(&mut self, path: AbsPath, access: Access, kind: Kind) {
        let row = row(access);
        self.lowered.clauses.push(Clause::new(path.clone(), access, kind));
        self.subtract(&path, access, kind);
        if self.private || access != Access::Scratch {
            self.grant(&path, row.rights(kind));
        }
        let opens_device = kind == Kind::Device && access == Access::Write;
        let changes = row.showing != self.above(&path) || row.showing == Showing::Empty;
        if path == AbsPath::root() {
            self.root(path, row.showing);
        } else if changes || opens_device {
            self.show(path, row.showing, kind);
        }
    }

    /// bwrap's root is an empty tmpfs to begin with.
    fn root(&mut self, path: AbsPath, showing: Showing) {
        match showing {
            Showing::ReadOnly => self.mount(Operation::ReadOnlyBind, path, showing),
            Showing::Writable => self.mount(Operation::Bind, path, showing),
            Showing::Nothing | Showing::Empty => {
                self.closing.push(path.clone());
                self.mounted.insert(path, Showing::Nothing);
            }
        }
    }

    fn show(&mut self, path: AbsPath, showing: Showing, kind: Kind) {
        self.pin(&path);
        if showing == Showing::Nothing {
            self.lowered.masked.push(path.clone());
        }
        let operation = match (showing, kind) {
            (Showing::Nothing, Kind::Directory) => {
                self.closing.push(path.clone());
                Operation::Blank
            }
            (Showing::Nothing, Kind::File | Kind::Socket | Kind::Device) => Operation::Mask,
            (Showing::Empty, _) => Operation::Scratch(TMP_BYTES),
            (Showing::ReadOnly, _) => Operation::ReadOnlyBind,
            (Showing::Writable, Kind::Device) => Operation::DeviceBind,
            (Showing::Writable, Kind::File | Kind::Socket | Kind::Directory) => Operation::Bind,
        };
        self.mount(operation, path, showing);
    }

    /// The runner makes it before the launch; without a runner it is not there, and then nothing is mounted.
    fn placeholder(&mut self, path: AbsPath) {
        if self.above(&path) == Showing::Writable {
            self.lowered.clauses.push(Clause::new(path.clone(), Access::Protect, Kind::Directory));
            self.pin(&path);
            self.mount(Operation::ReadOnlyBindIfPresent, path, Showing::ReadOnly);
        }
    }

    /// A protected name where nothing is, or a link: nothing can be mounted there, but a profile goes by paths.
    fn named(&mut self, path: AbsPath) {
        if self.above(&path) == Showing::Writable {
            self.lowered.clauses.push(Clause::new(path, Access::Protect, Kind::Directory));
        }
    }

    /// Likewise. Inside a write grant the program makes it itself. Elsewhere the rule names a file: a foreign spawner
    /// makes the file too, or the stage refuses to start and names it (fail closed, never a wider rule).
    fn precreated(&mut self, path: AbsPath) {
        self.lowered.clauses.push(Clause::new(path.clone(), Access::Write, Kind::File));
        self.grant(&path, row(Access::Write).file);
        if self.above(&path) != Showing::Writable {
            self.mount(Operation::BindIfPresent, path, Showing::Writable);
        }
    }

    /// Where the host is in view, so is the link.
    fn link(&mut self, path: AbsPath, target: PathBuf) {
        if matches!(self.above(&path), Showing::Nothing | Showing::Empty) {
            self.mount(Operation::Symlink(target), path, Showing::Nothing);
        }
    }

    fn devices(&mut self, path: AbsPath) {
        self.grant(&path, rights::READ | rights::DEVICE);
        self.closing.push(path.clone());
        self.mount(Operation::Devices, path, Showing::Nothing);
    }

    fn shared_memory(&mut self, path: AbsPath) {
        self.grant(&path, rights::WRITE);
        self.mount(Operation::Scratch(SHARED_MEMORY_BYTES), path, Showing::Empty);
    }

    /// Read-only: as root without any capability, /proc/sys/kernel/core_pattern could be written otherwise.
    fn processes(&mut self, path: AbsPath, proc: Proc) {
        self.grant(&path, rights::READ);
        let operation = match proc {
            Proc::Fresh => {
                self.closing.push(path.clone());
                Operation::Processes
            }
            Proc::Host => Operation::ReadOnlyBind,
        };
        self.mount(operation, path, Showing::ReadOnly);
    }

    fn stage(&mut self, path: AbsPath, from: AbsPath) {
        self.lowered.stage = Some(path.clone());
        self.mount(Operation::ReadOnlyBindFrom(from), path, Showing::ReadOnly);
    }

    fn mount(&mut self, operation: Operation, path: AbsPath, showing: Showing) {
        self.mounted.insert(path.clone(), showing);
        self.lowered.mounts.push(Mount::new(operation, path));
    }

    /// What the nearest mount above shows.
    fn above(&self, path: &AbsPath) -> Showing {
        let nearest = path.ancestors().skip(1).find_map(|above| self.mounted.get(&above));
        nearest.copied().unwrap_or(Showing::Nothing)
    }

    /// Mounts each directory between the write grant and `path` onto itself: a mount point cannot be renamed, so what
    /// is mounted below it cannot be moved out of the way.
    fn pin(&mut self, path: &AbsPath) {
        if self.above(path) != Showing::Writable {
            return;
        }
        let unmounted = path.ancestors().skip(1).take_while(|above| !self.mounted.contains_key(above));
        let mut pins: Vec<AbsPath> = unmounted.collect();
        pins.reverse();
        for pin in pins {
            self.mount(Operation::Bind, pin.clone(), Showing::Writable);
            self.lowered.pins.push(pin);
        }
    }

    fn inherited(&self, path: &AbsPath) -> u64 {
        path.ancestors().filter_map(|above| self.granted.get(&above)).fold(0, |all, rights| all | rights)
    }

    fn grant(&mut self, path: &AbsPath, rights: u64) {
        if rights & !self.inherited(path) == 0 {
            return;
        }
        self.granted.insert(path.clone(), rights);
        self.lowered.grants.push(Grant::new(path.clone(), rights));
    }

    fn subtract(&mut self, path: &AbsPath, access: Access, kind: Kind) {
        let wanted = row(access).rights(kind);
        let bits = if kind == Kind::Directory { u64::MAX } else { rights::FILE & !rights::RESOLVE_UNIX };
        let excess = self.inherited(path) & bits & !wanted != 0;
        let gap = match access {
            Access::Write => None,
            Access::Scratch => (self.inherited(path) != 0).then_some((Effect::FsHide, STAYS_VISIBLE)),
            Access::Hide if kind == Kind::Socket => excess.then_some((Effect::NetUnixPath, STAYS_REACHABLE)),
            Access::Hide => excess.then_some((Effect::FsHide, STAYS_VISIBLE)),
            Access::Protect | Access::Read => excess.then_some((Effect::FsCarveOut, STAYS_WRITABLE)),
        };
        if let Some((effect, reason)) = gap {
            self.lowered.mount_only.push(Gap { effect, path: path.clone(), reason: Reason::new(reason) });
        }
    }

    fn finish(mut self) -> Lowered {
        let mounted = &self.mounted;
        self.lowered.masked.retain(|masked| !shown_again(masked, mounted));
        while let Some(path) = self.closing.pop() {
            self.lowered.mounts.push(Mount::new(Operation::RemountReadOnly, path));
        }
        self.lowered
    }
}

const STAYS_VISIBLE: &str = "Landlock rules only add up: what lies below a read grant stays readable";
const STAYS_WRITABLE: &str = "Landlock rules only add up: what lies below a write grant stays writable";
const STAYS_REACHABLE: &str = "Landlock governs pathname sockets from ABI 9 only";

fn shown_again(masked: &AbsPath, mounted: &BTreeMap<AbsPath, Showing>) -> bool {
    let after = mounted.range(masked.clone()..).nth(1);
    after.is_some_and(|(next, _)| next.is_within(masked))
}
