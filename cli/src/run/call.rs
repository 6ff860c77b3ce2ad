//! One call of `confine run`, as resolved: what each of its runs has in common.

use confine_core::policy::ApprovalDefault;
use confine_core::{AbsPath, LaunchFault, Outcome, Policy};
use confine_runner::{Command, Confine, Stdio, unstarted};

use super::{Ended, terminal};
use crate::arguments::Run;
use crate::request;

/// What is kept of a relayed standard error, head and tail, in bytes.
const KEPT: u64 = 256 * 1024;

/// A call.
pub(super) struct Call<'a> {
    /// As written.
    pub(super) arguments: &'a Run,
    /// The facts and backends.
    pub(super) confine: Confine,
    /// Where the program starts.
    pub(super) cwd: AbsPath,
    /// The policy of the first run.
    pub(super) policy: Policy,
}

impl Call<'_> {
    /// Whether somebody may be asked after a denial.
    pub(super) fn asks(&self) -> bool {
        self.arguments.policy.ask || self.policy.approval == ApprovalDefault::Ask
    }

    /// Whether the command could be confined under a policy, without running it.
    ///
    /// # Errors
    /// A backend that does not exist.
    pub(super) fn trial(
        &self,
    ) -> Result<impl Fn(&Policy) -> Result<(), LaunchFault> + Send + Sync + 'static, LaunchFault> {
        let backend = request::backend(&self.arguments.run.backend, &self.confine)?;
        let (confine, words, cwd) = (self.confine.clone(), self.arguments.words.clone(), self.cwd.clone());
        Ok(move |policy: &Policy| {
            let mut command = confine.command(&words).cwd(cwd.clone()).policy(policy);
            if let Some(backend) = &backend {
                command = command.backend(backend.clone());
            }
            command.confined().map(drop).map_err(|refused| refused.fault())
        })
    }

    /// The command under `policy`, with its streams.
    ///
    /// # Errors
    /// A backend that does not exist.
    pub(super) fn command(&self, policy: &Policy) -> Result<Command, LaunchFault> {
        let (run, json) = (&self.arguments.run, self.arguments.json);
        let mut command = self.confine.command(&self.arguments.words).cwd(self.cwd.clone()).policy(policy);
        if let Some(backend) = request::backend(&run.backend, &self.confine)? {
            command = command.backend(backend);
        }
        // A terminal's output is not kept, so there is nothing to judge.
        let judged = !json && (run.report.is_some() || run.annotate || (self.asks() && !run.tty));
        let kept = if judged { Some(KEPT) } else { run.max_output.map(|size| size.0) };
        if let Some(bytes) = kept {
            command = command.max_output(bytes);
        }
        if run.tty {
            let size = terminal::size();
            return Ok(command.stdin(Stdio::Pty { rows: size.ws_row, columns: size.ws_col }));
        }
        let (stdout, stderr) = match (json, judged) {
            (true, _) => (Stdio::Capture, Stdio::Capture),
            (false, true) => (Stdio::Inherit, Stdio::Tee),
            (false, false) => (Stdio::Inherit, Stdio::Inherit),
        };
        Ok(command.stdin(Stdio::Inherit).stdout(stdout).stderr(stderr))
    }

    /// A run under `policy` that did not start.
    pub(super) fn unstarted(&self, policy: &Policy, fault: LaunchFault) -> Ended {
        let report = unstarted(&self.arguments.words, Some(&self.cwd), Some(policy), fault.clone());
        Ended { report, outcome: Outcome::LauncherFailed(fault) }
    }
}
