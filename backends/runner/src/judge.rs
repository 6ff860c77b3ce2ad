//! What a failure was about, from what the runner knows: the policy, the backend, the output that was kept, and the host's
//! permissions.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use confine_core::backend::Payload;
use confine_core::classify::{Incident, Judgement, Sandbox, Witness, classify};
use confine_core::denial::Dialect;
use confine_core::report::Output;
use confine_core::{AbsPath, BackendId, Layer, Outcome, Policy, Probe, Text, Verdict};

use crate::confine::{Confine, Shared};
use crate::fault;
pub use crate::permissions::HostPermissions;

/// How a program ended that somebody else spawned, and what it said. Output of more than a few MiB is better cut to its
/// head and tail.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// How.
    pub end: End,
    /// Whether a record tells that the launcher started the program, as bwrap's `--json-status-fd` does with an
    /// `exit-code`. Without one, nothing is more than likely.
    pub witness: Witness,
    /// Standard output.
    pub stdout: &'a [u8],
    /// Standard error.
    pub stderr: &'a [u8],
}

/// The status of a process that was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited.
    Exited(u8),
    /// A signal ended it.
    Signaled(i32),
}

impl Confine {
    /// The ordinary permissions of the caller's own user on this host.
    pub fn permissions(&self) -> HostPermissions {
        permissions(self.probe())
    }
}

/// What a run is judged by. Of a passing run it does nothing.
#[derive(Clone)]
pub(crate) struct Judge {
    shared: Arc<Shared>,
    policy: Arc<Policy>,
    witness: Witness,
}

/// What a run was.
pub(crate) struct Case<'a> {
    pub(crate) backend: &'a BackendId,
    pub(crate) layers: &'a [Layer],
    pub(crate) command: &'a [Text],
    pub(crate) cwd: Option<&'a AbsPath>,
}

impl Judge {
    /// Records are about the program only where the stage runs it; else they are about the wrapper.
    pub(crate) fn new(shared: Arc<Shared>, policy: &Policy, payload: Payload) -> Self {
        let witness = match payload {
            Payload::Stage => Witness::Record,
            Payload::Command => Witness::ExitStatus,
        };
        Self { shared, policy: Arc::new(policy.clone()), witness }
    }

    /// Judges a run by its records and what was kept of its output; `None` where it passed or never began.
    pub(crate) fn run(
        &self,
        case: &Case<'_>,
        outcome: &Outcome,
        output: Option<&Output>,
    ) -> Option<Judgement> {
        if matches!(outcome.verdict(), Verdict::Passed | Verdict::Refused | Verdict::LauncherFailed) {
            return None;
        }
        let bytes = |stream: fn(&Output) -> &Text| {
            output.map_or(&[][..], |output| stream(output).as_os_str().as_bytes())
        };
        let stdout = bytes(|output| &output.stdout.text);
        let stderr = bytes(|output| &output.stderr.text);
        Some(judge(&self.shared, &self.policy, case, outcome, self.witness, [stdout, stderr]))
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("policy", &self.policy.id).finish_non_exhaustive()
    }
}

/// Judges what somebody else spawned.
pub(crate) fn ended(shared: &Shared, policy: &Policy, case: &Case<'_>, ended: &Ended<'_>) -> Judgement {
    let outcome = match ended.end {
        End::Exited(code) => Outcome::Exited { code },
        End::Signaled(signal) => Outcome::Signaled { signal, core: false },
    };
    let mut judgement = judge(shared, policy, case, &outcome, ended.witness, [ended.stdout, ended.stderr]);
    if judgement.launch.is_some() {
        // The same words, with the stage and the remedy.
        let words = String::from_utf8_lossy(ended.stderr);
        let line = launcher_line(shared, case.backend, ended).unwrap_or(&words);
        judgement.launch = Some(fault::of_wrapper(line, None));
    }
    judgement
}

fn launcher_line<'a>(shared: &Shared, backend: &BackendId, ended: &Ended<'a>) -> Option<&'a str> {
    let End::Exited(code) = ended.end else { return None };
    let line = dialect(shared, backend)?.launcher_failure(code, ended.stderr)?;
    std::str::from_utf8(line).ok()
}

fn judge(
    shared: &Shared,
    policy: &Policy,
    case: &Case<'_>,
    outcome: &Outcome,
    witness: Witness,
    [stdout, stderr]: [&[u8]; 2],
) -> Judgement {
    let governs = shared.registry.by_id(case.backend).map(|backend| backend.governs(&shared.probe));
    let sandbox = governs.as_ref().map(|governs| Sandbox { policy, layers: case.layers, governs });
    let incident = Incident {
        outcome,
        witness,
        sandbox,
        dialect: dialect(shared, case.backend),
        cwd: case.cwd,
        command: case.command,
        stdout,
        stderr,
    };
    classify(&incident, &permissions(&shared.probe))
}

fn dialect<'a>(shared: &'a Shared, backend: &BackendId) -> Option<&'a Dialect> {
    shared.registry.by_id(backend)?.dialect()
}

/// The permissions of the caller's own user on this host.
fn permissions(probe: &Probe) -> HostPermissions {
    HostPermissions::here(probe.user_namespaces.is_ok())
}

/// A command's words as reports have them.
pub(crate) fn texts(words: &[OsString]) -> Vec<Text> {
    words.iter().map(|word| Text::from(word.as_os_str())).collect()
}
