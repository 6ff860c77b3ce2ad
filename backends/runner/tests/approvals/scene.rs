//! A workspace, a policy, and places of confine's own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use confine_core::approval::{ApprovalPolicy, SessionId};
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{Policy, PolicyFile, Source};
use confine_core::{AbsPath, audit::Event};
use confine_runner::approvals::{Approvals, Asked, SessionLog};
use confine_runner::places::Places;
use confine_runner::view::HostView;
use tempfile::TempDir;

pub(crate) struct Scene {
    pub(crate) home: TempDir,
    pub(crate) workspace: TempDir,
    pub(crate) policy: Arc<Policy>,
}

pub(crate) fn scene() -> Scene {
    let directory = || tempfile::Builder::new().prefix("confine-ask-").tempdir_in("/var/tmp").unwrap();
    let (home, workspace) = (directory(), directory());
    let policy = policy(workspace.path(), "");
    Scene { home, workspace, policy }
}

/// `workspace-write` on a workspace, with `more` on top.
pub(crate) fn policy(workspace: &Path, more: &str) -> Arc<Policy> {
    Arc::new(resolve(&request(workspace, more), &HostView::here()).unwrap())
}

/// The same, to be resolved.
pub(crate) fn request(workspace: &Path, more: &str) -> Request {
    let root = AbsPath::new(workspace).unwrap();
    let written = |file, source| Written { file, base: root.clone(), source };
    let builtin = written(PolicyFile::builtin("workspace-write").unwrap(), Source::BuiltIn);
    let syntax = confine_core::policy::file::Syntax::Toml;
    let more = PolicyFile::parse(&format!("version = 1\n{more}"), syntax).unwrap();
    Request {
        layers: vec![builtin, written(more, Source::CommandLine)],
        workspaces: vec![root.clone()],
        workspaces_named: true,
        cwd: root.clone(),
        own_directories: Vec::new(),
        own_files: Vec::new(),
    }
}

pub(crate) fn places(home: &Path) -> Places {
    let home = home.as_os_str().to_owned();
    Places::with(|name| (name == "HOME").then(|| home.clone()))
}

pub(crate) fn session() -> SessionId {
    SessionId::new("test").unwrap()
}

impl Scene {
    pub(crate) fn places(&self) -> Places {
        places(self.home.path())
    }

    pub(crate) fn open(&self) -> Approvals {
        Approvals::open(&self.places(), &session(), ApprovalPolicy::Ask).unwrap()
    }

    /// Asks about `words` in the workspace, with a small environment.
    pub(crate) fn command(&self, words: &[&str]) -> Asked {
        let cwd = AbsPath::new(self.workspace.path()).unwrap();
        Asked::command(words, cwd, self.policy.clone()).environment(environment(&[]))
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.workspace.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.home.path().join(".local/state/confine").join(name)
    }

    /// What the log says, which must be whole.
    pub(crate) fn events(&self) -> Vec<Event> {
        let log = SessionLog::read(&self.places(), &session()).unwrap().expect("a log");
        assert!(log.is_whole(), "{:?} {:?}", log.faults, log.broken);
        log.entries.into_iter().map(|entry| entry.event).collect()
    }

    /// The kinds of the events of questions.
    pub(crate) fn story(&self) -> String {
        let kinds = self.events().into_iter().filter_map(|event| match event {
            Event::Asked { .. } => Some("asked"),
            Event::Decided { .. } => Some("decided"),
            Event::Used { .. } => Some("used"),
            Event::Ignored { .. } => Some("ignored"),
            _ => None,
        });
        kinds.collect::<Vec<_>>().join(" ")
    }
}

pub(crate) fn environment(more: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    let base = [("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere")];
    base.iter().chain(more).map(|(name, value)| (name.into(), value.into())).collect()
}
