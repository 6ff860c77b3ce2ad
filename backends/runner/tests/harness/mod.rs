//! A workspace, a policy, a [`Confine`] with the stage under test, and the world to look at.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{Policy, PolicyFile, Source};
use confine_core::report::Stream;
use confine_core::{AbsPath, BackendId, Effect, Outcome, Report};
use confine_runner::view::HostView;
use confine_runner::{Command, Confine, Event, Run};
use tempfile::TempDir;

pub(crate) const BACKENDS: [&str; 2] = ["bwrap", "landlock"];

/// One run's surroundings.
pub(crate) struct Scene {
    pub(crate) workspace: TempDir,
    /// Where the program may not write.
    pub(crate) outside: TempDir,
    pub(crate) policy: Policy,
    pub(crate) confine: Confine,
    pub(crate) backend: BackendId,
}

/// The stage under test: beside the test, or where `CONFINE_TEST_BIN` says.
pub(crate) fn stage() -> PathBuf {
    let target = || env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_owned();
    let stage = env::var_os("CONFINE_TEST_BIN").map_or_else(target, PathBuf::from).join("confine-stage");
    assert!(stage.is_file(), "`{}` is missing: `cargo build -p confine-stage` makes it", stage.display());
    stage
}

/// Whether the caller is root; where `CONFINE_REQUIRE` asks for root, anyone else fails.
pub(crate) fn is_root(test: &str) -> bool {
    let is_root = nix::unistd::Uid::effective().is_root();
    let required = env::var("CONFINE_REQUIRE").unwrap_or_default();
    assert!(is_root || !required.split(',').any(|need| need == "root"), "{test} needs root");
    if !is_root {
        eprintln!("SKIP {test}: needs root");
    }
    is_root
}

/// A scene on one backend, with the losses of the weaker one accepted.
pub(crate) fn scene(backend: &str) -> Scene {
    let directory = || tempfile::Builder::new().prefix("confine-run-").tempdir_in("/var/tmp").unwrap();
    let (workspace, outside) = (directory(), directory());
    let root = AbsPath::new(workspace.path()).unwrap();
    let file = PolicyFile::builtin("workspace-write").unwrap();
    let request = Request {
        layers: vec![Written { file, base: root.clone(), source: Source::BuiltIn }],
        workspaces: vec![root.clone()],
        workspaces_named: true,
        cwd: root,
        own_directories: Vec::new(),
        own_files: Vec::new(),
    };
    let mut policy = resolve(&request, &HostView::here()).unwrap();
    if backend == "landlock" {
        policy.accept_missing.extend(Effect::ALL.iter().copied());
    }
    let confine = Confine::builder().stage(stage()).detect().unwrap();
    Scene { workspace, outside, policy, confine, backend: BackendId::new(backend) }
}

impl Scene {
    pub(crate) fn path(&self) -> &Path {
        self.workspace.path()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let cwd = AbsPath::new(self.path()).unwrap();
        self.confine.command(words).cwd(cwd).policy(&self.policy).backend(self.backend.clone())
    }

    pub(crate) fn shell(&self, script: &str) -> Command {
        self.command(&["sh", "-c", script])
    }

    pub(crate) async fn run(&self, words: &[&str]) -> Ended {
        ended(self.command(words).spawn().await.unwrap()).await
    }
}

/// A run that came to its end.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) report: Report,
    pub(crate) started: Option<i32>,
}

/// Reads every event, then the report.
pub(crate) async fn ended(mut run: Run) -> Ended {
    let mut events = run.events();
    let (mut outcome, mut started) = (None, None);
    while let Some(event) = events.next().await {
        match event {
            Event::Exited(exited) => assert!(outcome.replace(exited).is_none(), "one end only"),
            Event::Started { pid } => started = Some(pid),
            _ => {}
        }
    }
    Ended { outcome: outcome.expect("an end"), report: run.wait().await, started }
}

pub(crate) fn stdout(report: &Report) -> String {
    text(&report.output.as_ref().unwrap().stdout)
}

pub(crate) fn stderr(report: &Report) -> String {
    text(&report.output.as_ref().unwrap().stderr)
}

fn text(stream: &Stream) -> String {
    stream.text.as_os_str().to_string_lossy().into_owned()
}

/// A number of seconds that names one test's sleepers, and that no other process sleeps.
pub(crate) fn sleeper() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "{}.{}",
        7_000 + std::process::id() % 1_000,
        100_000 + std::process::id() + NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// How many processes of the host have `word` as an argument.
pub(crate) fn alive(word: &str) -> usize {
    let has = |directory: PathBuf| {
        let line = fs::read(directory.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().filter(|entry| has(entry.path())).count()
}

/// Waits until `count` processes have `word` as an argument.
pub(crate) async fn until_alive(word: &str, count: usize) {
    let until = Instant::now() + Duration::from_secs(20);
    while alive(word) < count {
        assert!(Instant::now() < until, "`{word}` never ran");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until no process has `word` as an argument; the host needs a moment after a lifeline is cut.
pub(crate) async fn until_gone(word: &str) {
    let until = Instant::now() + Duration::from_secs(10);
    while alive(word) > 0 {
        assert!(Instant::now() < until, "`{word}` is still alive");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
