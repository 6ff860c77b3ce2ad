//! Where rows are measured again: a throwaway tree, a process and a listener outside, a policy around.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{Policy, PolicyFile, Source};
use confine_core::{AbsPath, Effect, LaunchFault, LaunchStage, Text};
use confine_runner::view::HostView;

use crate::fault;

/// What the commands of the system need to be read. Missing ones grant nothing.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/nix/store", "/var/lib/dpkg"];
/// Where tools live in a home directory, and the variable that leads there when the home is another.
const HOMES: &[(&str, &str)] =
    &[(".cargo", "CARGO_HOME"), (".rustup", "RUSTUP_HOME"), (".pyenv", "PYENV_ROOT")];
/// A directory that is no private one inside.
const PARENT: &str = "/var/tmp";

/// The files of the tree, by their path below it; a name that ends in `/` is a directory.
const FILES: &[(&str, &str)] = &[
    ("ro/f.txt", "hello\n"),
    ("ro/dir/g.txt", "hello\n"),
    ("ro/empty/", ""),
    ("ro/crate/Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("ro/crate/src/lib.rs", ""),
    ("hidden/key", "#!/bin/sh\n"),
    ("hidden/sub/", ""),
    ("hidden/.gitconfig", ""),
    ("ws/a.txt", "hello\n"),
    ("ws/dir/", ""),
    ("ws/home/", ""),
    ("ws/out/", ""),
    ("ws/t.c", "int main(void) { return 0; }\n"),
    ("ws/t.rs", "fn main() {}\n"),
    ("ws/crate/Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("ws/crate/src/lib.rs", ""),
];
/// Makes what is no plain file: repositories, a database, an executable. Every part may fail for want of its tool.
const PREPARE: &str = "
chmod 755 hidden/key
for place in ro ws; do
    (git init -q $place/repo && cd $place/repo && echo 1 > f && git add f &&
        git -c user.name=x -c user.email=x@invalid commit -qm x) || true
done
sqlite3 ro/old.db 'create table t(a)' || true
";

/// The ground; what it holds goes with it.
pub(super) struct Ground {
    tree: tempfile::TempDir,
    listener: TcpListener,
    outside: Child,
}

impl Ground {
    /// Makes one.
    ///
    /// # Errors
    /// Whatever the system says.
    pub(super) fn make() -> Result<Self, LaunchFault> {
        Self::try_make()
            .map_err(|error| fault::system(LaunchStage::Usage, "make a place to measure in", &error))
    }

    fn try_make() -> io::Result<Self> {
        let tree = tempfile::Builder::new().prefix("confine-dialect-").tempdir_in(PARENT)?;
        for (name, content) in FILES {
            let path = tree.path().join(name);
            let directory = if name.ends_with('/') { Some(path.as_path()) } else { path.parent() };
            fs::create_dir_all(directory.unwrap_or(tree.path()))?;
            if !name.ends_with('/') {
                fs::write(&path, content)?;
            }
        }
        quiet("sh").args(["-c", PREPARE]).current_dir(tree.path()).status()?;
        Ok(Self {
            tree,
            listener: TcpListener::bind(("127.0.0.1", 0))?,
            outside: quiet("sleep").arg("600").spawn()?,
        })
    }

    /// A place in the tree.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        self.tree.path().join(name)
    }

    /// What the commands find in their environment.
    fn variables(&self) -> io::Result<Vec<(&'static str, Text)>> {
        let path = |name: &str| Text::from(self.place(name).into_os_string());
        let mut variables = vec![
            ("RO", path("ro")),
            ("RW", path("ws")),
            ("HIDDEN", path("hidden")),
            ("HOME", path("ws/home")),
            ("PORT", Text::from(self.listener.local_addr()?.port().to_string().as_str())),
            ("PID", Text::from(self.outside.id().to_string().as_str())),
            ("LC_ALL", Text::from("C")),
            ("GIT_TERMINAL_PROMPT", Text::from("0")),
            ("PIP_DISABLE_PIP_VERSION_CHECK", Text::from("1")),
        ];
        for (name, variable) in HOMES {
            let place = home_of(name, variable).filter(|place| place.is_dir());
            variables.extend(place.map(|place| (*variable, Text::from(place.into_os_string()))));
        }
        Ok(variables)
    }

    /// The policy: the system and `ro` may be read, `ws` written, no network. What a backend cannot enforce is accepted:
    /// the ground is thrown away.
    ///
    /// # Errors
    /// When it does not resolve here.
    pub(super) fn policy(&self) -> Result<Policy, LaunchFault> {
        let wrong = |text: String| {
            LaunchFault::new(LaunchStage::Policy, format!("make a policy to measure under: {text}"))
        };
        let workspace = AbsPath::new(self.place("ws")).map_err(|error| wrong(error.to_string()))?;
        let mut file = PolicyFile::builtin("workspace-write").unwrap_or_default();
        file.filesystem.read = Some(self.readable());
        file.enforcement.accept_missing = Effect::ALL.to_vec();
        let request = Request {
            layers: vec![Written { file, base: workspace.clone(), source: Source::BuiltIn }],
            workspaces: vec![workspace.clone()],
            workspaces_named: true,
            cwd: workspace,
            own_directories: Vec::new(),
            own_files: Vec::new(),
        };
        let mut policy = resolve(&request, &HostView::here()).map_err(|error| wrong(error.to_string()))?;
        let variables = self.variables().map_err(|error| wrong(error.to_string()))?;
        policy.env.set.extend(variables.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Ok(policy)
    }

    fn readable(&self) -> Vec<Text> {
        let own = HOMES.iter().filter_map(|(name, variable)| home_of(name, variable));
        let places = SYSTEM.iter().map(PathBuf::from).chain(own).chain(searched()).chain([self.place("ro")]);
        places.filter(|place| place.exists()).map(|place| Text::from(place.into_os_string())).collect()
    }
}

/// The directories of the search path, and what lies beside each: a tool's `bin` has its `lib` there.
fn searched() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let beside = |place: &PathBuf| place.parent().map(Path::to_owned);
    let places: Vec<PathBuf> = std::env::split_paths(&path).filter(|place| place.is_absolute()).collect();
    let around = places
        .iter()
        .filter_map(beside)
        .filter(|place| place != Path::new("/") && Some(place) != home.as_ref());
    around.chain(places.iter().cloned()).collect()
}

/// Where a tool lives: by its variable, or else in the home directory.
fn home_of(name: &str, variable: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    named.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(name)))
}

fn quiet(program: &str) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl Drop for Ground {
    /// Nothing more can be done where this fails.
    fn drop(&mut self) {
        let _ = self.outside.kill();
        let _ = self.outside.wait();
    }
}
