//! The attempts inside one backend, launch after launch, until each has an answer: one that succeeds may end the run
//! that it is made in, and those that were to follow it with it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use confine_core::probe::Unusable;
use confine_core::report::OutcomeNote;
use confine_core::{AbsPath, BackendId, ConfineError, Effect, LaunchFault, LaunchStage, Reason, Report};

use super::attempt::{Attempt, Launch};
use super::finding::Finding;
use super::ground::Ground;
use super::policy::policy;
use super::told::{Subject, Told};
use super::trial::{Trial, TrialError, lines};
use crate::places::Places;
use crate::run::Stdio;
use crate::{SpawnError, quarantine};

/// How long a launch may take, with all its attempts; and how long launches are repeated.
const BOUND: Duration = Duration::from_secs(30);
/// How often a launch is repeated that came to nothing: one that found the host to be changing (sockets of others that
/// went away under it), or whose first attempt has no answer.
const AGAIN: u32 = 3;

/// What one launch came to, with those that repeated it.
pub(super) enum Inside {
    /// By effect.
    Stood(BTreeMap<Effect, Finding>),
    /// The sandbox did not stand.
    Not(Unusable),
}

/// One launch.
enum Launched {
    /// What has an answer, and how the run ended.
    Stood(BTreeMap<Effect, Finding>, OutcomeNote),
    /// And where it failed, once it was spawned.
    Not(Unusable, Option<LaunchStage>),
}

impl Trial<'_> {
    /// Every launch with attempts in it, at the same time.
    pub(super) fn inside(&self, id: &BackendId) -> Result<Vec<Inside>, TrialError> {
        self.each(|launch| self.answered(id, launch))
    }

    fn answered(&self, id: &BackendId, launch: Launch) -> Result<Inside, TrialError> {
        let since = Instant::now();
        let mut open = self.attempts(launch);
        let mut seen = BTreeMap::new();
        let mut fruitless = 0;
        while let Some(first) = open.first().copied() {
            let reason = match self.launched(id, launch, &open)? {
                Launched::Not(unusable, stage) => {
                    let changing = stage == Some(LaunchStage::Verify) && fruitless < AGAIN;
                    if seen.is_empty() && !changing {
                        return Ok(Inside::Not(unusable));
                    }
                    unanswered(&unusable.reason)
                }
                Launched::Stood(answers, outcome) => {
                    if !answers.is_empty() {
                        fruitless = 0;
                        open.retain(|attempt| !answers.contains_key(&attempt.effect));
                        seen.extend(answers);
                        continue;
                    }
                    unanswered(&format!("its run ended first, {}", ended(&outcome)))
                }
            };
            fruitless += 1;
            if fruitless > AGAIN {
                fruitless = 0;
                open.retain(|attempt| attempt.effect != first.effect);
                seen.insert(first.effect, Finding::Unanswered(reason.clone()));
            }
            if since.elapsed() > BOUND {
                let late = open.drain(..);
                seen.extend(late.map(|attempt| (attempt.effect, Finding::Unanswered(reason.clone()))));
            }
        }
        Ok(Inside::Stood(seen))
    }

    fn launched(
        &self,
        id: &BackendId,
        launch: Launch,
        attempts: &[&'static Attempt],
    ) -> Result<Launched, TrialError> {
        let mut ground = self.ground(Subject::Confined)?;
        let report = self.confined(id, launch, attempts, &mut ground)?;
        let launched = judged(attempts, &ground, report);
        self.keep(ground);
        Ok(launched)
    }

    fn confined(
        &self,
        id: &BackendId,
        launch: Launch,
        attempts: &[&'static Attempt],
        ground: &mut Ground,
    ) -> Result<Result<Report, Unusable>, TrialError> {
        let policy = policy(launch, &ground.orders, &self.program)?;
        ground.arrive().map_err(TrialError::Place)?;
        let (stdin, stderr) = ground.descriptors().map_err(TrialError::Place)?;
        let (name, value) = ground.environment();
        let environment = std::env::vars_os().chain([(name.into(), value.into())]);
        let start =
            AbsPath::new(ground.at("ws")).map_err(|error| TrialError::Place(std::io::Error::other(error)))?;
        let command = self.confine.command(self.words(attempts, ground)?).cwd(start).policy(&policy);
        let command = command.backend(id.clone()).environment(environment);
        let report = wait(command.stdin(Stdio::Fd(stdin)).stderr(Stdio::Fd(stderr)));
        for moved in report.iter().flat_map(|report| &report.quarantined) {
            quarantine::discard(&Places::here(), moved);
        }
        Ok(report)
    }
}

fn judged(attempts: &[&'static Attempt], ground: &Ground, report: Result<Report, Unusable>) -> Launched {
    let report = match report {
        Err(unusable) => return Launched::Not(unusable, None),
        Ok(Report { launch_fault: Some(fault), .. }) => {
            return Launched::Not(unusable(&fault), Some(fault.stage));
        }
        Ok(report) => report,
    };
    let output = report.output.as_ref().map(|output| output.stdout.text.as_os_str().as_encoded_bytes());
    let told = lines(output.unwrap_or_default());
    let answer = |attempt: &&Attempt| Some((attempt.effect, answer(attempt, ground, &told, &report)?));
    Launched::Stood(attempts.iter().filter_map(answer).collect(), report.outcome.clone())
}

/// What the world shows of an attempt; nothing where it was not made to its end, and nothing of it happened.
fn answer(
    attempt: &Attempt,
    ground: &Ground,
    told: &BTreeMap<Effect, Told>,
    report: &Report,
) -> Option<Finding> {
    // One that its own limit ended said nothing.
    let ended = match attempt.effect {
        Effect::LimitTime => matches!(report.outcome, OutcomeNote::TimedOut { .. }),
        Effect::LimitMemory => matches!(report.outcome, OutcomeNote::Limit { .. }),
        _ => false,
    };
    let silent = Told::of(attempt.effect);
    let said = told.get(&attempt.effect);
    let happened = (attempt.judge)(ground, said.unwrap_or(&silent));
    if !happened.is_empty() {
        return Some(Finding::Succeeded(happened));
    }
    let undone = said.map(Told::done).filter(|acts| attempt.is_undone && !acts.is_empty());
    undone.map(Finding::Found).or_else(|| (said.is_some() || ended).then_some(Finding::Refused))
}

fn unanswered(why: &dyn std::fmt::Display) -> Reason {
    Reason::from(format!("the attempt has no answer: {why}"))
}

fn ended(outcome: &OutcomeNote) -> String {
    match outcome {
        OutcomeNote::Exited { code } => format!("with {code}"),
        OutcomeNote::Signaled { signal, .. } => format!("by signal {signal}"),
        OutcomeNote::TimedOut { .. } => "by its time limit".to_owned(),
        OutcomeNote::Limit { .. } => "by a limit".to_owned(),
        _ => "from outside".to_owned(),
    }
}

/// Spawns it and waits; what takes longer than the bound is ended.
fn wait(command: crate::Command) -> Result<Report, Unusable> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Unusable::without_remedy(format!("no runtime: {error}")))?;
    runtime.block_on(async {
        let run = command.spawn().await.map_err(|refused| refusal(&refused))?;
        tokio::time::timeout(BOUND, run.wait()).await.map_err(|_| {
            Unusable::without_remedy(format!("a launch did not end within {} s", BOUND.as_secs()))
        })
    })
}

/// Why nothing was spawned: the backend's own word where it has one.
fn refusal(refused: &SpawnError) -> Unusable {
    if let SpawnError::Refused(refusals) = refused
        && let Some(ConfineError::Unusable { unusable, .. }) = refusals.0.first()
    {
        return unusable.clone();
    }
    unusable(&refused.fault())
}

fn unusable(fault: &LaunchFault) -> Unusable {
    Unusable { reason: Reason::from(fault.text.clone()), remedy: fault.help.clone().map(Reason::from) }
}
