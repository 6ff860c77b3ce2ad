//! Watches what masks stand on: when the host replaces such a file, the kernel takes the mask away with it.
//!
//! A mask is lost when the name goes or another file takes it, not when the file's content changes: the mount stands
//! on the file. The directories in between count as well: renaming one moves the mask with it and frees its name. The
//! events say so by name (inotify(7)); where the queue overflowed, the files are compared with what stood at launch.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use confine_core::policy::fs::{Entry, Kind};
use confine_core::policy::{Access, Policy};
use confine_core::{AbsPath, Effect, LaunchFault, LaunchStage};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::beneath::{Identity, Spot};
use crate::spawn;

/// What takes a name away or gives it to another file.
const REPLACED: AddWatchFlags = AddWatchFlags::IN_CREATE
    .union(AddWatchFlags::IN_DELETE)
    .union(AddWatchFlags::IN_MOVED_FROM)
    .union(AddWatchFlags::IN_MOVED_TO)
    .union(AddWatchFlags::IN_DELETE_SELF)
    .union(AddWatchFlags::IN_MOVE_SELF);
const HOW: AddWatchFlags = REPLACED.union(AddWatchFlags::IN_ONLYDIR).union(AddWatchFlags::IN_DONT_FOLLOW);

/// Watches the names that masks and carve-outs stand on: when the host replaces one, its mask is gone.
#[derive(Debug)]
pub struct MaskWatch {
    queue: Queue,
    directories: BTreeMap<WatchDescriptor, AbsPath>,
    stood: BTreeMap<AbsPath, Option<Identity>>,
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
    let entries = &policy.fs.entries;
    let masked = entries.iter().filter(|(path, entry)| {
        let carved = matches!(entry.access, Access::Hide | Access::Protect | Access::Read);
        carved && (around(policy, path) == Some(Access::Write) || hides_a_file(policy, path, entry))
    });
    masked
        .flat_map(|(path, _)| path.ancestors().take_while(|above| *above == *path || between(policy, above)))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
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
    /// A watch over `names`, which are compared with what is there now.
    ///
    /// # Errors
    /// inotify(7)'s, as a fault: mostly the user's limit of instances or watches.
    pub(crate) fn over(names: &[AbsPath]) -> Result<Option<Self>, LaunchFault> {
        let Some(first) = names.first() else { return Ok(None) };
        let flags = InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC;
        let inotify = Inotify::init(flags).map_err(|errno| fault(first, errno))?;
        let mut directories = BTreeMap::new();
        for parent in names.iter().filter_map(AbsPath::parent).collect::<BTreeSet<_>>() {
            match inotify.add_watch(parent.as_path(), HOW) {
                Ok(watch) => drop(directories.insert(watch, parent)),
                // A directory that may not be read cannot be watched. It is not the caller's own.
                Err(Errno::EACCES) => {}
                Err(errno) => return Err(fault(&parent, errno)),
            }
        }
        let stood = names.iter().map(|name| (name.clone(), standing(name))).collect();
        Ok(Some(Self { queue: Queue { inotify, ready: None }, directories, stood }))
    }

    /// Waits until a masked file was replaced, and names it. Cancel-safe. Runs on any tokio runtime with I/O.
    pub async fn lost(&mut self) -> AbsPath {
        loop {
            let events = match self.queue.events().await {
                Ok(events) => events,
                // Who cannot see must take it for lost.
                Err(_) => return self.any(),
            };
            if let Some(lost) = events.iter().find_map(|event| self.judge(event)) {
                return lost;
            }
        }
    }

    fn judge(&self, event: &InotifyEvent) -> Option<AbsPath> {
        if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
            return self.compare();
        }
        let directory = self.directories.get(&event.wd)?;
        match &event.name {
            Some(name) => self.watched(directory, name),
            None => self.stood.keys().find(|path| path.parent().as_ref() == Some(directory)).cloned(),
        }
    }

    fn watched(&self, directory: &AbsPath, name: &OsString) -> Option<AbsPath> {
        let path = directory.join(name).ok()?;
        self.stood.contains_key(&path).then_some(path)
    }

    fn compare(&self) -> Option<AbsPath> {
        self.stood.iter().find(|(path, stood)| standing(path) != **stood).map(|(path, _)| path.clone())
    }

    fn any(&self) -> AbsPath {
        self.stood.keys().next().cloned().unwrap_or_else(AbsPath::root)
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

fn standing(path: &AbsPath) -> Option<Identity> {
    Spot::of(path).ok()?.stat().ok()?.as_ref().map(Identity::from)
}

fn fault(path: &AbsPath, errno: Errno) -> LaunchFault {
    let text = format!("watch `{path}`, so that its mask is not lost unseen: {}", errno.desc());
    let mut fault = LaunchFault::new(LaunchStage::Spawn, text);
    fault.effect = Some(Effect::FsCarveOut);
    fault.path = Some(path.clone());
    fault.errno = io::Error::from(errno).raw_os_error();
    fault.help("raise `fs.inotify.max_user_instances` and `fs.inotify.max_user_watches` with sysctl")
}

#[cfg(test)]
mod tests;
