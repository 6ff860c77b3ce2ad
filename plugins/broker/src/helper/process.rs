//! The process of a helper, confined or not.

use std::os::fd::OwnedFd;
use std::process::Stdio as Plain;

use confine_core::{AbsPath, Policy};
use confine_runner::{Cancel, Confine, Stdio};
use tokio::sync::{oneshot, watch};

use super::{End, StartError};
use crate::spec::{Confinement, Spec};

/// How much of a helper's standard error is kept, in bytes.
const WORDS: u64 = 16 * 1024;

/// What ends it.
pub(super) enum Process {
    Confined(Cancel),
    /// Dropping it does.
    Plain(std::sync::Mutex<Option<oneshot::Sender<()>>>),
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Confined(_) => "Confined",
            Self::Plain(_) => "Plain",
        })
    }
}

type Ended = watch::Receiver<Option<End>>;

impl Process {
    /// Starts it with `control` as its standard input.
    pub(super) async fn spawn(spec: &Spec, control: OwnedFd) -> Result<(Self, Ended), StartError> {
        match &spec.confinement {
            Confinement::Policy(confine, policy) => confined(spec, confine, policy, control).await,
            Confinement::None => plain(spec, control),
        }
    }

    pub(super) fn kill(&self) {
        match self {
            Self::Confined(cancel) => cancel.cancel(None),
            Self::Plain(alive) => drop(alive.lock().unwrap_or_else(|poison| poison.into_inner()).take()),
        }
    }
}

async fn confined(
    spec: &Spec,
    confine: &Confine,
    policy: &Policy,
    control: OwnedFd,
) -> Result<(Process, Ended), StartError> {
    let run = confine
        .command([spec.program.as_os_str()])
        .cwd(AbsPath::root())
        .environment([])
        .policy(policy)
        .stdin(Stdio::Fd(control))
        .stdout(Stdio::Null)
        .stderr(Stdio::Capture)
        .max_output(WORDS)
        .spawn()
        .await
        .map_err(|error| StartError::Spawn(error.to_string()))?;
    let cancel = run.canceller();
    let (tell, ended) = watch::channel(None);
    tokio::spawn(async move {
        let end = End::of(&run.wait().await);
        // Nobody may be left to hear it.
        let _ = tell.send(Some(end));
    });
    Ok((Process::Confined(cancel), ended))
}

fn plain(spec: &Spec, control: OwnedFd) -> Result<(Process, Ended), StartError> {
    tracing::error!(plugin = %spec.manifest.name, "a plugin is loaded without any confinement, as was asked for");
    let mut child = tokio::process::Command::new(&spec.program)
        .env_clear()
        .current_dir("/")
        .stdin(Plain::from(control))
        .stdout(Plain::null())
        .stderr(Plain::null())
        .kill_on_drop(true)
        .spawn()?;
    let (tell, ended) = watch::channel(None);
    let (alive, mut killed) = oneshot::channel();
    tokio::spawn(async move {
        let status = tokio::select! {
            status = child.wait() => status.ok(),
            _ = &mut killed => None,
        };
        if status.is_none() {
            // It may have ended by itself meanwhile.
            let _ = child.kill().await;
        }
        let _ = tell.send(Some(status.map_or(End::Killed, of_status)));
    });
    Ok((Process::Plain(std::sync::Mutex::new(Some(alive))), ended))
}

fn of_status(status: std::process::ExitStatus) -> End {
    use std::os::unix::process::ExitStatusExt as _;
    let words = String::new();
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited { code: u8::try_from(code).unwrap_or(u8::MAX), words },
        (None, Some(signal)) => End::Signaled { signal, words },
        (None, None) => End::Unknown,
    }
}
