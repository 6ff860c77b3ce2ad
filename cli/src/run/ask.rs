//! After a denial: the smallest grant, a question, and one more run with exactly that.

use std::sync::Arc;

use confine_core::approval::{By, RefusalKind, SessionId};
use confine_core::denial::Certainty;
use confine_core::escalate::{Done, Escalation, Grant, Proposal, Step, current};
use confine_core::policy::ApprovalDefault;
use confine_core::policy::resolve::Written;
use confine_core::report::{Attempt, Refusal};
use confine_core::{AbsPath, Argv, LaunchFault, LaunchStage, Policy, Report};
use confine_runner::approvals::{ApprovalsError, Asked, Pass};

use super::asking::{self, Asking, Said};
use super::call::Call;
use super::input::Input;
use super::stop::Stops;
use super::{Ended, follow, sink};
use crate::attempts::{attempt, gather};
use crate::request::Basis;
use crate::{annotate, fault};

/// Why nobody is asked where standard input is gone.
const ONCE: &str =
    "approval needed, but the command has read a standard input that cannot be given to it again";

const NEVER: &str = "approval needed, and a workspace's own policy says `never`";
const STOPPED: &str = "approval needed, and confine was told to stop";
const CHANGED: &str = "the host changed since the question";
const TAKEN: &str = "approval needed, but another question stood on the terminal";

/// Runs the command, and again after each denial for which somebody allows the smallest grant that would lift it.
///
/// # Errors
/// Whatever kept the first run from being spawned.
pub(super) async fn follow(
    call: &Call<'_>,
    basis: Basis,
    report: Option<&AbsPath>,
    stops: &mut Stops,
) -> Result<Ended, LaunchFault> {
    let (session, input) = (asking::session()?, Input::here());
    let argv = Argv::new(call.arguments.words.iter().cloned(), call.cwd.clone())
        .map_err(|error| LaunchFault::new(LaunchStage::Usage, format!("run: {error}")))?;
    let widen = widen(call, basis, report)?;
    let escalation = Escalation::new(argv, call.policy.clone(), {
        let widen = widen.clone();
        move |layer: &Written| widen(layer)
    });
    let ended = follow::follow(call.command(&call.policy)?, stops, false).await?;
    let mut rounds =
        Rounds { call, session, input, widen, escalation, asking: None, ended, attempts: Vec::new() };
    let refusal = loop {
        match rounds.next(stops).await {
            Round::Ran => {}
            Round::Over(refusal) => break refusal,
        }
    };
    Ok(rounds.finish(refusal).await)
}

/// Resolves the policy of this call with one more layer.
type Widen = Arc<dyn Fn(&Written) -> Result<Policy, String> + Send + Sync>;

/// What it makes can be resolved and enforced here, and leaves the report out of reach: a yes has an effect.
fn widen(call: &Call<'_>, basis: Basis, report: Option<&AbsPath>) -> Result<Widen, LaunchFault> {
    let (report, trial) = (report.cloned(), call.trial()?);
    Ok(Arc::new(move |layer: &Written| {
        let policy = basis.with(layer).map_err(|error| error.to_string())?;
        let kept = report.as_ref().map_or(Ok(()), |path| sink::out_of_reach(path, &policy));
        kept.and_then(|()| trial(&policy)).map_err(|fault| fault.text)?;
        Ok(policy)
    }))
}

/// One call, run by run.
struct Rounds<'a> {
    call: &'a Call<'a>,
    session: SessionId,
    input: Input,
    widen: Widen,
    escalation: Escalation,
    asking: Option<Asking>,
    /// The last run.
    ended: Ended,
    /// Those before it.
    attempts: Vec<Attempt>,
}

/// What came of a run.
enum Round {
    /// Another one.
    Ran,
    /// Nothing more, perhaps because somebody said no.
    Over(Option<Refusal>),
}

impl Rounds<'_> {
    async fn next(&mut self, stops: &mut Stops) -> Round {
        let proposal = match self.escalation.on(&self.ended.report.judgement()) {
            Step::Ask(proposal) => proposal,
            Step::Rerun(_) => return Round::Over(None),
            Step::Done(done) => return Round::Over(unasked(&done)),
        };
        if self.call.policy.approval == ApprovalDefault::Never {
            return Round::Over(Some(refused(RefusalKind::Rejected, NEVER.to_owned())));
        }
        if !self.input.is_repeatable() {
            return Round::Over(Some(refused(RefusalKind::Unavailable, ONCE.to_owned())));
        }
        if stops.is_told().await {
            return Round::Over(Some(refused(RefusalKind::Cancelled, STOPPED.to_owned())));
        }
        let before = self.escalation.granted().to_vec();
        let said = self.ask(&proposal, stops).await;
        let allowed = self.allowed(said, stops).await;
        // Only now is it certain: an answer that cannot be written down, or is good for nothing any more, allows nothing.
        if let Some(asking) = &mut self.asking {
            asking.says(allowed.as_ref().map_or_else(|refusal| end(refusal.as_ref()), |_| "allowed"));
        }
        match allowed {
            Ok(policy) => {
                self.again(&policy, &before, stops).await;
                Round::Ran
            }
            Err(refusal) => Round::Over(refusal),
        }
    }

    async fn ask(&mut self, proposal: &Proposal, stops: &mut Stops) -> Result<Said, ApprovalsError> {
        let mut asking = match self.asking.take() {
            Some(asking) => asking,
            None => Asking::begin(&self.session, &self.call.policy).await?,
        };
        let answered = asking.ask(proposal, self.escalation.policy(), self.input, stops).await;
        self.asking = Some(asking);
        answered
    }

    /// The policy of one more run, where that is allowed.
    async fn allowed(
        &mut self,
        said: Result<Said, ApprovalsError>,
        stops: &mut Stops,
    ) -> Result<Policy, Option<Refusal>> {
        let (decided, asked) = match said {
            Ok(Said::Decided(answered)) => *answered,
            Ok(Said::Stopped) => return Err(Some(refused(RefusalKind::Cancelled, STOPPED.to_owned()))),
            Ok(Said::Taken) => return Err(Some(refused(RefusalKind::Unavailable, TAKEN.to_owned()))),
            Err(error) => return Err(Some(refused(RefusalKind::Unavailable, error.to_string()))),
        };
        match (self.escalation.answer(decided.outcome.clone()), decided.pass) {
            (Step::Rerun(policy), Some(pass)) => {
                let used = self.used(pass, &asked, &policy).await;
                // Whatever came meanwhile: nothing begins that was told to stop.
                if stops.is_told().await {
                    return Err(Some(refused(RefusalKind::Cancelled, STOPPED.to_owned())));
                }
                used.map_err(|reason| Some(refused(RefusalKind::Rejected, reason)))
            }
            _ => Err(Refusal::of(&decided.outcome, decided.by)),
        }
    }

    /// Uses the approval, which is good once.
    ///
    /// # Errors
    /// Why it is not good for that any more.
    async fn used(&self, pass: Pass, asked: &Asked, allowed: &Policy) -> Result<Policy, String> {
        self.input.rewind().map_err(|error| format!("standard input cannot be read again: {error}"))?;
        self.fresh(allowed)?;
        pass.consume(asked).await.map_err(|refused| refused.to_string())?;
        // Once more, since what is bound to it is measured meanwhile.
        self.fresh(allowed)
    }

    /// Runs it with what was allowed.
    async fn again(&mut self, policy: &Policy, before: &[Grant], stops: &mut Stops) {
        self.attempts.push(attempt(&self.ended.report, before));
        let ended = match self.call.command(policy) {
            Ok(command) => follow::follow(command, stops, false).await,
            Err(fault) => Err(fault),
        };
        let ended = ended.unwrap_or_else(|fault| self.call.unstarted(policy, fault));
        let earlier = std::mem::replace(&mut self.ended, ended).report;
        gather(&mut self.ended.report, earlier);
    }

    /// What was allowed, as the host is now: what listens since the question is hidden too. Never more than that.
    ///
    /// # Errors
    /// What was granted is something else by now: a link stands there, or what was to be made is there.
    fn fresh(&self, allowed: &Policy) -> Result<Policy, String> {
        let granted = self.escalation.granted();
        let layer = Grant::layer(granted).map_err(|error| error.to_string())?;
        let fresh = (self.widen)(&layer).map_err(|error| format!("{CHANGED}: {error}"))?;
        current(granted, allowed, fresh).ok_or_else(|| CHANGED.to_owned())
    }

    async fn finish(mut self, refusal: Option<Refusal>) -> Ended {
        if let Some(asking) = self.asking.take() {
            asking.end().await;
        }
        if let Some(refusal) = refusal.as_ref().filter(|refusal| refusal.by == By::Service) {
            say(refusal, &self.ended.report);
        }
        if !self.attempts.is_empty() {
            self.attempts.push(attempt(&self.ended.report, self.escalation.granted()));
        }
        self.ended.report.refusal = refusal;
        self.ended.report.attempts = self.attempts;
        self.ended
    }
}

/// How a question ended that allowed nothing.
fn end(refusal: Option<&Refusal>) -> &'static str {
    match refusal.map(|refusal| refusal.outcome) {
        Some(RefusalKind::Rejected) | None => "refused",
        Some(RefusalKind::Cancelled) => "cancelled",
        Some(RefusalKind::TimedOut) => "not answered",
        Some(RefusalKind::Unavailable) => "not allowed",
    }
}

/// Why nobody is asked, where that is no refusal of anybody's.
fn unasked(done: &Done) -> Option<Refusal> {
    match done {
        Done::NothingToOffer(why) => {
            fault::line(&format!("nobody is asked about the denial: {why}"));
            None
        }
        Done::TooOften => Some(refused(RefusalKind::Rejected, "it was asked about often enough".to_owned())),
        Done::NotDenied | Done::LauncherFailed | Done::Refused(_) | Done::OutOfTurn => None,
    }
}

fn refused(outcome: RefusalKind, reason: String) -> Refusal {
    Refusal { by: By::Service, outcome, rule: None, reason }
}

/// Says why nobody was asked, or nobody answered, and what the caller can do without a question.
fn say(refusal: &Refusal, report: &Report) {
    fault::line(&refusal.reason);
    let sure = report.denials.iter().filter(|denial| denial.certainty >= Certainty::Likely);
    if let Some(grant) = sure.filter_map(|denial| denial.grant.as_ref()).next() {
        fault::help_line(&format!("grant it ahead: `{}`", annotate::option(grant)));
    }
}
