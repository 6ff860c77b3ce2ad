//! What is asked about, and what it is bound to.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use confine_core::approval::{Binding, Digest, Execution, RerunRisk, Subject};
use confine_core::escalate::{Grant, Proposal};
use confine_core::policy::Access;
use confine_core::{AbsPath, Policy, Text};

use super::operand;

/// What is asked about. Say the same when the approval is used: it is measured again then, and what differs is refused.
#[derive(Clone, Debug)]
pub struct Asked {
    pub(super) subject: Subject,
    pub(super) justification: Option<String>,
    pub(super) rerun: RerunRisk,
    pub(super) limit: Option<Duration>,
    environment: Option<Vec<(OsString, OsString)>>,
    /// And where in it the command begins to read.
    stdin: Option<(Arc<File>, u64)>,
    under: Under,
    /// With what it would get.
    wider: Option<Arc<Policy>>,
}

/// What an answer is bound to beside what is shown.
#[derive(Clone, Debug)]
enum Under {
    Policy(Arc<Policy>),
    Manifest(Digest),
}

impl Asked {
    /// Whether a command may run at all, under `policy`.
    pub fn command(
        words: impl IntoIterator<Item = impl Into<OsString>>,
        cwd: AbsPath,
        policy: impl Into<Arc<Policy>>,
    ) -> Self {
        let argv = words.into_iter().map(|word| Text::from(word.into())).collect();
        Self::of(Subject::Command { argv, cwd }, Under::Policy(policy.into()))
    }

    /// Whether a command gets what an escalation proposes, beyond `policy`, which is the one in force.
    pub fn proposal(proposal: &Proposal, policy: impl Into<Arc<Policy>>) -> Self {
        Self {
            justification: proposal.justification.clone(),
            rerun: proposal.rerun.clone(),
            wider: Some(Arc::new((*proposal.policy).clone())),
            ..Self::of(proposal.subject.clone(), Under::Policy(policy.into()))
        }
    }

    /// Whether a connection is made, under `policy`.
    pub fn connect(host: impl Into<String>, port: u16, policy: impl Into<Arc<Policy>>) -> Self {
        Self::of(Subject::Connect { host: host.into(), port }, Under::Policy(policy.into()))
    }

    /// Whether a tool of the harness is called. `manifest` is the digest of what says what the tool is.
    pub fn tool(
        name: impl Into<String>,
        input: serde_json::Value,
        read_only: bool,
        manifest: Digest,
    ) -> Self {
        Self::of(Subject::Tool { name: name.into(), input, read_only }, Under::Manifest(manifest))
    }

    fn of(subject: Subject, under: Under) -> Self {
        Self {
            subject,
            justification: None,
            rerun: RerunRisk::NotStarted,
            limit: None,
            environment: None,
            stdin: None,
            under,
            wider: None,
        }
    }

    /// Why it is wanted: at most 1,000 characters.
    #[must_use]
    pub fn justification(self, text: impl Into<String>) -> Self {
        Self { justification: Some(text.into()), ..self }
    }

    /// The caller's environment, as for [`Command::environment`](crate::Command::environment); without it, the process's.
    #[must_use]
    pub fn environment(self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { environment: Some(variables.into_iter().collect()), ..self }
    }

    /// What the command reads from its standard input, from `offset` on, in bytes. Only a regular file can be measured:
    /// what comes through anything else is bound to nothing.
    ///
    /// # Errors
    /// As dup(2).
    pub fn stdin(self, stdin: impl AsFd, offset: u64) -> io::Result<Self> {
        let file = File::from(stdin.as_fd().try_clone_to_owned()?);
        Ok(Self { stdin: Some((Arc::new(file), offset)), ..self })
    }

    /// How long an answer may take, instead of what the session says.
    #[must_use]
    pub fn limit(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// What happened before.
    #[must_use]
    pub fn rerun(self, rerun: RerunRisk) -> Self {
        Self { rerun, ..self }
    }

    /// Measures what would run: reads the program and the files that the words name.
    pub(super) fn measure(&self) -> Binding {
        match (&self.subject, &self.under) {
            (Subject::Command { argv, cwd }, Under::Policy(policy)) => {
                Binding::execution(&self.execution(argv, cwd, None, policy))
            }
            (Subject::Escalation { argv, cwd, grant, .. }, Under::Policy(policy)) => {
                Binding::execution(&self.execution(argv, cwd, Some(grant.clone()), policy))
            }
            (Subject::Connect { host, port }, Under::Policy(policy)) => {
                Binding::connect(host, *port, &policy.id)
            }
            (Subject::Tool { name, input, .. }, Under::Manifest(manifest)) => {
                Binding::tool(name, manifest, input)
            }
            // No constructor makes these; the desk refuses what is bound to nothing.
            (_, Under::Policy(_) | Under::Manifest(_)) => {
                Binding::tool("", &Digest::of(b""), &serde_json::Value::Null)
            }
        }
    }

    fn execution(&self, argv: &[Text], cwd: &AbsPath, grant: Option<Grant>, policy: &Policy) -> Execution {
        let caller = self.environment.clone().unwrap_or_else(|| std::env::vars_os().collect());
        let environment = policy.env.apply(caller).variables;
        let words: Vec<OsString> = argv.iter().map(|word| word.as_os_str().to_owned()).collect();
        let path = environment.iter().find(|(name, _)| name.as_bytes() == b"PATH");
        let path = path.map(|(_, value)| value.as_os_str());
        let (program, operands) = match words.split_first() {
            Some((program, rest)) => (operand::program(program, path, cwd, policy), rest),
            None => (None, &[][..]),
        };
        let (files, commands) = operand::operands(operands, path, cwd, policy);
        let stdin = self.stdin.as_ref().and_then(|(file, offset)| operand::input(file, *offset));
        let environment =
            environment.into_iter().map(|(name, value)| (Text::from(name), Text::from(value))).collect();
        Execution {
            argv: argv.to_vec(),
            cwd: cwd.clone(),
            environment,
            program,
            files,
            commands,
            stdin,
            policy: policy.id.clone(),
            grant,
        }
    }

    /// Whether what would run could write `directory`: under the policy in force, or with what it would get.
    pub(super) fn exposes(&self, directory: &Path) -> bool {
        let Ok(directory) = AbsPath::new(directory) else { return true };
        let policies = match &self.under {
            Under::Policy(policy) => [Some(policy), self.wider.as_ref()],
            Under::Manifest(_) => [None, None],
        };
        policies.into_iter().flatten().any(|policy| writes(policy, &directory))
    }
}

/// Whether `policy` grants writing it, or anything in it.
fn writes(policy: &Policy, directory: &AbsPath) -> bool {
    let below = policy.fs.entries.iter().filter(|(path, _)| path.is_within(directory));
    policy.fs.access_at(directory) == Access::Write
        || below.into_iter().any(|(_, entry)| entry.access == Access::Write)
        || policy.fs.precreate.iter().any(|path| path.is_within(directory))
}
