//! Asking whether something may run, and keeping what was answered.
//!
//! [`Approvals`] is one session: it puts the core's [`Desk`] on a clock, a disk and a chain of
//! approvers. A question is measured on the host, written down, put to the approvers and decided; what was decided is on the
//! disk before anybody acts on it. A yes is used up right before the start, with everything measured again. What confine keeps
//! lies in `$XDG_STATE_HOME/confine`: `sessions/NAME.jsonl` (events) with `NAME.head`, and `approvals.toml` (what was allowed
//! for good). None of it is a boundary: that is the sandbox.
//!
//! An approver that hangs ends in `TimedOut`; one that panics, or says nothing, in `Unavailable`; an answer that comes twice,
//! late, or for a question that nobody asked, comes to nothing and is written down as that. (A program that is built to abort
//! on a panic aborts.)

mod asked;
mod book;
mod chain;
mod clock;
mod course;
mod error;
mod kept;
mod ledger;
mod memory;
mod operand;
mod preset;
mod seat;
mod session;

use std::ffi::OsString;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use confine_core::approval::{
    Answer, ApprovalOutcome, ApprovalPolicy, ApprovalRequestId, Approver, By, DEADLINE, Desk, Failure,
    Ignored, Permissions, Permit, Preset, Refused, SessionId, SessionMode, TurnId,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::places::{Place, Places};
use crate::stamp;
use book::Book;
use course::{Chain, Shared, locked};
use seat::Seat;

pub use asked::Asked;
pub use book::Keeping;
pub use error::ApprovalsError;
pub use kept::KeptError;
pub use ledger::LedgerError;
pub use preset::{PresetError, Presets};
pub use session::{Session, SessionLog, sessions};

/// The directory of sessions, in the state directory.
const SESSIONS: &str = "sessions";

/// One session. Cheap to clone; every clone is the same session.
#[derive(Clone, Debug)]
pub struct Approvals {
    shared: Arc<Shared>,
}

/// Makes an [`Approvals`].
#[derive(Clone, Debug)]
pub struct Builder {
    policy: ApprovalPolicy,
    mode: SessionMode,
    limit: Duration,
    at_once: usize,
    keeping: Keeping,
}

/// An open turn. Dropping it closes it: what waits in it is cancelled, and what was allowed and not used is taken back.
#[derive(Debug)]
pub struct Turn {
    shared: Arc<Shared>,
    id: TurnId,
    open: bool,
}

/// How a question ended.
#[derive(Debug)]
pub struct Decided {
    /// Which question.
    pub id: ApprovalRequestId,
    /// How.
    pub outcome: ApprovalOutcome,
    /// By whom.
    pub by: By,
    /// What lets it start, where it was allowed.
    pub pass: Option<Pass>,
}

/// A yes that was not used. It is good once, for what was asked about, in its turn.
#[derive(Debug)]
pub struct Pass {
    shared: Arc<Shared>,
    id: ApprovalRequestId,
}

impl Approvals {
    /// With choices. `policy` says whether anybody is asked where the session itself says nothing; there is no default.
    pub fn builder(policy: ApprovalPolicy) -> Builder {
        let (mode, limit) = (SessionMode::default(), DEADLINE);
        Builder { policy, mode, limit, at_once: 1, keeping: Keeping::Required }
    }

    /// A session whose events and rules are forgotten with it.
    pub fn ephemeral(policy: ApprovalPolicy) -> Self {
        Self::builder(policy).ephemeral()
    }

    /// A session kept in the state directory, begun or gone on with. Blocks on the disk.
    ///
    /// # Errors
    /// See [`Builder::open`].
    pub fn open(
        places: &Places,
        session: &SessionId,
        policy: ApprovalPolicy,
    ) -> Result<Self, ApprovalsError> {
        Self::builder(policy).open(places, session)
    }

    /// Adds an approver at the end of the chain: it is asked where those before had no answer.
    pub fn approver(&self, approver: Arc<dyn Approver>) {
        locked(&self.shared.approvers).0.push(approver);
    }

    /// Which session.
    pub fn session(&self) -> SessionId {
        locked(&self.shared.seat).desk.session().clone()
    }

    /// The mode and the approval policy in force.
    pub fn effective(&self) -> (SessionMode, ApprovalPolicy) {
        locked(&self.shared.seat).desk.effective()
    }

    /// What the session has set for itself.
    pub fn permissions(&self) -> Permissions {
        locked(&self.shared.seat).desk.permissions().clone()
    }

    /// Opens a turn. Questions are asked inside of one only.
    ///
    /// # Errors
    /// Where it cannot be written down, or what is kept cannot be trusted.
    pub async fn turn(&self) -> Result<Turn, ApprovalsError> {
        let id = TurnId::new(stamp::fresh().map_err(ApprovalsError::Random)?);
        let id = id.map_err(|_| ApprovalsError::Ended)?;
        let opened = id.clone();
        let open = |seat: &mut Seat| {
            seat.change(|desk, now, log| desk.open_turn(opened, now, log).map(|()| Vec::new()))
        };
        self.shared.at_desk(open).await??;
        Ok(Turn { shared: self.shared.clone(), id, open: true })
    }

    /// Asks, and waits for the outcome: at most 60 s unless said otherwise. Questions are put to the approvers in the order of
    /// these calls. Dropping the future cancels the question.
    ///
    /// # Errors
    /// A call that is wrong, or something kept that cannot be trusted. A log that cannot be written is no error: nothing is
    /// allowed then ([`ApprovalOutcome::Unavailable`]).
    pub async fn request(&self, turn: &Turn, asked: &Asked) -> Result<Decided, ApprovalsError> {
        let runtime = Handle::try_current().map_err(|_| ApprovalsError::Runtime)?;
        let line = self.shared.line.clone().lock_owned().await;
        let (reply, replied) = oneshot::channel();
        runtime.spawn(course::course(self.shared.clone(), line, turn.id.clone(), asked.clone(), reply));
        let (id, outcome, by) = replied.await.unwrap_or(Err(ApprovalsError::Ended))?;
        let pass = Pass { shared: self.shared.clone(), id: id.clone() };
        let pass = outcome.is_allowed().then_some(pass);
        Ok(Decided { id, outcome, by, pass })
    }

    /// An answer that comes another way than by an approver's own. Answers why it came to nothing, where it did: it is late, or
    /// the second, or for a question that the approvers do not have.
    ///
    /// # Errors
    /// Where what is kept cannot be trusted.
    pub async fn answer(
        &self,
        id: &ApprovalRequestId,
        answer: Answer,
    ) -> Result<Option<Ignored>, ApprovalsError> {
        self.shared.answer(id.clone(), answer).await
    }

    /// Whoever was to answer is gone, or answered garbage: the outcome is `Unavailable` with this reason. As for
    /// [`answer`](Self::answer).
    ///
    /// # Errors
    /// Where what is kept cannot be trusted.
    pub async fn fail(
        &self,
        id: &ApprovalRequestId,
        reason: impl Into<String>,
    ) -> Result<Option<Ignored>, ApprovalsError> {
        let (id, failure) = (id.clone(), Failure::Unavailable { reason: reason.into() });
        self.shared.at_desk(move |seat| seat.fail(&id, failure)).await?
    }

    /// Uses a yes by its id, as [`Pass::consume`] does.
    ///
    /// # Errors
    /// As [`Pass::consume`].
    pub async fn consume(&self, id: &ApprovalRequestId, asked: &Asked) -> Result<Permit, Refused> {
        self.shared.consume(id.clone(), asked).await
    }

    /// Takes everything back, for good: what waits is refused, and what was allowed and not used too.
    ///
    /// # Errors
    /// Where it cannot be written down, or what is kept cannot be trusted.
    pub async fn revoke(&self) -> Result<(), ApprovalsError> {
        self.shared.at_desk(|seat| seat.change(|desk, now, log| desk.revoke(now, log))).await?
    }

    /// Chooses a preset for the session.
    ///
    /// # Errors
    /// As [`revoke`](Self::revoke).
    pub async fn choose(&self, preset: Preset) -> Result<(), ApprovalsError> {
        let choose = move |seat: &mut Seat| seat.change(|desk, now, log| desk.choose(&preset, now, log));
        self.shared.at_desk(choose).await?
    }

    /// The same, outside a runtime. Blocks on the disk.
    ///
    /// # Errors
    /// As [`revoke`](Self::revoke).
    pub fn choose_blocking(&self, preset: &Preset) -> Result<(), ApprovalsError> {
        self.shared.step(|seat| seat.change(|desk, now, log| desk.choose(preset, now, log)))
    }
}

impl Builder {
    /// The mode where the session itself says nothing, instead of read-only.
    #[must_use]
    pub fn mode(self, mode: SessionMode) -> Self {
        Self { mode, ..self }
    }

    /// How long an answer may take, instead of 60 s.
    #[must_use]
    pub fn limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// How many questions the approvers get at the same time, instead of one after the other.
    #[must_use]
    pub fn at_once(self, most: usize) -> Self {
        Self { at_once: most.max(1), ..self }
    }

    /// What to do where the log cannot be written, instead of refusing.
    #[must_use]
    pub fn keeping(self, keeping: Keeping) -> Self {
        Self { keeping, ..self }
    }

    /// A session whose events and rules are forgotten with it.
    pub fn ephemeral(self) -> Approvals {
        #[expect(clippy::expect_used, reason = "the name is an id")]
        let session = SessionId::new("ephemeral").expect("invariant: the name is an id");
        self.made(session, Book::blank(), None)
    }

    /// A session kept in the state directory, begun or gone on with. Blocks on the disk.
    ///
    /// # Errors
    /// A directory or file that is not the user's alone; a log that was tampered with. With [`Keeping::Required`] also a log
    /// that cannot be written.
    pub fn open(self, places: &Places, session: &SessionId) -> Result<Approvals, ApprovalsError> {
        let opened = places.make_state().and_then(|state| Ok((state.make_below(SESSIONS)?, state)));
        let (directory, state) = match opened {
            Ok(opened) => opened,
            Err(error) if self.keeping == Keeping::WherePossible => {
                tracing::warn!(%error, "approvals go on without their log");
                return Ok(self.made(session.clone(), Book::blank(), None));
            }
            Err(error) => return Err(error.into()),
        };
        let book = Book::open(&directory, session, self.keeping)?;
        let approvals = self.made(session.clone(), book, Some(state));
        let boot = clock::boot().map_err(ApprovalsError::Random)?;
        let open =
            |seat: &mut Seat| seat.change(|desk, now, log| desk.open(&boot, now, log).map(|()| Vec::new()));
        approvals.shared.step(open)?;
        Ok(approvals)
    }

    fn made(self, session: SessionId, book: Book, state: Option<Place>) -> Approvals {
        let desk = Desk::new(session, (self.mode, self.policy));
        let directory = state.as_ref().map(|state| {
            std::fs::canonicalize(&state.path).unwrap_or_else(|_| state.path.as_path().to_owned())
        });
        let shared = Shared {
            line: Arc::default(),
            seat: Mutex::new(Seat::new(desk, book, state)),
            approvers: Mutex::new(Chain::default()),
            limit: self.limit,
            at_once: self.at_once,
            directory,
        };
        Approvals { shared: Arc::new(shared) }
    }
}

impl Turn {
    /// Which.
    pub fn id(&self) -> &TurnId {
        &self.id
    }

    /// Closes it, and says whether that could be written down.
    ///
    /// # Errors
    /// Where not, or what is kept cannot be trusted.
    pub async fn close(mut self) -> Result<(), ApprovalsError> {
        self.open = false;
        let id = self.id.clone();
        self.shared.at_desk(move |seat| seat.change(|desk, now, log| desk.close_turn(&id, now, log))).await?
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        let (shared, id) = (self.shared.clone(), self.id.clone());
        let close = move || {
            let closed = shared.step(|seat| seat.change(|desk, now, log| desk.close_turn(&id, now, log)));
            if let Err(error) = closed {
                tracing::warn!(%error, "a turn is not closed");
            }
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(close)),
            Err(_) => close(),
        }
    }
}

impl Pass {
    /// Which question.
    pub fn id(&self) -> &ApprovalRequestId {
        &self.id
    }

    /// Uses it, right before the start: everything is measured again, and what is not as it was when it was asked is named. On
    /// the disk before it is answered.
    ///
    /// # Errors
    /// Where anything changed, the turn was closed, the session revoked, the yes used; where it cannot be written down.
    pub async fn consume(self, asked: &Asked) -> Result<Permit, Refused> {
        self.shared.consume(self.id, asked).await
    }
}

/// The session that a variable (`CONFINE_SESSION`) names; a new one where it is not set.
///
/// # Errors
/// A value that is no id; no random numbers.
pub fn session_named(variable: Option<OsString>) -> Result<SessionId, ApprovalsError> {
    session::named(variable)
}
