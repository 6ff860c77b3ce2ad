//! The launches of one run: what is asked before the first, and what after a denial.

use std::sync::Arc;

use confine_core::approval::{ApprovalOutcome, By, RefusalKind};
use confine_core::escalate::{Done, Escalation, Grant, Proposal, Step, current};
use confine_core::policy::resolve::Written;
use confine_core::protocol::Stdin;
use confine_core::report::{Attempt, OutcomeNote, Refusal};
use confine_core::{Argv, LaunchFault, LaunchStage, Outcome, Policy, Report, Verdict};
use confine_runner::approvals::{Asked, Pass, Turn};

use super::asking::{Answered, Question};
use super::run::{Course, Finish, blocking};
use crate::attempts::{attempt, gather};
use crate::request::Resolved;

/// Why nobody is asked where standard input is gone.
const ONCE: &str = "approval needed, but the command has read a pipe, which cannot be given to it again";

/// Why a yes is good for nothing any more.
const CHANGED: &str = "the host changed since the question";

/// Why nobody is asked, and nothing begins, once the client wants no more.
const CANCELLED: &str = "the run was cancelled";

/// A run, launch by launch.
pub(super) struct Rounds<'a> {
    course: &'a mut Course,
    resolved: Arc<Resolved>,
    widen: Widen,
    /// `None` only while it decides.
    machine: Option<Escalation>,
    /// The last launch.
    last: Option<Finish>,
    attempts: Vec<Attempt>,
    /// Where the client named none.
    own_turn: Option<Arc<Turn>>,
}

/// Resolves the policy of a run with one more layer.
type Widen = Arc<dyn Fn(&Written) -> Result<Policy, String> + Send + Sync>;

/// Nothing more happens, perhaps because somebody said no.
type Over = Option<Refusal>;

impl<'a> Rounds<'a> {
    /// Of `course`, before the first launch.
    pub(super) fn new(course: &'a mut Course, resolved: Arc<Resolved>) -> Self {
        let widen = widen(course, &resolved);
        Self { course, resolved, widen, machine: None, last: None, attempts: Vec::new(), own_turn: None }
    }

    /// Until there is nothing more to run.
    pub(super) async fn run(mut self) -> Finish {
        let finish = match self.rounds().await {
            Ok(over) => self.finish(over),
            Err(fault) => self.course.unstarted(Some(&self.resolved), Some(&self.resolved.policy), fault),
        };
        if let Some(turn) = self.own_turn.take().and_then(Arc::into_inner) {
            // The run is over; that the log has no room for this changes nothing.
            let _ = turn.close().await;
        }
        finish
    }

    async fn rounds(&mut self) -> Result<Over, LaunchFault> {
        self.machine = Some(self.escalation()?);
        let mut step = match self.course.ahead.take() {
            Some(ahead) => self.decide(move |machine| machine.ahead(ahead)).await?,
            None => Step::Rerun(Box::new(self.resolved.policy.clone())),
        };
        let mut yes = None;
        loop {
            if !matches!(step, Step::Done(_)) && self.course.is_cancelled() {
                return Ok(Some(refused(RefusalKind::Cancelled, CANCELLED)));
            }
            step = match step {
                Step::Rerun(policy) => {
                    let policy = match self.used(yes.take(), policy).await? {
                        Ok(policy) => policy,
                        Err(refusal) => return Ok(Some(refusal)),
                    };
                    self.launch(&policy).await?;
                    let Some(last) = self.last.as_ref().filter(|_| self.course.desk.asks()) else {
                        return Ok(None);
                    };
                    let judgement = last.report.judgement();
                    self.decide(move |machine| machine.on(&judgement)).await?
                }
                Step::Ask(_) if self.last.is_some() && self.course.launch.stdin == Stdin::Pipe => {
                    return Ok(Some(refused(RefusalKind::Unavailable, ONCE)));
                }
                Step::Ask(proposal) => match self.ask(&proposal).await? {
                    Answered::Yes(outcome, pass, asked) => {
                        yes = Some((pass, asked));
                        self.decide(move |machine| machine.answer(outcome)).await?
                    }
                    Answered::No(_, refusal) => return Ok(Some(refusal)),
                },
                Step::Done(done) => return Ok(self.unasked(&done)),
            };
        }
    }

    fn escalation(&self) -> Result<Escalation, LaunchFault> {
        let words = self.course.launch.command.iter().map(|word| word.as_os_str().to_owned());
        let argv = Argv::new(words, self.resolved.cwd.clone())
            .map_err(|error| LaunchFault::new(LaunchStage::Usage, format!("run: {error}")))?;
        let widen = self.widen.clone();
        Ok(Escalation::new(argv, self.resolved.policy.clone(), move |layer: &Written| widen(layer)))
    }

    /// What was allowed, as the host is now; `None` where what was granted is something else by now.
    async fn fresh(&self, allowed: &Policy) -> Result<Option<Policy>, LaunchFault> {
        let granted = self.machine.as_ref().map(Escalation::granted).unwrap_or_default().to_vec();
        let (widen, allowed) = (self.widen.clone(), allowed.clone());
        blocking(move || {
            let fresh = Grant::layer(&granted).ok().and_then(|layer| widen(&layer).ok());
            Ok(fresh.and_then(|fresh| current(&granted, &allowed, fresh)))
        })
        .await
    }

    /// Steps the machine, which resolves policies.
    async fn decide(
        &mut self,
        step: impl FnOnce(&mut Escalation) -> Step + Send + 'static,
    ) -> Result<Step, LaunchFault> {
        let Some(mut machine) = self.machine.take() else {
            return Err(LaunchFault::new(LaunchStage::Usage, "go on: confine itself failed"));
        };
        let (machine, step) = blocking(move || {
            let step = step(&mut machine);
            Ok((machine, step))
        })
        .await?;
        self.machine = Some(machine);
        Ok(step)
    }

    async fn launch(&mut self, policy: &Policy) -> Result<(), LaunchFault> {
        let number = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
        let launched = self.course.attempt(number, &self.resolved, policy).await;
        let mut finish = match (launched, &self.last) {
            (Ok(finish), _) => finish,
            (Err(fault), None) => return Err(fault),
            (Err(fault), Some(_)) => self.course.unstarted(Some(&self.resolved), Some(policy), fault),
        };
        let granted = self.machine.as_ref().map(Escalation::granted).unwrap_or_default();
        self.attempts.push(attempt(&finish.report, granted));
        if let Some(earlier) = self.last.take() {
            gather(&mut finish.report, earlier.report);
        }
        self.last = Some(finish);
        Ok(())
    }

    async fn ask(&mut self, proposal: &Proposal) -> Result<Answered, LaunchFault> {
        let turn = match (&self.course.turn, &self.own_turn, &self.course.launch.turn) {
            (Some(turn), ..) | (None, Some(turn), _) => turn.clone(),
            (None, None, Some(_)) => return Ok(Answered::no(ApprovalOutcome::Cancelled, By::Service)),
            (None, None, None) => self.own_turn.insert(Arc::new(self.course.desk.turn().await?)).clone(),
        };
        let policy = self.machine.as_ref().map_or(&self.resolved.policy, Escalation::policy);
        let environment = self.course.house.environment(self.course.launch.environment.as_ref())?;
        let asked = Asked::proposal(proposal, policy.clone()).environment(environment);
        let launch = self.course.launch.clone();
        let question = Question { run: &launch.run, turn: &turn, proposal, asked };
        let (desk, voice) = (self.course.desk.clone(), self.course.voice.clone());
        Ok(desk.ask(question, &voice, self.course.stopped()).await)
    }

    /// Uses a yes up, unless the client wants no more of the run by now. The policy to run under, or why nothing begins.
    async fn used(
        &mut self,
        yes: Option<(Pass, Box<Asked>)>,
        allowed: Box<Policy>,
    ) -> Result<Result<Box<Policy>, Refusal>, LaunchFault> {
        let Some((pass, asked)) = yes else { return Ok(self.unless_cancelled(allowed)) };
        // Before, so that a yes is not used up in vain, and after, since what is bound to it is measured meanwhile.
        if self.fresh(&allowed).await?.is_none() {
            return Ok(Err(refused(RefusalKind::Rejected, CHANGED)));
        }
        if self.course.is_cancelled() {
            return Ok(Err(refused(RefusalKind::Cancelled, CANCELLED)));
        }
        if let Err(reason) = pass.consume(&asked).await {
            return Ok(Err(refused(RefusalKind::Rejected, &reason.to_string())));
        }
        match self.fresh(&allowed).await? {
            None => Ok(Err(refused(RefusalKind::Rejected, CHANGED))),
            Some(policy) => Ok(self.unless_cancelled(Box::new(policy))),
        }
    }

    fn unless_cancelled<T>(&mut self, policy: T) -> Result<T, Refusal> {
        if self.course.is_cancelled() { Err(refused(RefusalKind::Cancelled, CANCELLED)) } else { Ok(policy) }
    }

    /// Why nobody is asked. Before the first launch that is a no: it was asked for, and is not to be had.
    fn unasked(&self, done: &Done) -> Over {
        match done {
            Done::NothingToOffer(why) if self.last.is_none() => {
                Some(refused(RefusalKind::Rejected, &why.to_string()))
            }
            Done::TooOften => Some(refused(RefusalKind::Rejected, "it was asked about often enough")),
            Done::NothingToOffer(_)
            | Done::NotDenied
            | Done::LauncherFailed
            | Done::Refused(_)
            | Done::OutOfTurn => None,
        }
    }

    fn finish(&mut self, refusal: Over) -> Finish {
        let is_cut = self.is_cut(refusal.as_ref());
        let last = self.last.take();
        let Finish { mut report, outcome } = last.unwrap_or_else(|| self.unstarted(is_cut));
        if is_cut {
            (report.outcome, report.verdict) = (OutcomeNote::Cancelled, Verdict::Cancelled);
        }
        let attempts = std::mem::take(&mut self.attempts);
        let attempts = if attempts.len() > 1 { attempts } else { Vec::new() };
        Finish { report: Report { refusal, attempts, ..report }, outcome }
    }

    /// Whether the client's `run/cancel` ended it, and not its program, nor a no.
    fn is_cut(&self, refusal: Option<&Refusal>) -> bool {
        self.course.cancelled && refusal.is_some_and(|refusal| refusal.outcome == RefusalKind::Cancelled)
    }

    /// Refused, or cancelled, before anything started.
    fn unstarted(&self, is_cut: bool) -> Finish {
        let fault = LaunchFault::new(LaunchStage::Usage, "run what was refused");
        let Finish { report, .. } =
            self.course.unstarted(Some(&self.resolved), Some(&self.resolved.policy), fault);
        let (outcome, verdict) = (OutcomeNote::NotStarted, Verdict::Refused);
        let report = Report { outcome, verdict, launch_fault: None, ..report };
        let cancelled = Outcome::Cancelled { code: None, signal: None };
        Finish { report, outcome: if is_cut { cancelled } else { Outcome::NotStarted } }
    }
}

/// What it makes can be resolved and enforced here, and leaves the socket out of reach: a yes has an effect.
fn widen(course: &Course, resolved: &Arc<Resolved>) -> Widen {
    let (house, launch, resolved) = (course.house.clone(), course.launch.clone(), resolved.clone());
    Arc::new(move |layer: &Written| {
        let policy = resolved.basis.with(layer).map_err(|error| error.to_string())?;
        let command = house.command_of(&launch, &resolved, &policy).map_err(|fault| fault.text)?;
        command.confined().map_err(|refused| refused.fault().text)?;
        Ok(policy)
    })
}

fn refused(outcome: RefusalKind, reason: &str) -> Refusal {
    Refusal { by: By::Service, outcome, rule: None, reason: reason.to_owned() }
}
