//! The machine of one call.

use super::{Ahead, Grant};
use crate::approval::{ApprovalOutcome, RerunRisk, Subject};
use crate::classify::Judgement;
use crate::denial::{Certainty, Denial};
use crate::policy::resolve::Written;
use crate::{Argv, Policy, Text, Verdict};

/// Resolves what the policy in force was resolved from, with one more layer after it; or says why that cannot be.
type Widen = Box<dyn Fn(&Written) -> Result<Policy, String> + Send + Sync>;

/// One call: its policy, what it was granted, and what it waits for.
pub struct Escalation {
    argv: Argv,
    policy: Policy,
    widen: Widen,
    granted: Vec<Grant>,
    attempts: u32,
    asks_on_possible: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// For a judgement.
    Running,
    /// For an answer about this grant, which would make this policy.
    Asked(Grant, Box<Policy>),
    /// For nothing.
    Over,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Ask for this, and hand the outcome to [`Escalation::answer`].
    Ask(Box<Proposal>),
    /// Run the command with this policy (for a request ahead: for the first time), and hand the judgement to
    /// [`Escalation::on`].
    Rerun(Box<Policy>),
    /// Nothing more.
    Done(Done),
}

/// What to ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// About what.
    pub subject: Subject,
    /// In the words of whoever made a request ahead.
    pub justification: Option<String>,
    /// What a yes means where it already ran.
    pub rerun: RerunRisk,
    /// The policy that a yes would run it under.
    pub policy: Box<Policy>,
}

/// Why there is nothing more to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The last judgement stands: it was no denial.
    NotDenied,
    /// The sandbox did not stand. No grant lifts that.
    LauncherFailed,
    /// It was denied, and there is nothing that may be offered.
    NothingToOffer(Why),
    /// The answer was no. The last judgement stands.
    Refused(ApprovalOutcome),
    /// It was asked and run often enough.
    TooOften,
    /// There was no question, or the call is over.
    OutOfTurn,
}

/// Why something is not offered, for people: a lower-case fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Why(pub String);

/// How often one call may be granted something.
const ROUNDS: usize = 8;
/// How often two policies are compared before one is taken to narrow the other.
const COMPARED: usize = 3;

impl Escalation {
    /// For a call of `argv` under `policy`. `widen` resolves what `policy` was resolved from with one more layer: a
    /// [`Grant`](crate::policy::Source::Grant), after all others.
    pub fn new<E: std::fmt::Display>(
        argv: Argv,
        policy: Policy,
        widen: impl Fn(&Written) -> Result<Policy, E> + Send + Sync + 'static,
    ) -> Self {
        let widen = move |layer: &Written| widen(layer).map_err(|error| error.to_string());
        let (granted, attempts, asks_on_possible) = (Vec::new(), 0, false);
        Self {
            argv,
            policy,
            widen: Box::new(widen),
            granted,
            attempts,
            asks_on_possible,
            state: State::Running,
        }
    }

    /// Asks after a failure with only possible denials too.
    #[must_use]
    pub fn ask_on_possible(self) -> Self {
        Self { asks_on_possible: true, ..self }
    }

    /// The policy in force: of the last run, or of the next.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What was granted so far, oldest first.
    pub fn granted(&self) -> &[Grant] {
        &self.granted
    }

    /// Before the first run. What is not wider than the policy in force is answered without a question: the command runs
    /// as it would have.
    pub fn ahead(&mut self, ahead: Ahead) -> Step {
        if self.attempts > 0 || !matches!(self.state, State::Running) {
            return self.over(Done::OutOfTurn);
        }
        match self.widened(&ahead.grant) {
            Ok(None) => Step::Rerun(Box::new(self.policy.clone())),
            Ok(Some(policy)) => self.ask(ahead.grant, policy, Vec::new(), Some(ahead.justification)),
            Err(why) => self.over(Done::NothingToOffer(why)),
        }
    }

    /// After a run.
    pub fn on(&mut self, judgement: &Judgement) -> Step {
        if !matches!(self.state, State::Running) {
            return self.over(Done::OutOfTurn);
        }
        self.attempts = self.attempts.saturating_add(1);
        let least = match judgement.verdict {
            Verdict::Denied => Certainty::Likely,
            Verdict::Failed if self.asks_on_possible && !judgement.denials.is_empty() => Certainty::Possible,
            Verdict::LauncherFailed => return self.over(Done::LauncherFailed),
            _ => return self.over(Done::NotDenied),
        };
        if self.granted.len() >= ROUNDS {
            return self.over(Done::TooOften);
        }
        self.propose(&judgement.denials, least)
    }

    /// After a question.
    pub fn answer(&mut self, outcome: ApprovalOutcome) -> Step {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Asked(grant, policy) if outcome.is_allowed() => {
                self.granted.push(grant);
                self.policy = (*policy).clone();
                self.state = State::Running;
                Step::Rerun(policy)
            }
            State::Asked(..) => Step::Done(Done::Refused(outcome)),
            State::Running | State::Over => Step::Done(Done::OutOfTurn),
        }
    }

    fn over(&mut self, done: Done) -> Step {
        self.state = State::Over;
        Step::Done(done)
    }

    /// The first denial, the surest first, that a grant would lift.
    fn propose(&mut self, denials: &[Denial], least: Certainty) -> Step {
        let mut why = Why("no grant lifts it".to_owned());
        for denial in denials.iter().filter(|denial| denial.certainty >= least) {
            let Some(target) = &denial.grant else { continue };
            let grant = Grant::one(target.clone());
            match self.widened(&grant) {
                Ok(Some(policy)) => return self.ask(grant, policy, vec![denial.clone()], None),
                Ok(None) => why = Why("the policy in force has it already".to_owned()),
                Err(error) => why = error,
            }
        }
        self.over(Done::NothingToOffer(why))
    }

    fn ask(
        &mut self,
        grant: Grant,
        policy: Policy,
        denials: Vec<Denial>,
        justification: Option<String>,
    ) -> Step {
        let argv = self.argv.words().iter().map(|word| Text::from(word.as_os_str())).collect();
        let (cwd, directories) = (self.argv.cwd().clone(), grant.directories(&policy.fs));
        let subject = Subject::Escalation { argv, cwd, grant: grant.clone(), directories, denials };
        let rerun = match self.attempts {
            0 => RerunRisk::NotStarted,
            attempts => RerunRisk::after(attempts, &self.policy),
        };
        let policy = Box::new(policy);
        self.state = State::Asked(grant, policy.clone());
        Step::Ask(Box::new(Proposal { subject, justification, rerun, policy }))
    }

    /// The policy with `grant` beyond all that was granted before; `None` where it is not wider than that is now. On a host
    /// whose sockets and files come and go, the two are compared again where they were resolved from different ones.
    fn widened(&self, grant: &Grant) -> Result<Option<Policy>, Why> {
        let all: Vec<Grant> = self.granted.iter().chain([grant]).cloned().collect();
        for _ in 0..COMPARED {
            let now = self.resolved(&self.granted)?;
            let policy = self.resolved(&all)?;
            if now.covers(&policy) {
                return Ok(None);
            }
            if policy.covers(&now) {
                grant.is_at_home(&policy.fs).map_err(|error| Why(error.to_string()))?;
                return Ok(Some(policy));
            }
        }
        Err(Why("it would also narrow the policy".to_owned()))
    }

    fn resolved(&self, grants: &[Grant]) -> Result<Policy, Why> {
        let layer = Grant::layer(grants).map_err(|error| Why(error.to_string()))?;
        (self.widen)(&layer).map_err(Why)
    }
}

impl std::fmt::Debug for Escalation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { argv, granted, attempts, state, .. } = self;
        f.debug_struct("Escalation")
            .field("argv", argv)
            .field("granted", granted)
            .field("attempts", attempts)
            .field("state", state)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
