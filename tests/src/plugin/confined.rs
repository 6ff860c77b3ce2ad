//! A helper in the sandbox that its manifest makes.

use std::os::fd::OwnedFd;
use std::path::Path;

use confine_core::egress::Manifest;
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{Policy, PolicyFile, Source};
use confine_core::report::OutcomeNote;
use confine_core::{BackendId, Report, Text};
use confine_runner::view::HostView;
use confine_runner::{Run, Stdio};
use tokio::runtime::Runtime;

use crate::backend::LANDLOCK_LOSSES;
use crate::{Backend, installation, library};

pub(super) struct Confined {
    runtime: Runtime,
    run: Run,
}

impl Confined {
    pub(super) fn start(manifest: &[u8], backend: Backend, control: OwnedFd) -> Self {
        let program = installation::plugin_host();
        let policy = policy(manifest, backend, &program);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let run = runtime.block_on(async {
            let confine = library::builder().detect().expect("the host");
            let id = BackendId::new(backend.id());
            let command = confine.command([program.as_os_str()]).policy(&policy).backend(id);
            let command = command.cwd(library::absolute(Path::new("/"))).environment([]);
            let command = command.stdin(Stdio::Fd(control)).stdout(Stdio::Null).stderr(Stdio::Capture);
            command.spawn().await.expect("the helper starts")
        });
        Self { runtime, run }
    }

    pub(super) fn pid(&self) -> u32 {
        self.run.pid()
    }

    pub(super) fn ended(self) -> (Option<i32>, String) {
        let report = self.runtime.block_on(self.run.wait());
        let words = format!("{:?} {:?}", report.outcome, report.output.as_ref().map(|output| &output.stderr));
        (code(&report), words)
    }
}

fn code(report: &Report) -> Option<i32> {
    match &report.outcome {
        OutcomeNote::Exited { code } => Some(i32::from(*code)),
        _ => None,
    }
}

fn policy(manifest: &[u8], backend: Backend, program: &Path) -> Policy {
    let manifest = Manifest::parse(manifest).expect("a manifest");
    let mut file = PolicyFile::from(&manifest);
    file.filesystem.read.get_or_insert_default().push(Text::from(program.as_os_str()));
    let root = library::absolute(Path::new("/"));
    let request = Request {
        layers: vec![Written { file, base: root.clone(), source: Source::BuiltIn }],
        workspaces: Vec::new(),
        workspaces_named: true,
        cwd: root,
        own_directories: Vec::new(),
        own_files: Vec::new(),
    };
    let mut policy = resolve(&request, &HostView::here()).expect("the policy resolves");
    if backend == Backend::Landlock {
        policy.accept_missing.extend(LANDLOCK_LOSSES.parse::<confine_core::Effects>().expect("effects"));
    }
    policy
}
