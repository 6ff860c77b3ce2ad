//! One question from the asking to the outcome, as a task of the runtime: it goes on where whoever asked is gone, so that
//! what became of it is written down.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use confine_core::approval::{
    Answer, ApprovalOutcome, ApprovalRequest, ApprovalRequestId, Approver, Ask, Binding, By, Failure,
    Ignored, Permit, Refused, RuleId, TurnId,
};
use tokio::runtime::Handle;
use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::asked::Asked;
use super::chain;
use super::error::ApprovalsError;
use super::seat::{Seat, Told};
use crate::stamp;

/// How long reading what would run may take.
const MEASURING: Duration = Duration::from_secs(20);
/// No question waits longer; a clock must be able to count it.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// When to look again at a question whose time seems to be over.
const AGAIN: Duration = Duration::from_millis(50);

/// What every handle of a session shares.
#[derive(Debug)]
pub(super) struct Shared {
    /// Questions are put in the order in which they came.
    pub(super) line: Arc<tokio::sync::Mutex<()>>,
    pub(super) seat: Mutex<Seat>,
    pub(super) approvers: Mutex<Chain>,
    pub(super) limit: Duration,
    pub(super) at_once: usize,
    /// Where approvals are kept, links resolved.
    pub(super) directory: Option<std::path::PathBuf>,
}

/// Whoever may answer, in order.
#[derive(Clone, Default)]
pub(super) struct Chain(pub(super) Vec<Arc<dyn Approver>>);

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} approvers", self.0.len())
    }
}

/// How a question ended.
pub(super) type Ended = (ApprovalRequestId, ApprovalOutcome, By);

/// To whoever asked; closed where that is gone.
pub(super) type Reply = oneshot::Sender<Result<Ended, ApprovalsError>>;

impl Shared {
    /// One step at the desk, on a thread that may block, and then whatever question is next.
    ///
    /// # Errors
    /// `Ended` where the runtime is shutting down.
    pub(super) async fn at_desk<T: Send + 'static>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut Seat) -> T + Send + 'static,
    ) -> Result<T, ApprovalsError> {
        let shared = self.clone();
        let step = move || shared.step(act);
        tokio::task::spawn_blocking(step).await.map_err(|_| ApprovalsError::Ended)
    }

    /// The same, on this thread.
    pub(super) fn step<T>(self: &Arc<Self>, act: impl FnOnce(&mut Seat) -> T) -> T {
        let mut seat = locked(&self.seat);
        let answer = act(&mut seat);
        if let Ok(runtime) = Handle::try_current() {
            while let Some(request) = seat.next(self.at_once) {
                let id = request.id.clone();
                let task = runtime.spawn(put(self.clone(), request));
                seat.asked_by(&id, task.abort_handle());
            }
        }
        answer
    }

    /// An approver's answer, by the chain or from elsewhere. Answers why it came to nothing, where it did.
    ///
    /// # Errors
    /// Where what is kept cannot be trusted.
    pub(super) async fn answer(
        self: &Arc<Self>,
        id: ApprovalRequestId,
        answer: Answer,
    ) -> Result<Option<Ignored>, ApprovalsError> {
        let rule = RuleId::new(stamp::fresh().map_err(ApprovalsError::Random)?);
        let rule = rule.map_err(|_| ApprovalsError::Ended)?;
        self.at_desk(move |seat| seat.answer(&id, answer, rule)).await?
    }

    /// Uses an approval.
    ///
    /// # Errors
    /// As [`Seat::consume`].
    pub(super) async fn consume(
        self: &Arc<Self>,
        id: ApprovalRequestId,
        asked: &Asked,
    ) -> Result<Permit, Refused> {
        let refused = |error| Refused::Log(std::io::Error::other(error));
        let binding = measured(asked.clone()).await.map_err(refused)?;
        self.at_desk(move |seat| seat.consume(&id, &binding)).await.map_err(refused)?
    }
}

/// A lock whose holder panicked is as good as before: every step leaves the seat whole.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The question's course. `line` is its place among those that came.
pub(super) async fn course(
    shared: Arc<Shared>,
    line: OwnedMutexGuard<()>,
    turn: TurnId,
    asked: Asked,
    mut reply: Reply,
) {
    let limit = asked.limit.unwrap_or(shared.limit);
    let (caller, told) = mpsc::unbounded_channel();
    let begun = begin(&shared, turn, asked, limit, caller).await;
    drop(line);
    let ended = match begun {
        Ok((id, None)) => wait(&shared, id, limit, told, &mut reply).await,
        Ok((id, Some((outcome, by)))) => Ok((id, outcome, by)),
        Err(error) => Err(error),
    };
    // Nobody may be there.
    let _ = reply.send(ended);
}

type Begun = (ApprovalRequestId, Option<(ApprovalOutcome, By)>);

async fn begin(
    shared: &Arc<Shared>,
    turn: TurnId,
    asked: Asked,
    limit: Duration,
    caller: mpsc::UnboundedSender<Told>,
) -> Result<Begun, ApprovalsError> {
    if let Some(exposed) = shared.directory.as_ref().filter(|directory| asked.exposes(directory)) {
        let path = confine_core::AbsPath::new(exposed).unwrap_or_else(|_| confine_core::AbsPath::root());
        return Err(ApprovalsError::Exposed(path));
    }
    let id = ApprovalRequestId::new(stamp::fresh().map_err(ApprovalsError::Random)?);
    let id = id.map_err(|_| ApprovalsError::Ended)?;
    let Asked { subject, justification, rerun, .. } = asked.clone();
    let binding = measured(asked).await?;
    let ask = Ask { id: id.clone(), turn, subject, binding, justification, rerun, limit };
    let decided = shared.at_desk(move |seat| seat.ask(ask, caller)).await??;
    Ok((id, decided))
}

/// On a thread of its own: a file system that never answers must not hold up the end of the runtime.
///
/// # Errors
/// Where it takes too long, or no thread can be made.
async fn measured(asked: Asked) -> Result<Binding, ApprovalsError> {
    let (measured, binding) = oneshot::channel();
    let measure = move || {
        // Nobody may wait for it any more.
        let _ = measured.send(asked.measure());
    };
    let thread = std::thread::Builder::new().name("confine-measure".into()).spawn(measure);
    thread.map_err(ApprovalsError::Thread)?;
    let slow = |_| ApprovalsError::Slow(MEASURING.as_secs());
    timeout(MEASURING, binding).await.map_err(slow)?.map_err(|_| ApprovalsError::Ended)
}

/// Until it is decided. Whoever asked may go away meanwhile; then it is cancelled.
async fn wait(
    shared: &Arc<Shared>,
    id: ApprovalRequestId,
    limit: Duration,
    mut told: mpsc::UnboundedReceiver<Told>,
    reply: &mut Reply,
) -> Result<Ended, ApprovalsError> {
    let after = |time: Duration| Instant::now() + time.min(LONGEST);
    let mut deadline = after(limit);
    loop {
        let about = id.clone();
        tokio::select! {
            biased;
            news = told.recv() => match news {
                Some(Told::Decided(outcome, by)) => return Ok((id, outcome, by)),
                Some(Told::Prompted) => deadline = after(limit),
                None => return Err(ApprovalsError::Ended),
            },
            () = reply.closed() => {
                shared.at_desk(move |seat| seat.fail(&about, Failure::Cancelled)).await??;
                return Err(ApprovalsError::Ended);
            }
            () = sleep_until(deadline) => {
                shared.at_desk(move |seat| seat.expire(&about)).await??;
                deadline = after(AGAIN);
            }
        }
    }
}

/// Puts a question to the approvers.
async fn put(shared: Arc<Shared>, request: ApprovalRequest) {
    let id = request.id.clone();
    let approvers = locked(&shared.approvers).clone();
    let settled = match chain::ask(approvers.0, Arc::new(request)).await {
        Ok(answer) => shared.answer(id, answer).await.map(drop),
        Err(failure) => {
            shared.at_desk(move |seat| seat.fail(&id, failure)).await.and_then(|one| one.map(drop))
        }
    };
    if let Err(error) = settled {
        // Those that wait were told.
        tracing::warn!(%error, "an answer is lost");
    }
}
