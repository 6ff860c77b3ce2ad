//! Where confine keeps what it keeps: configuration, state, cache.
//!
//! Nothing is made before something is written. A directory that belongs to somebody else, or that others may enter,
//! is refused rather than mended: whoever made it so may have put something in it.

use std::ffi::{OsStr, OsString};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;

use confine_core::{AbsPath, Policy};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, fstat, mkdirat};
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::unistd::Uid;

use crate::view::home;

const OURS: &str = "confine";
const PRIVATE: Mode = Mode::S_IRWXU;
const FOR_OTHERS: libc::mode_t = 0o077;
/// As they are opened: never through a final link.
const DIRECTORY: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// The three directories; `None` where neither `$XDG_…` nor a home directory says where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// `policy.toml`, `rules.toml`, `confine.lock`.
    pub configuration: Option<AbsPath>,
    /// The journal of runs, the quarantine.
    pub state: Option<AbsPath>,
    /// What can be lost.
    pub cache: Option<AbsPath>,
}

/// Why a directory of confine's own cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Nothing says where it is.
    #[error("neither `HOME` nor `{0}` is set to an absolute path")]
    Nowhere(&'static str),
    /// It belongs to somebody else.
    #[error("`{path}` belongs to uid {owner}, not to this user")]
    Owner {
        /// Which.
        path: AbsPath,
        /// Whose.
        owner: u32,
    },
    /// Others may enter it.
    #[error("`{path}` can be entered by others (mode {mode:04o})")]
    Loose {
        /// Which.
        path: AbsPath,
        /// Its permission bits.
        mode: u32,
    },
    /// It cannot be made or opened.
    #[error("`{path}` cannot be used: {source}")]
    Unusable {
        /// Which.
        path: AbsPath,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl PlaceError {
    /// The next step for the user.
    pub fn help(&self) -> String {
        match self {
            Self::Nowhere(variable) => format!("set `HOME`, or `{variable}` to a directory of your own"),
            Self::Loose { path, .. } => format!("chmod 700 {path}"),
            Self::Owner { .. } | Self::Unusable { .. } => {
                "set `XDG_STATE_HOME` and `XDG_CONFIG_HOME` to directories of your own".to_owned()
            }
        }
    }

    /// Which directory, where it is known.
    pub fn path(&self) -> Option<&AbsPath> {
        match self {
            Self::Nowhere(_) => None,
            Self::Owner { path, .. } | Self::Loose { path, .. } | Self::Unusable { path, .. } => Some(path),
        }
    }
}

impl Places {
    /// As this process's environment says.
    pub fn here() -> Self {
        Self::with(|name| std::env::var_os(name))
    }

    /// As another environment says.
    pub fn with(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let home = home(variable("HOME").as_deref(), Uid::effective());
        let place = |name: &str, below: &str| {
            let named = variable(name).and_then(|path| AbsPath::new(path).ok());
            named.or_else(|| home.as_ref()?.join(below).ok())?.join(OURS).ok()
        };
        Self {
            configuration: place("XDG_CONFIG_HOME", ".config"),
            state: place("XDG_STATE_HOME", ".local/state"),
            cache: place("XDG_CACHE_HOME", ".cache"),
        }
    }

    /// Those that are known, for a [`Request`](confine_core::policy::resolve::Request): never writable inside.
    pub fn own_directories(&self) -> Vec<AbsPath> {
        [&self.configuration, &self.state, &self.cache].into_iter().flatten().cloned().collect()
    }

    /// Makes the state directory where `policy` would have to watch for it, because it is missing and lies in a write
    /// grant. True where it was made: `policy` is out of date then, and is to be resolved again before a run.
    pub fn prepare(&self, policy: &Policy) -> bool {
        let watched = |state: &AbsPath| policy.fs.missing.iter().any(|missing| state.is_within(missing));
        // One that cannot be made is what the run says.
        self.state.as_ref().is_some_and(watched) && self.make_state().is_ok()
    }

    /// The state directory, made (0700, and what is missing above it) if need be.
    ///
    /// # Errors
    /// Where it cannot be made, or is not the caller's alone.
    pub(crate) fn make_state(&self) -> Result<Place, PlaceError> {
        Place::make(self.state_path()?)
    }

    /// The state directory, if it is there.
    ///
    /// # Errors
    /// As [`Places::make_state`].
    pub(crate) fn open_state(&self) -> Result<Option<Place>, PlaceError> {
        Place::open(self.state_path()?)
    }

    /// The configuration directory, made (0700, and what is missing above it) if need be.
    ///
    /// # Errors
    /// As [`Places::make_state`].
    pub(crate) fn make_configuration(&self) -> Result<Place, PlaceError> {
        Place::make(self.configuration_path()?)
    }

    /// The configuration directory, if it is there.
    ///
    /// # Errors
    /// As [`Places::make_state`].
    pub(crate) fn open_configuration(&self) -> Result<Option<Place>, PlaceError> {
        Place::open(self.configuration_path()?)
    }

    /// A file in a directory of the state, open, made (0600) if need be: nobody but this user can open it, to lock it for
    /// example.
    ///
    /// # Errors
    /// Where it cannot be made, or the directory is not the caller's alone.
    pub fn state_file(&self, directory: &str, name: &str) -> Result<OwnedFd, PlaceError> {
        let place = self.make_state()?.make_below(directory)?;
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = openat(&place.fd, name, flags, Mode::S_IRUSR | Mode::S_IWUSR);
        let path = place.below(name)?;
        opened.map_err(|errno| PlaceError::Unusable { path, source: errno.into() })
    }

    fn configuration_path(&self) -> Result<AbsPath, PlaceError> {
        self.configuration.clone().ok_or(PlaceError::Nowhere("XDG_CONFIG_HOME"))
    }

    fn state_path(&self) -> Result<AbsPath, PlaceError> {
        self.state.clone().ok_or(PlaceError::Nowhere("XDG_STATE_HOME"))
    }
}

/// A directory of confine's own, open and checked.
#[derive(Debug)]
pub(crate) struct Place {
    /// Where it is.
    pub(crate) path: AbsPath,
    /// The directory itself: what is done goes through this.
    pub(crate) fd: OwnedFd,
}

impl Place {
    fn make(path: AbsPath) -> Result<Self, PlaceError> {
        if let Some(there) = Self::open(path.clone())? {
            return Ok(there);
        }
        let made = DirBuilder::new().recursive(true).mode(PRIVATE.bits()).create(&path);
        made.map_err(|source| PlaceError::Unusable { path: path.clone(), source })?;
        Self::checked(path.clone(), open(path.as_path(), DIRECTORY, Mode::empty()))
    }

    fn open(path: AbsPath) -> Result<Option<Self>, PlaceError> {
        match open(path.as_path(), DIRECTORY, Mode::empty()) {
            Err(Errno::ENOENT) => Ok(None),
            opened => Self::checked(path, opened).map(Some),
        }
    }

    /// A directory in it, made if need be.
    ///
    /// # Errors
    /// As [`Places::make_state`].
    pub(crate) fn make_below(&self, name: &str) -> Result<Self, PlaceError> {
        let path = self.below(name)?;
        match mkdirat(&self.fd, name, PRIVATE) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(PlaceError::Unusable { path, source: errno.into() }),
        }
        Self::checked(path, openat(&self.fd, name, DIRECTORY, Mode::empty()))
    }

    /// A directory in it, if it is there.
    ///
    /// # Errors
    /// As [`Places::make_state`].
    pub(crate) fn open_below(&self, name: &str) -> Result<Option<Self>, PlaceError> {
        match openat(&self.fd, name, DIRECTORY, Mode::empty()) {
            Err(Errno::ENOENT) => Ok(None),
            opened => Self::checked(self.below(name)?, opened).map(Some),
        }
    }

    fn below(&self, name: impl AsRef<OsStr>) -> Result<AbsPath, PlaceError> {
        let unusable = |error| PlaceError::Unusable {
            path: self.path.clone(),
            source: io::Error::new(io::ErrorKind::InvalidInput, error),
        };
        self.path.join(name.as_ref()).map_err(unusable)
    }

    fn checked(path: AbsPath, opened: nix::Result<OwnedFd>) -> Result<Self, PlaceError> {
        let unusable = |errno: Errno| PlaceError::Unusable { path: path.clone(), source: errno.into() };
        let fd = opened.map_err(unusable)?;
        let FileStat { st_uid: owner, st_mode: mode, .. } = fstat(&fd).map_err(unusable)?;
        if owner != Uid::effective().as_raw() {
            return Err(PlaceError::Owner { path, owner });
        }
        if mode & FOR_OTHERS != 0 && is_read_only(&fd) {
            // A mask, for example: nobody can put anything in, and chmod(2) would not help.
            return Err(unusable(Errno::EROFS));
        }
        if mode & FOR_OTHERS != 0 {
            return Err(PlaceError::Loose { path, mode: mode & 0o7777 });
        }
        Ok(Self { path, fd })
    }
}

fn is_read_only(directory: &OwnedFd) -> bool {
    fstatvfs(directory).is_ok_and(|system| system.flags().contains(FsFlags::ST_RDONLY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    fn below(top: &Path) -> Places {
        let top = top.to_owned();
        Places::with(move |name| (name == "HOME").then(|| top.clone().into_os_string()))
    }

    fn mode(path: &AbsPath, bits: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
    }

    #[test]
    fn the_variables_come_before_home_and_relative_ones_do_not_count() {
        let variables = [("HOME", "/h"), ("XDG_STATE_HOME", "/s"), ("XDG_CACHE_HOME", "c")];
        let places = Places::with(|name| {
            variables.iter().find(|(one, _)| *one == name).map(|(_, value)| OsString::from(value))
        });
        let expected = ["/h/.config/confine", "/s/confine", "/h/.cache/confine"];
        assert_eq!(places.own_directories(), expected.map(|path| AbsPath::new(path).unwrap()));
    }

    #[test]
    fn nothing_is_made_by_looking_and_what_is_made_is_private() {
        let top = tempfile::tempdir().unwrap();
        let places = below(top.path());
        assert!(places.open_state().unwrap().is_none());
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0);
        let state = places.make_state().unwrap();
        let runs = state.make_below("runs").unwrap();
        for path in [&state.path, &runs.path] {
            assert_eq!(path.as_path().metadata().unwrap().permissions().mode() & 0o7777, 0o700);
        }
        assert!(places.open_state().unwrap().is_some());
    }

    #[test]
    fn loose_modes_links_and_files_are_refused_by_name() {
        let top = tempfile::tempdir().unwrap();
        let places = below(top.path());
        let path = places.make_state().unwrap().path;
        mode(&path, 0o750);
        let refused = places.make_state().unwrap_err();
        assert_eq!(refused.to_string(), format!("`{path}` can be entered by others (mode 0750)"));
        assert_eq!(refused.help(), format!("chmod 700 {path}"));
        mode(&path, 0o700);
        let moved = path.as_path().with_extension("moved");
        std::fs::rename(&path, &moved).unwrap();
        symlink(&moved, &path).unwrap();
        assert!(matches!(places.open_state(), Err(PlaceError::Unusable { .. })), "a link");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(matches!(places.make_state(), Err(PlaceError::Unusable { .. })), "a file");
    }

    #[test]
    fn a_directory_of_a_stranger_is_refused() {
        if !Uid::effective().is_root() {
            return eprintln!("SKIP a_directory_of_a_stranger_is_refused: needs root to give files away");
        }
        let top = tempfile::tempdir().unwrap();
        let places = below(top.path());
        let path = places.make_state().unwrap().path;
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        assert!(matches!(places.open_state(), Err(PlaceError::Owner { owner: 12345, .. })));
    }
}
