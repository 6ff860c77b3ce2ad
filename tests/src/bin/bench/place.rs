//! Where the benchmark runs: a throwaway workspace and home, and what is launched there.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use confine_core::AbsPath;
use confine_runner::Confine;

use crate::fault::{Fault, system};
use crate::library::Library;
use crate::options::Options;
use crate::row::Row;

/// An environment.
pub(crate) type Variables = Vec<(OsString, OsString)>;

/// A directory that is removed at the end.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("bench: cannot remove `{}`: {error}", self.0.display());
        }
    }
}

/// Everything a launch needs, made once.
pub(crate) struct Place {
    /// The library with the bwrap backend.
    pub(crate) bwrap: Library,
    /// The library with the landlock backend.
    pub(crate) landlock: Library,
    confine: PathBuf,
    /// The facts, for more libraries.
    facts: Confine,
    /// bwrap, and the options of the default plan without those that make the stage process 1.
    raw: Vec<OsString>,
    workspace: AbsPath,
    variables: Variables,
    base: Temporary,
}

impl Place {
    /// Makes the directories and finds the facts.
    pub(crate) fn new(options: &Options) -> Result<Self, Fault> {
        let confine =
            options.confine.canonicalize().map_err(system("find", options.confine.to_string_lossy()))?;
        let base = nix::unistd::mkdtemp("/var/tmp/confine-bench-XXXXXX")
            .map_err(|error| Fault::System("make a directory in", "/var/tmp".into(), error.into()))?;
        let base = Temporary(base);
        let workspace = made(&base.0.join("workspace"))?;
        let variables = variables(&made(&base.0.join("home"))?);
        let stage = confine.with_file_name("confine-stage");
        let facts =
            Confine::builder().stage(stage).detect().map_err(|error| Fault::Library(error.to_string()))?;
        let bwrap = Library::new(&facts, "bwrap", &workspace, &variables, "")?;
        let landlock = Library::new(&facts, "landlock", &workspace, &variables, "")?;
        let raw = raw(&bwrap)?;
        Ok(Self { bwrap, landlock, confine, facts, raw, workspace, variables, base })
    }

    /// A library of its own, with a longer policy.
    pub(crate) fn library(&self, backend: &str, more: &str) -> Result<Library, Fault> {
        Library::new(&self.facts, backend, &self.workspace, &self.variables, more)
    }

    /// The throwaway directory.
    pub(crate) fn base(&self) -> &Path {
        &self.base.0
    }

    /// The workspace.
    pub(crate) fn workspace(&self) -> &AbsPath {
        &self.workspace
    }

    /// The command of a row that starts a process; the library's rows have none and count as the floor.
    pub(crate) fn command(&self, row: Row, program: &[&str]) -> Command {
        let mut words: Vec<OsString> = match row {
            Row::RawBwrap => self.raw.clone(),
            Row::CliBwrap => self.cli(&["--backend", "bwrap"], &self.bwrap),
            Row::CliLandlock => self.cli(&["--backend", "landlock"], &self.landlock),
            Row::Floor | Row::LibraryBwrap | Row::LibraryLandlock => Vec::new(),
        };
        words.extend(program.iter().map(OsString::from));
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(&self.workspace).env_clear().envs(self.variables.iter().cloned());
        command
    }

    fn cli(&self, options: &[&str], library: &Library) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![self.confine.clone().into(), "run".into()];
        words.extend(options.iter().map(OsString::from));
        let accepted: Vec<&str> = library.accepted().iter().map(confine_core::Effect::name).collect();
        words.extend(["--accept-missing".into(), accepted.join(",").into(), "--".into()]);
        words
    }
}

/// The default plan's bwrap and options, for bwrap's own reaper.
fn raw(library: &Library) -> Result<Vec<OsString>, Fault> {
    let confined = library.confined()?;
    let Some(wrapper) = confined.launch.wrapper else {
        return Err(Fault::Library("the bwrap backend has no wrapper".into()));
    };
    let options = wrapper.options.into_iter().filter(|option| option != OsStr::new("--as-pid-1"));
    let mut words = vec![wrapper.program.to_os_string()];
    words.extend(options);
    words.push("--".into());
    Ok(words)
}

fn variables(home: &AbsPath) -> Variables {
    let mut variables: Variables = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    variables.push(("HOME".into(), home.to_os_string()));
    variables
}

fn made(path: &Path) -> Result<AbsPath, Fault> {
    std::fs::create_dir(path).map_err(system("make", path.to_string_lossy()))?;
    AbsPath::new(path).map_err(|error| Fault::Unexpected(error.to_string()))
}
