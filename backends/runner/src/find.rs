//! Finds the programs that a launch needs, and says whether they may be trusted.
//!
//! A program that somebody else can replace decides what "confined" means, so it is refused: file and every parent
//! directory belong to root or the effective user and are writable by nobody else. An access-control list that lets
//! another user write shows in the group bits (acl(5)) and is refused by the same rule. Directories above are checked
//! after links are resolved, so what is checked is what runs.

use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use confine_core::policy::{Access, Policy};
use confine_core::probe::{Tool, Unusable};
use confine_core::{AbsPath, Text};
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, Uid, faccessat};

/// The stage's file name.
const STAGE: &str = "confine-stage";
/// The file name of what loads egress plugins.
const PLUGIN_HOST: &str = "confine-plugin-host";
/// bubblewrap's file name.
const BWRAP: &str = "bwrap";
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;
/// What helps where a program lies with the files that the command works on.
const ELSEWHERE: &str = "install it outside the workspace, or name another workspace or a narrower grant";

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct Find {
    /// The caller's `PATH`; entries that are not absolute are skipped.
    pub path: OsString,
    /// The stage, where the caller names it.
    pub stage: Option<PathBuf>,
    /// The running executable, whose neighbour the stage is.
    pub executable: Option<PathBuf>,
}

impl Find {
    /// As this process would.
    pub fn here() -> Self {
        Self {
            path: std::env::var_os("PATH").unwrap_or_default(),
            stage: None,
            executable: std::env::current_exe().ok(),
        }
    }

    /// bubblewrap: the first trustworthy one on the path.
    ///
    /// # Errors
    /// Where there is none; where there are only untrustworthy ones, what is wrong with the first.
    pub fn bwrap(&self) -> Result<Tool, Unusable> {
        self.on_path(BWRAP).unwrap_or_else(|| {
            Err(Unusable::new("there is no `bwrap` on PATH", "apt-get install bubblewrap"))
        })
    }

    /// The first trustworthy program of that name on the path; `None` where there is none at all.
    pub(crate) fn on_path(&self, file: &str) -> Option<Result<Tool, Unusable>> {
        let candidates = std::env::split_paths(&self.path).filter(|entry| entry.is_absolute());
        first(candidates.map(|entry| entry.join(file)))
    }

    /// The stage: where the caller says, else beside the running executable, else in `../libexec/confine`.
    ///
    /// # Errors
    /// As [`Find::bwrap`].
    pub fn stage(&self) -> Result<Tool, Unusable> {
        if let Some(named) = &self.stage {
            return tool(named).unwrap_or_else(|| {
                let shown = Text::from(named.as_os_str());
                Err(Unusable::new(format!("there is no stage at `{shown}`"), "name the file `confine-stage`"))
            });
        }
        self.beside(STAGE)
    }

    /// What loads egress plugins, inside their sandbox: beside the running executable, else in `../libexec/confine`. It is
    /// a program of its own, because a static one cannot load a library.
    ///
    /// # Errors
    /// As [`Find::bwrap`].
    pub fn plugin_host(&self) -> Result<Tool, Unusable> {
        self.beside(PLUGIN_HOST)
    }

    fn beside(&self, name: &str) -> Result<Tool, Unusable> {
        let Some(executable) = &self.executable else {
            return Err(Unusable::new(
                format!("`{name}` lies beside the running program, which only `/proc` tells"),
                "mount -t proc proc /proc",
            ));
        };
        let directory = executable.parent();
        let candidates = directory
            .into_iter()
            .flat_map(|directory| [directory.join(name), directory.join("../libexec/confine").join(name)]);
        first(candidates).unwrap_or_else(|| {
            Err(Unusable::new(
                format!("`{name}` is neither beside the running program nor in `../libexec/confine`"),
                "install confine again",
            ))
        })
    }
}

/// Whether `program` is what the user installed, and stays that while a program runs under `policy`: it may lie neither
/// where the program can write nor in a workspace, whatever the access there.
///
/// # Errors
/// Where it does.
pub fn safe_for(program: &AbsPath, policy: &Policy) -> Result<(), Unusable> {
    if policy.fs.access_at(program) == Access::Write {
        return Err(Unusable::new(
            format!("`{program}` lies in a write grant, so the command could replace it"),
            ELSEWHERE,
        ));
    }
    policy.fs.workspaces.iter().try_for_each(|workspace| apart_from(program, workspace))
}

/// Whether `program` lies outside of `workspace`, whose content may be anybody's: a `PATH` with a directory of the
/// workspace in it is usual. Everything lies in `/`, which therefore says nothing.
///
/// # Errors
/// Where it does not.
pub fn apart_from(program: &AbsPath, workspace: &AbsPath) -> Result<(), Unusable> {
    if *workspace == AbsPath::root() || !program.is_within(workspace) {
        return Ok(());
    }
    let text = format!("`{program}` lies in the workspace `{workspace}`, so whoever wrote that chose it");
    Err(Unusable::new(text, ELSEWHERE))
}

fn first(candidates: impl Iterator<Item = PathBuf>) -> Option<Result<Tool, Unusable>> {
    let mut refused = None;
    for found in candidates.filter_map(|candidate| tool(&candidate)) {
        if found.is_ok() {
            return Some(found);
        }
        refused = refused.or(Some(found));
    }
    refused
}

/// Whether a file that is open belongs to root or to this user, and nobody else can write it.
///
/// # Errors
/// Where not.
pub(crate) fn owned(path: &AbsPath, metadata: &Metadata) -> Result<(), Unusable> {
    let about = |why| Distrust { path: path.as_path().to_owned(), why };
    if !metadata.is_file() {
        return Err(about(Why::Special).unusable());
    }
    Owners::here().check(metadata).map_err(|why| about(why).unusable())
}

/// `None` where there is nothing at all, which one call tells; resolving takes one for each directory.
pub(crate) fn tool(candidate: &Path) -> Option<Result<Tool, Unusable>> {
    candidate.symlink_metadata().ok()?;
    let canonical = std::fs::canonicalize(candidate).ok()?;
    Some(trusted(&canonical).map_err(|distrust| distrust.unusable()))
}

fn trusted(canonical: &Path) -> Result<Tool, Distrust> {
    let about = |why| Distrust { path: canonical.to_owned(), why };
    let metadata = canonical.symlink_metadata().map_err(|_| about(Why::Unreadable))?;
    if !metadata.is_file() {
        return Err(about(Why::Special));
    }
    if faccessat(AT_FDCWD, canonical, AccessFlags::X_OK, AtFlags::AT_EACCESS).is_err() {
        return Err(about(Why::NotExecutable));
    }
    let owners = Owners::here();
    owners.check(&metadata).map_err(about)?;
    for parent in canonical.ancestors().skip(1) {
        let about = |why| Distrust { path: parent.to_owned(), why };
        let metadata = parent.symlink_metadata().map_err(|_| about(Why::Unreadable))?;
        owners.check(&metadata).map_err(about)?;
    }
    AbsPath::new(canonical).map(|path| Tool { path }).map_err(|_| about(Why::Unreadable))
}

/// What is wrong with a program, or with a directory above it.
struct Distrust {
    path: PathBuf,
    why: Why,
}

enum Why {
    Unreadable,
    Special,
    NotExecutable,
    Owner(u32),
    Writable,
}

impl Distrust {
    fn unusable(&self) -> Unusable {
        let path = Text::from(self.path.as_os_str());
        match self.why {
            Why::Unreadable => Unusable::without_remedy(format!("`{path}` cannot be looked at")),
            Why::Special => Unusable::without_remedy(format!("`{path}` is not a regular file")),
            Why::NotExecutable => {
                Unusable::new(format!("`{path}` is not executable for this user"), format!("chmod +x {path}"))
            }
            Why::Owner(uid) => Unusable::new(
                format!("`{path}` belongs to uid {uid}, neither root nor this user"),
                "install it where only root or this user can write",
            ),
            Why::Writable => {
                Unusable::new(format!("`{path}` can be written by others"), format!("chmod go-w {path}"))
            }
        }
    }
}

/// Whose files are trusted.
struct Owners {
    user: u32,
    /// As whom the host's root shows here. In a user namespace that does not map it that is the overflow uid
    /// (user_namespaces(7)), which other unmapped users share: there the check is weaker, and it is the host's files
    /// that a nested run takes its programs from.
    root: u32,
}

impl Owners {
    fn here() -> Self {
        // The kernel owns /proc/sys as the root of the initial user namespace.
        let root = Path::new("/proc/sys").symlink_metadata().map_or(0, |metadata| metadata.uid());
        Self { user: Uid::effective().as_raw(), root }
    }

    fn check(&self, metadata: &Metadata) -> Result<(), Why> {
        let owner = metadata.uid();
        let root = owner == 0 || owner == self.root;
        if !root && owner != self.user {
            return Err(Why::Owner(owner));
        }
        let mode = metadata.permissions().mode();
        // In a sticky directory only an entry's owner may replace it, and every entry's owner is checked.
        let sticky = root && metadata.is_dir() && mode & STICKY != 0;
        if mode & WRITABLE_BY_OTHERS != 0 && !sticky {
            return Err(Why::Writable);
        }
        Ok(())
    }
}

/// The SHA-256 of a tool's file, as 64 hexadecimal digits. Reads the whole file: for `--probe`, not for a launch.
///
/// # Errors
/// As open(2) and read(2).
pub fn sha256(tool: &Tool) -> std::io::Result<String> {
    crate::digest::of_file(std::fs::File::open(&tool.path)?)
}

#[cfg(test)]
mod tests;
