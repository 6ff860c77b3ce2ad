//! The place of one run: directories of the user's own, made before and removed after.

use std::fmt;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Backend, Confine, Finished, User};

/// A fresh directory that is removed at the end.
pub struct Temporary(PathBuf);

impl Temporary {
    /// `prefix` and six random characters, readable by all.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new(prefix: &str) -> Self {
        let path = nix::unistd::mkdtemp(format!("{prefix}XXXXXX").as_str()).expect("a fresh directory");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("cannot remove `{}`: {error}", self.0.display());
        }
    }
}

/// A user, a backend, and their directories: a workspace, a home, and a place outside both.
pub struct Scene {
    /// Who runs.
    pub user: User,
    /// By which backend.
    pub backend: Backend,
    base: Temporary,
    reports: Temporary,
}

impl Scene {
    /// Makes the directories below `/var/tmp`, which the private `/tmp` of a sandbox does not cover.
    ///
    /// # Panics
    /// When they cannot be made.
    pub fn new(user: User, backend: Backend) -> Self {
        let base = Temporary::new("/var/tmp/confine-scene-");
        let reports = Temporary::new("/tmp/confine-reports-");
        let scene = Self { user, backend, base, reports };
        for directory in [scene.workspace(), scene.home(), scene.outside()] {
            scene.directory(&directory);
        }
        scene.own(scene.reports.path());
        scene.write(&scene.home().join(".gitconfig"), GIT_CONFIG);
        scene
    }

    /// Root's, with everything else in it.
    pub fn base(&self) -> &Path {
        self.base.path()
    }

    /// The user's, and the current directory of a run.
    pub fn workspace(&self) -> PathBuf {
        self.base().join("ws")
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.base().join("home")
    }

    /// The user's, and no grant covers it.
    pub fn outside(&self) -> PathBuf {
        self.base().join("out")
    }

    /// Where reports are written: out of the way of every grant.
    pub fn reports(&self) -> &Path {
        self.reports.path()
    }

    /// Makes a directory, and its parents, of the user's.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn directory(&self, path: &Path) -> PathBuf {
        let missing: Vec<_> = path.ancestors().take_while(|above| !above.exists()).collect();
        for directory in missing.into_iter().rev() {
            fs::create_dir(directory)
                .unwrap_or_else(|e| panic!("cannot make `{}`: {e}", directory.display()));
            self.own(directory);
        }
        path.to_owned()
    }

    /// Writes a file of the user's, and makes its parents.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, path: &Path, content: &str) -> PathBuf {
        self.directory(path.parent().expect("a file has a parent"));
        fs::write(path, content).unwrap_or_else(|e| panic!("cannot write `{}`: {e}", path.display()));
        self.own(path);
        path.to_owned()
    }

    /// Gives a path to the user.
    ///
    /// # Panics
    /// When that is refused.
    pub fn own(&self, path: &Path) {
        chown(path, Some(self.user.id()), Some(self.user.id())).expect("root may give files away");
    }

    /// A `confine run` by the scene's backend.
    pub fn confine(&self) -> Confine<'_> {
        Confine::new(self).options(self.backend.options())
    }

    /// A `confine run` without any option of the harness.
    pub fn plain(&self) -> Confine<'_> {
        Confine::new(self)
    }

    /// The same user without a sandbox, in the workspace: the control.
    pub fn control<W: AsRef<std::ffi::OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Finished {
        let mut words = words.into_iter();
        let mut command = self.command(words.next().expect("a program"));
        command.args(words);
        Finished::of(command, &[])
    }

    /// A program as the scene's user, in the workspace, without a sandbox.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.user.command(program, &self.home());
        command.current_dir(self.workspace());
        command
    }
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with {}", self.user, self.backend.id())
    }
}

/// Runs `check` in a fresh scene for every user and every backend, all of them, and then fails if one did.
///
/// # Panics
/// With the scenes that failed; how is told before that.
#[track_caller]
pub fn each(users: &[User], backends: &[Backend], check: impl Fn(&Scene)) {
    let scenes = users.iter().flat_map(|user| backends.iter().map(|backend| Scene::new(*user, *backend)));
    let failures: Vec<String> = scenes
        .filter(|scene| {
            eprintln!("as {scene}:");
            catch_unwind(AssertUnwindSafe(|| check(scene))).is_err()
        })
        .map(|scene| scene.to_string())
        .collect();
    assert!(failures.is_empty(), "it failed as {}", failures.join(", "));
}

const GIT_CONFIG: &str =
    "[user]\n\tname = Tester\n\temail = tester@localhost\n[init]\n\tdefaultBranch = main\n";
