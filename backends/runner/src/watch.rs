//! Watches what masks stand on: when the host replaces such a file, the kernel takes the mask away with it.
//!
//! A mask is lost when the name goes or another file takes it, not when the file's content changes: the mount stands
//! on the file. The directories in between count as well: renaming one moves the mask with it and frees its name. The
//! events say so by name (inotify(7)); where the queue overflowed, the files are compared with what stood at launch.
//!
//! Letting go of an inotify instance may wait for a grace period of the kernel (measured: up to 15 ms, more than a whole
//! launch), so a run is watched only once it has lasted a while, and compared at its end in any case.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use confine_core::AbsPath;
use confine_core::policy::fs::{Entry, Kind};
use confine_core::policy::{Access, Policy, Source};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep, sleep_until};

use crate::beneath::{Identity, Walk};
use crate::journal::Mask;
use crate::spawn;

/// What takes a name away or gives it to another file.
const REPLACED: AddWatchFlags = AddWatchFlags::IN_CREATE
    .union(AddWatchFlags::IN_DELETE)
    .union(AddWatchFlags::IN_MOVED_FROM)
    .union(AddWatchFlags::IN_MOVED_TO)
    .union(AddWatchFlags::IN_DELETE_SELF)
    .union(AddWatchFlags::IN_MOVE_SELF);
const HOW: AddWatchFlags = REPLACED.union(AddWatchFlags::IN_ONLYDIR).union(AddWatchFlags::IN_DONT_FOLLOW);

/// How long a run lasts before it is watched, and how often the files are compared where it cannot be.
const QUIET: Duration = Duration::from_millis(100);

/// Watches the names that masks and carve-outs stand on: when the host replaces one, its mask is gone.
#[derive(Debug)]
pub struct MaskWatch {
    stood: Stood,
    sight: Option<Sight>,
    /// The first wait.
    since: Option<Instant>,
}

/// What was at each name when the watch was made.
#[derive(Clone, Debug)]
pub(crate) struct Stood(Arc<BTreeMap<AbsPath, Option<Identity>>>);

/// Eyes on the directories of the names.
#[derive(Debug)]
struct Sight {
    queue: Queue,
    directories: BTreeMap<WatchDescriptor, AbsPath>,
}

/// An inotify queue, and its registration with a reactor, made at the first wait: there may be no reactor before.
#[derive(Debug)]
struct Queue {
    inotify: Inotify,
    ready: Option<AsyncFd<Arc<OwnedFd>>>,
}

/// The names whose replacement takes a mask away: carve-outs in write grants with the directories between, and masks
/// of single files anywhere.
pub(crate) fn masks(policy: &Policy) -> Vec<AbsPath> {
    let entries = policy.fs.entries.iter().filter(|(path, entry)| is_mask(policy, path, entry));
    entries
        .flat_map(|(path, _)| path.ancestors().take_while(|above| *above == *path || between(policy, above)))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// What the masks in write grants stand on, where the program could make something of its own once they are gone. Of
/// what is protected, without git's own settings, which git on the host replaces in ordinary work, a replacement is not
/// trusted after the run.
pub(crate) fn stands(policy: &Policy) -> Vec<Mask> {
    let is_carved =
        |path: &AbsPath, entry: &Entry| is_carved(entry) && around(policy, path) == Some(Access::Write);
    let carved = policy.fs.entries.iter().filter(|(path, entry)| is_carved(path, entry));
    let mut walk = Walk::default();
    carved
        .map(|(path, entry)| {
            let is_compared = entry.access == Access::Protect && entry.source != Source::Git;
            Mask { path: path.clone(), identity: if is_compared { walk.identity(path) } else { None } }
        })
        .collect()
}

fn is_carved(entry: &Entry) -> bool {
    matches!(entry.access, Access::Hide | Access::Protect | Access::Read)
}

fn is_mask(policy: &Policy, path: &AbsPath, entry: &Entry) -> bool {
    is_carved(entry) && (around(policy, path) == Some(Access::Write) || hides_a_file(policy, path, entry))
}

/// A directory in a write grant that is not the grant itself, which the program cannot rename and the host may.
fn between(policy: &Policy, above: &AbsPath) -> bool {
    !policy.fs.entries.contains_key(above) && policy.fs.access_at(above) == Access::Write
}

fn hides_a_file(policy: &Policy, path: &AbsPath, entry: &Entry) -> bool {
    entry.access == Access::Hide
        && entry.kind == Kind::File
        && around(policy, path).is_some_and(Access::shows_host)
}

/// The access around an entry.
fn around(policy: &Policy, path: &AbsPath) -> Option<Access> {
    Some(policy.fs.access_at(&path.parent()?))
}

impl MaskWatch {
    /// A watch over `names`, which are compared with what is there now; `None` where there is none.
    pub(crate) fn over(names: &[AbsPath]) -> Option<Self> {
        if names.is_empty() {
            return None;
        }
        let mut walk = Walk::default();
        let stood = names.iter().map(|name| (name.clone(), walk.identity(name))).collect();
        Some(Self { stood: Stood(Arc::new(stood)), sight: None, since: None })
    }

    /// To compare with at the end.
    pub(crate) fn stood(&self) -> Stood {
        self.stood.clone()
    }

    /// Waits until a masked file was replaced, and names it. Cancel-safe. Runs on any tokio runtime with I/O and time.
    /// Where the user's inotify instances or watches are used up, the files are compared ten times a second.
    pub async fn lost(&mut self) -> AbsPath {
        let since = *self.since.get_or_insert_with(Instant::now);
        sleep_until(since + QUIET).await;
        if self.sight.is_none() {
            self.sight = Sight::over(&self.stood).ok();
            if let Some(lost) = self.stood.lost() {
                return lost;
            }
        }
        match &mut self.sight {
            Some(sight) => sight.lost(&self.stood).await,
            None => self.stood.compare_until_lost().await,
        }
    }
}

impl Stood {
    /// The first name that another file has, or none.
    pub(crate) fn lost(&self) -> Option<AbsPath> {
        let mut walk = Walk::default();
        self.0.iter().find(|(path, stood)| walk.identity(path) != **stood).map(|(path, _)| path.clone())
    }

    async fn compare_until_lost(&self) -> AbsPath {
        loop {
            sleep(QUIET).await;
            if let Some(lost) = self.lost() {
                return lost;
            }
        }
    }

    fn any(&self) -> AbsPath {
        self.0.keys().next().cloned().unwrap_or_else(AbsPath::root)
    }
}

impl Sight {
    fn over(stood: &Stood) -> Result<Self, Errno> {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        let mut directories = BTreeMap::new();
        for parent in stood.0.keys().filter_map(AbsPath::parent).collect::<BTreeSet<_>>() {
            match inotify.add_watch(parent.as_path(), HOW) {
                Ok(watch) => drop(directories.insert(watch, parent)),
                // A directory that may not be read cannot be watched. It is not the caller's own.
                Err(Errno::EACCES) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(Self { queue: Queue { inotify, ready: None }, directories })
    }

    async fn lost(&mut self, stood: &Stood) -> AbsPath {
        loop {
            let events = match self.queue.events().await {
                Ok(events) => events,
                // Who cannot see must take it for lost.
                Err(_) => return stood.any(),
            };
            if let Some(lost) = events.iter().find_map(|event| self.judge(event, stood)) {
                return lost;
            }
        }
    }

    fn judge(&self, event: &InotifyEvent, stood: &Stood) -> Option<AbsPath> {
        if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
            return stood.lost();
        }
        let directory = self.directories.get(&event.wd)?;
        match &event.name {
            Some(name) => directory.join(name).ok().filter(|path| stood.0.contains_key(path)),
            None => stood.0.keys().find(|path| path.parent().as_ref() == Some(directory)).cloned(),
        }
    }
}

impl Queue {
    async fn events(&mut self) -> io::Result<Vec<InotifyEvent>> {
        let ready = match self.ready.take() {
            Some(ready) => ready,
            None => spawn::watched(Arc::new(self.inotify.as_fd().try_clone_to_owned()?))?,
        };
        let inotify = &self.inotify;
        let ready = self.ready.insert(ready);
        ready.async_io(Interest::READABLE, |_| Ok(inotify.read_events()?)).await
    }
}

#[cfg(test)]
mod tests;
