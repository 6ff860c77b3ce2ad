//! The session of a connection, and the questions of its runs.

use std::sync::Arc;
use std::time::Duration;

use confine_core::approval::{ApprovalOutcome, ApprovalPolicy, ApprovalRequestId, By, DEADLINE, RefusalKind};
use confine_core::escalate::Proposal;
use confine_core::protocol::{Approvals as Wish, Decided as Told, Greeting, Name, ToClient};
use confine_core::report::Refusal;
use confine_core::{LaunchFault, LaunchStage};
use confine_runner::approvals::{Approvals, ApprovalsError, Asked, Pass, Turn, session_named};
use confine_runner::places::Places;

use super::channel::Voice;
use super::front::Front;
use crate::audit::SESSION;

/// The longest time that an answer may take.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// So many questions a client has at once.
const AT_ONCE: usize = 64;

/// Who is asked on a connection. Where the client answers nothing, there is no approver at all.
pub(super) struct Desk {
    approvals: Approvals,
    front: Arc<Front>,
    is_kept: bool,
}

/// What came of a question.
pub(super) enum Answered {
    /// Yes, to be used right before the start.
    Yes(ApprovalOutcome, Pass, Box<Asked>),
    /// No.
    No(ApprovalOutcome, Refusal),
}

impl Desk {
    /// As the client wishes. Blocks on the disk where it wants to be asked.
    pub(super) fn open(greeting: &Greeting, voice: Voice) -> Result<Self, LaunchFault> {
        let limit = greeting.deadline_ms.map_or(DEADLINE, Duration::from_millis).min(LONGEST);
        let front = Front::new(voice, u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        if greeting.approvals == Wish::Never {
            let approvals = Approvals::ephemeral(ApprovalPolicy::Never);
            return Ok(Self { approvals, front, is_kept: false });
        }
        let session = session_named(std::env::var_os(SESSION)).map_err(|error| unusable(&error))?;
        let builder = Approvals::builder(ApprovalPolicy::Ask).limit(limit).at_once(AT_ONCE);
        let approvals = builder.open(&Places::here(), &session).map_err(|error| unusable(&error))?;
        approvals.approver(front.clone());
        Ok(Self { approvals, front, is_kept: true })
    }

    /// The session, where it is kept.
    pub(super) fn session(&self) -> Option<String> {
        self.is_kept.then(|| self.approvals.session().to_string())
    }

    /// Whether the client wants to be asked after a denial.
    pub(super) fn asks(&self) -> bool {
        self.is_kept
    }

    /// Whether anybody is asked.
    pub(super) fn wish(&self) -> Wish {
        match self.approvals.effective().1 {
            ApprovalPolicy::Ask => Wish::Ask,
            ApprovalPolicy::Never => Wish::Never,
        }
    }

    /// The session.
    pub(super) fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Whether the client ever had that question.
    pub(super) fn knew(&self, id: &ApprovalRequestId) -> bool {
        self.front.knew(id)
    }

    /// Opens a turn.
    pub(super) async fn turn(&self) -> Result<Turn, LaunchFault> {
        self.approvals.turn().await.map_err(|error| unusable(&error))
    }

    /// Whoever answers garbage has not said yes, and does not get another try: ends every question of the client.
    pub(super) async fn distrust(&self, reason: &str) {
        for id in self.front.open() {
            // What is decided meanwhile stays decided.
            let _ = self.approvals.fail(&id, reason).await;
        }
    }

    /// Asks, until `stop`.
    pub(super) async fn ask(
        &self,
        question: Question<'_>,
        voice: &Voice,
        stop: impl Future<Output = ()>,
    ) -> Answered {
        let Question { run, turn, proposal, asked } = question;
        let expected = self.front.expect(run, turn.id(), &proposal.subject);
        let decided = tokio::select! {
            biased;
            decided = self.approvals.request(turn, &asked) => Some(decided),
            () = stop => None,
        };
        let answered = match decided {
            None => Answered::no(ApprovalOutcome::Cancelled, By::Service),
            Some(Err(error)) => {
                Answered::no(ApprovalOutcome::Unavailable { reason: error.to_string() }, By::Service)
            }
            Some(Ok(decided)) => match decided.pass {
                Some(pass) => Answered::Yes(decided.outcome, pass, Box::new(asked)),
                None => Answered::no(decided.outcome, decided.by),
            },
        };
        if let Some(id) = expected.asked() {
            let told = Told { approval: id.to_string(), run: run.clone(), outcome: answered.outcome() };
            // The client may be gone.
            let _ = voice.say(&ToClient::ApprovalDecided(told)).await;
        }
        answered
    }
}

/// What is asked, for which run, in which turn.
pub(super) struct Question<'a> {
    pub(super) run: &'a Name,
    pub(super) turn: &'a Turn,
    pub(super) proposal: &'a Proposal,
    pub(super) asked: Asked,
}

impl Answered {
    /// No, by `by`.
    pub(super) fn no(outcome: ApprovalOutcome, by: By) -> Self {
        let kind = outcome.refusal().unwrap_or(RefusalKind::Unavailable);
        let reason = outcome.reason().to_owned();
        Self::No(outcome, Refusal { by, outcome: kind, rule: None, reason })
    }

    fn outcome(&self) -> serde_json::Value {
        let (Self::Yes(outcome, ..) | Self::No(outcome, _)) = self;
        serde_json::to_value(outcome).unwrap_or_default()
    }
}

fn unusable(error: &ApprovalsError) -> LaunchFault {
    let help = error.help();
    LaunchFault { help: Some(help), ..LaunchFault::new(LaunchStage::Usage, format!("ask anybody: {error}")) }
}
