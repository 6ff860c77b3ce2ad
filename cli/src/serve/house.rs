//! What every connection shares: the facts of the host, found once, and the socket.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Mutex, OnceLock, PoisonError};

use confine_core::escalate::Streak;
use confine_core::protocol::{Launch, Question};
use confine_core::{AbsPath, Effect, LaunchFault, Policy, Text, Verdict};
use confine_runner::{Command, Confine};
use serde_json::Value;

use super::socket;
use crate::fault;
use crate::request::{self, Resolved, Terms};

/// The backend of a message without one.
const AUTO: &str = "auto";
/// What of each stream a report keeps where the client says nothing, and at most, in bytes.
const KEPT: u64 = 64 * 1024;
const MOST_KEPT: u64 = 1024 * 1024;

/// Shared by every connection.
pub(super) struct House {
    confine: Confine,
    socket: Option<AbsPath>,
    /// The server's own environment, as it was at the start.
    environment: OnceLock<Vec<(OsString, OsString)>>,
    streak: Mutex<Streak>,
}

/// What a message says about policy and place.
#[derive(Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) command: &'a [Text],
    cwd: &'a AbsPath,
    workspaces: &'a [AbsPath],
    policy: Option<&'a Text>,
    settings: Option<&'a Value>,
    backend: &'a str,
}

impl<'a> From<&'a Launch> for Wish<'a> {
    fn from(launch: &'a Launch) -> Self {
        Self {
            command: &launch.command,
            cwd: &launch.cwd,
            workspaces: &launch.workspaces,
            policy: launch.policy.as_ref(),
            settings: launch.settings.as_ref(),
            backend: launch.backend.as_deref().unwrap_or(AUTO),
        }
    }
}

impl<'a> From<&'a Question> for Wish<'a> {
    fn from(question: &'a Question) -> Self {
        Self {
            command: &question.command,
            cwd: &question.cwd,
            workspaces: &question.workspaces,
            policy: question.policy.as_ref(),
            settings: question.settings.as_ref(),
            backend: question.backend.as_deref().unwrap_or(AUTO),
        }
    }
}

impl House {
    /// Looks at the host.
    pub(super) fn new(socket: Option<AbsPath>) -> Result<Self, LaunchFault> {
        Ok(Self {
            confine: request::resident()?,
            socket,
            environment: OnceLock::new(),
            streak: Mutex::default(),
        })
    }

    /// The facts.
    pub(super) fn confine(&self) -> &Confine {
        &self.confine
    }

    /// The policy that a message asks for. The socket of this service is no program's to reach.
    pub(super) fn resolve(&self, wish: &Wish<'_>) -> Result<Resolved, LaunchFault> {
        let own_files: Vec<AbsPath> = self.socket.iter().cloned().collect();
        let Wish { cwd, workspaces, policy, settings, .. } = *wish;
        let terms = Terms { cwd, workspaces, policy, settings, own_files: &own_files };
        let resolved = terms.resolve()?;
        if let Some(path) = &self.socket {
            socket::outside(path, &resolved.policy)?;
        }
        Ok(resolved)
    }

    /// The command, confined as the message wishes.
    pub(super) fn command(&self, wish: &Wish<'_>, resolved: &Resolved) -> Result<Command, LaunchFault> {
        self.command_under(wish, resolved, &resolved.policy)
    }

    /// Likewise, under another policy.
    fn command_under(
        &self,
        wish: &Wish<'_>,
        resolved: &Resolved,
        policy: &Policy,
    ) -> Result<Command, LaunchFault> {
        let is_ours = wish.backend == AUTO
            || self.confine.registry().iter().any(|one| one.id().as_str() == wish.backend);
        let confine =
            if is_ours { self.confine.clone() } else { request::detect(wish.backend, &resolved.policy)? };
        let words = wish.command.iter().map(|word| word.as_os_str().to_owned());
        let command = confine.command(words).cwd(resolved.cwd.clone()).policy(policy);
        Ok(match request::backend(wish.backend, &confine)? {
            Some(backend) => command.backend(backend),
            None => command,
        })
    }

    /// The command of a run under `policy`, with its environment. Where it could reach the socket, there is none.
    pub(super) fn command_of(
        &self,
        launch: &Launch,
        resolved: &Resolved,
        policy: &Policy,
    ) -> Result<Command, LaunchFault> {
        let command = self.command_under(&Wish::from(launch), resolved, policy)?;
        if let Some(path) = &self.socket {
            socket::outside(path, policy)?;
            let missing = command.confined().map_err(|refused| refused.fault())?.missing;
            if missing.iter().any(|loss| loss.effect == Effect::NetUnixPath) {
                return Err(reachable());
            }
        }
        let environment = self.environment(launch.environment.as_ref())?;
        Ok(command.environment(environment).max_output(launch.max_output.unwrap_or(KEPT).min(MOST_KEPT)))
    }

    /// Takes note of how a run ended, and says once that the sandbox cannot be set up any more.
    pub(super) fn note(&self, verdict: Verdict) {
        let repeated = self.streak.lock().unwrap_or_else(PoisonError::into_inner).on(verdict);
        if let Some(repeated) = repeated {
            fault::line(&repeated.to_string());
        }
    }

    /// The environment of a run: what the client says, or the server's own.
    pub(super) fn environment(
        &self,
        said: Option<&BTreeMap<String, Text>>,
    ) -> Result<Vec<(OsString, OsString)>, LaunchFault> {
        let Some(said) = said else {
            return Ok(self.environment.get_or_init(|| std::env::vars_os().collect()).clone());
        };
        let variable = |(name, value): (&String, &Text)| {
            let nul = name.contains('\0') || value.as_os_str().as_encoded_bytes().contains(&0);
            if name.is_empty() || name.contains('=') || nul {
                let text = format!("set the variable `{}`: it is none", Text::from(name.as_str()));
                return Err(fault::usage(text, "a name has no `=`, and nothing holds a NUL"));
            }
            Ok((OsString::from(name), value.as_os_str().to_owned()))
        };
        said.iter().map(variable).collect()
    }
}

/// Whoever reaches the socket of this service runs what it likes under the policy that it likes.
fn reachable() -> LaunchFault {
    fault::usage(
        "run it without `net-unix-path`: the program could reach the socket of this service",
        "use a backend that enforces it, or `confine serve --stdio`",
    )
}
