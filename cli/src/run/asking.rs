//! One call's turn in its session, and who is asked in it.

use std::sync::Arc;

use confine_core::approval::{ApprovalPolicy, DEADLINE, SessionId, SessionMode};
use confine_core::escalate::Proposal;
use confine_core::policy::{ApprovalAudit, Mode};
use confine_core::{LaunchFault, Policy};
use confine_runner::approvals::{Approvals, ApprovalsError, Asked, Decided, Keeping, Turn, session_named};
use confine_runner::places::Places;

use super::input::Input;
use super::stop::Stops;
use crate::audit::SESSION;
use crate::fault;
use crate::prompt::{self, Claim, Person};

/// The session of this call: the one that the caller names, or one of its own.
///
/// # Errors
/// A name that is none.
pub(super) fn session() -> Result<SessionId, LaunchFault> {
    session_named(std::env::var_os(SESSION)).map_err(|error| {
        fault::usage(
            format!("use the session of `{SESSION}`: {error}"),
            "name it with 1 to 64 letters, digits, `-` and `_`, or unset the variable",
        )
    })
}

/// A turn, open.
pub(super) struct Asking {
    approvals: Approvals,
    turn: Turn,
    person: Arc<Person>,
    /// From before a question until its end is said.
    claim: Option<Claim>,
}

/// What came of a question.
pub(super) enum Said {
    /// It is decided.
    Decided(Box<(Decided, Asked)>),
    /// confine is told to stop.
    Stopped,
    /// Another question stood on the terminal all the time.
    Taken,
}

impl Asking {
    /// Opens a turn, with the person at the terminal as its approver, where somebody is there. The session itself may have
    /// said that nobody is asked.
    ///
    /// # Errors
    /// What is kept cannot be written, or not be trusted.
    pub(super) async fn begin(session: &SessionId, policy: &Policy) -> Result<Self, ApprovalsError> {
        let builder =
            Approvals::builder(ApprovalPolicy::Ask).mode(mode(policy.mode)).keeping(match policy.audit {
                ApprovalAudit::Required => Keeping::Required,
                ApprovalAudit::BestEffort => Keeping::WherePossible,
            });
        let approvals = builder.open(&Places::here(), session)?;
        let turn = approvals.turn().await?;
        let person = Arc::new(Person::default());
        if prompt::is_there() {
            approvals.approver(person.clone());
        }
        Ok(Self { approvals, turn, person, claim: None })
    }

    /// Asks for what `proposal` says beyond `policy`. The time to answer begins once the terminal is this question's. Where
    /// one was shown, [`Self::says`] is to follow.
    ///
    /// # Errors
    /// What is kept cannot be trusted.
    pub(super) async fn ask(
        &mut self,
        proposal: &Proposal,
        policy: &Policy,
        input: Input,
        stops: &mut Stops,
    ) -> Result<Said, ApprovalsError> {
        if prompt::is_there() {
            self.claim = tokio::select! {
                claim = Claim::wait(DEADLINE) => claim.ok().flatten(),
                _ = stops.next() => return Ok(Said::Stopped),
            };
            if self.claim.is_none() {
                return Ok(Said::Taken);
            }
        }
        let asked =
            input.bind(Asked::proposal(proposal, policy.clone())).map_err(|_| ApprovalsError::Ended)?;
        let decided = tokio::select! {
            decided = self.approvals.request(&self.turn, &asked) => Some(decided),
            _ = stops.next() => None,
        };
        // Whatever has decided: the terminal is as before when anything else happens.
        self.person.is_done().await;
        match decided {
            Some(decided) => Ok(Said::Decided(Box::new((decided?, asked)))),
            None => Ok(Said::Stopped),
        }
    }

    /// Says on the terminal how its question ended, and leaves it to the next one.
    pub(super) fn says(&mut self, how: &str) {
        self.person.ends(how);
        self.claim = None;
    }

    /// Closes the turn. What cannot be written down any more changes nothing: the run is over.
    pub(super) async fn end(self) {
        if let Err(error) = self.turn.close().await {
            fault::line(&format!("the end of the call is not in the session's log: {error}"));
        }
    }
}

const fn mode(mode: Mode) -> SessionMode {
    match mode {
        Mode::ReadOnly => SessionMode::ReadOnly,
        Mode::WorkspaceWrite => SessionMode::WorkspaceWrite,
    }
}
