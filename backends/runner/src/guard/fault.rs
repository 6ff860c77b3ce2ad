//! Why a run's debts cannot be contracted.

use std::io;

use confine_core::{AbsPath, Effect, LaunchFault, LaunchStage};
use nix::errno::Errno;

use crate::places::{Place, PlaceError};

/// Why there is no entry.
pub(super) enum Unkept {
    /// The state directory cannot be written here.
    Unwritable(LaunchFault),
    /// Something is wrong.
    Fault(LaunchFault),
}

impl Unkept {
    /// As the caller is told.
    pub(super) fn fault(self) -> LaunchFault {
        match self {
            Self::Unwritable(fault) | Self::Fault(fault) => fault,
        }
    }

    fn of(fault: LaunchFault, error: &io::Error) -> Self {
        let unwritable = [libc::EROFS, libc::EACCES, libc::EPERM];
        let is_unwritable = error.raw_os_error().is_some_and(|errno| unwritable.contains(&errno));
        if is_unwritable { Self::Unwritable(fault) } else { Self::Fault(fault) }
    }
}

impl From<LaunchFault> for Unkept {
    fn from(fault: LaunchFault) -> Self {
        Self::Fault(fault)
    }
}

/// The state directory cannot be had.
pub(super) fn place(error: PlaceError) -> Unkept {
    let mut fault = fault(format!("keep the journal that protected names need: {error}"), error.path());
    fault.help = Some(error.help());
    match error {
        PlaceError::Nowhere(_) => Unkept::Unwritable(fault),
        PlaceError::Unusable { source, .. } => Unkept::of(fault.help(ELSEWHERE), &source),
        PlaceError::Owner { .. } | PlaceError::Loose { .. } => Unkept::Fault(fault),
    }
}

/// Something in it cannot be written.
pub(super) fn state(state: &Place, error: &io::Error) -> Unkept {
    let text = format!("keep the journal that protected names need in `{}`: {error}", state.path);
    let mut fault = fault(text, Some(&state.path));
    fault.errno = error.raw_os_error();
    Unkept::of(fault.help(ELSEWHERE), error)
}

/// A placeholder or a precreated file cannot be made.
pub(super) fn make(path: &AbsPath, errno: Errno) -> LaunchFault {
    let mut fault = fault(format!("create `{path}`: {}", errno.desc()), Some(path));
    fault.errno = io::Error::from(errno).raw_os_error();
    fault.help("let this user write there; for a name inside `.git`, `--git protect` needs none")
}

/// True inside a sandbox too, where home is read-only and the temporary directory is not.
const ELSEWHERE: &str = "set `XDG_STATE_HOME` to a directory of your own that can be written; or use `--git protect`, which needs no journal for a `.git` that exists";

fn fault(text: String, path: Option<&AbsPath>) -> LaunchFault {
    let mut fault = LaunchFault::new(LaunchStage::Spawn, text);
    fault.effect = Some(Effect::FsCarveOutNew);
    fault.path = path.cloned();
    fault
}
