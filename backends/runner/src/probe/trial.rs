//! Makes the attempts: without a sandbox, and inside each backend, all at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio as Plain};
use std::sync::{Mutex, PoisonError};
use std::thread;

use confine_core::policy::resolve::ResolveError;
use confine_core::probe::Unusable;
use confine_core::{BackendId, Effect, Reason};

use super::attempt::{ATTEMPTS, Attempt, Launch, UNTRIED};
use super::finding::{self, Finding};
use super::ground::Ground;
use super::inside::Inside;
use super::told::{Subject, Told};
use super::{place, program};
use crate::Confine;

/// Why no attempt can be made.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// There is no place for the throwaway surroundings.
    #[error("cannot prepare the surroundings of attempts: {0}")]
    Place(#[source] io::Error),
    /// The policy of attempts does not resolve on this host.
    #[error("cannot resolve the policy of attempts: {0}")]
    Policy(#[source] Box<ResolveError>),
}

/// What one backend's attempts came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whether its sandbox stood.
    pub launch: Result<(), Unusable>,
    /// By effect; empty where it did not stand.
    pub findings: BTreeMap<Effect, Finding>,
}

/// Attempts to be made.
pub struct Trial<'a> {
    /// The backends, and how they are launched.
    pub confine: &'a Confine,
    /// An executable that calls [`attempt`](super::attempt()) where its first argument is [`WORD`](super::WORD).
    pub program: PathBuf,
    /// Which effects are tried.
    pub effects: BTreeSet<Effect>,
    /// Surroundings that were used: a socket that goes away disturbs the launch of whoever masks it, so they stay until
    /// the last attempt is made.
    used: Mutex<Vec<Ground>>,
}

/// What happened without a sandbox, by effect: nothing, or why the attempt fails there too.
pub struct Controls(BTreeMap<Effect, Result<(), Reason>>);

impl<'a> Trial<'a> {
    /// At every effect.
    pub fn of(confine: &'a Confine, program: impl Into<PathBuf>) -> Self {
        Self {
            confine,
            program: program.into(),
            effects: Effect::ALL.iter().copied().collect(),
            used: Mutex::default(),
        }
    }

    /// Without a sandbox, and inside each of `backends`. `done` is told which backend is through.
    ///
    /// # Errors
    /// Where the surroundings cannot be made.
    pub fn run(
        &self,
        backends: &[BackendId],
        done: &(dyn Fn(&BackendId) + Sync),
    ) -> Result<BTreeMap<BackendId, Answer>, TrialError> {
        thread::scope(|scope| {
            let control = scope.spawn(|| self.controls());
            let one = |id: &BackendId| {
                let seen = self.inside(id);
                done(id);
                seen
            };
            let trials: Vec<_> = backends.iter().map(|id| (id, scope.spawn(move || one(id)))).collect();
            let controls = joined(control)?;
            let answer = |(id, trial): (&BackendId, thread::ScopedJoinHandle<'_, _>)| {
                Ok((id.clone(), Answer::of(&controls, joined(trial)?)))
            };
            trials.into_iter().map(answer).collect()
        })
    }

    /// Without a sandbox; what probes of this user left that were killed goes first.
    ///
    /// # Errors
    /// As [`Trial::run`].
    pub fn controls(&self) -> Result<Controls, TrialError> {
        place::sweep();
        let launches = self.each(|launch| {
            let ground = self.ground(Subject::Control)?;
            let output = self.unconfined(launch, &ground).map_err(TrialError::Place)?;
            let told = lines(&output);
            let judge = |attempt: &&Attempt| {
                let said = told.get(&attempt.effect);
                let happened = said.map(|said| (attempt.judge)(&ground, said)).unwrap_or_default();
                let refusals = said.map_or_else(|| "the attempt was not made".to_owned(), Told::refusals);
                (attempt.effect, finding::control(attempt.effect, &happened, &refusals))
            };
            let judged = self.attempts(launch).iter().map(judge).collect::<Vec<_>>();
            self.keep(ground);
            Ok(judged)
        })?;
        Ok(Controls(launches.into_iter().flatten().collect()))
    }

    /// Inside one backend, against `controls`.
    ///
    /// # Errors
    /// As [`Trial::run`].
    pub fn backend(&self, id: &BackendId, controls: &Controls) -> Result<Answer, TrialError> {
        Ok(Answer::of(controls, self.inside(id)?))
    }

    pub(super) fn keep(&self, ground: Ground) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).push(ground);
    }

    /// What `what` makes of every launch with attempts in it, at the same time.
    pub(super) fn each<T: Send>(
        &self,
        what: impl Fn(Launch) -> Result<T, TrialError> + Sync,
    ) -> Result<Vec<T>, TrialError> {
        let what = &what;
        thread::scope(|scope| {
            let wanted = Launch::ALL.into_iter().filter(|launch| !self.attempts(*launch).is_empty());
            let threads: Vec<_> = wanted.map(|launch| scope.spawn(move || what(launch))).collect();
            threads.into_iter().map(joined).collect()
        })
    }

    pub(super) fn attempts(&self, launch: Launch) -> Vec<&'static Attempt> {
        let wanted = |attempt: &&Attempt| attempt.launch == launch && self.effects.contains(&attempt.effect);
        ATTEMPTS.iter().filter(wanted).collect()
    }

    pub(super) fn ground(&self, subject: Subject) -> Result<Ground, TrialError> {
        Ground::prepare(subject, &self.program).map_err(TrialError::Place)
    }

    pub(super) fn words(
        &self,
        attempts: &[&'static Attempt],
        ground: &Ground,
    ) -> Result<Vec<OsString>, TrialError> {
        let orders =
            serde_json::to_string(&ground.orders).map_err(|error| TrialError::Place(error.into()))?;
        let effects: Vec<Effect> = attempts.iter().map(|attempt| attempt.effect).collect();
        Ok(program::words(&self.program, &orders, &effects))
    }

    fn unconfined(&self, launch: Launch, ground: &Ground) -> io::Result<Vec<u8>> {
        let words = self.words(&self.attempts(launch), ground).map_err(io::Error::other)?;
        let (stdin, stderr) = ground.descriptors()?;
        let (name, value) = ground.environment();
        let mut command = Command::new(&self.program);
        command.args(words.iter().skip(1)).current_dir(ground.at("ws")).env(name, value);
        command.stdin(Plain::from(stdin)).stdout(Plain::piped()).stderr(Plain::from(stderr));
        Ok(command.spawn()?.wait_with_output()?.stdout)
    }
}

impl Answer {
    fn of(controls: &Controls, launches: Vec<Inside>) -> Self {
        let mut findings = BTreeMap::new();
        for launched in launches {
            match launched {
                Inside::Not(unusable) => {
                    return Self { launch: Err(unusable), findings: BTreeMap::new() };
                }
                Inside::Stood(seen) => findings.extend(seen.into_iter().filter_map(|(effect, seen)| {
                    Some((effect, Finding::of(controls.0.get(&effect)?, seen)))
                })),
            }
        }
        let untried =
            |(effect, why): &(Effect, &'static str)| (*effect, Finding::Untestable(Reason::new(why)));
        findings.extend(UNTRIED.iter().map(untried));
        Self { launch: Ok(()), findings }
    }
}

pub(super) fn lines(output: &[u8]) -> BTreeMap<Effect, Told> {
    let lines = output.split(|byte| *byte == b'\n');
    let told = lines.filter_map(|line| serde_json::from_slice::<Told>(line).ok());
    told.map(|told| (told.effect, told)).collect()
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T, TrialError>>) -> Result<T, TrialError> {
    thread.join().unwrap_or_else(|_| Err(TrialError::Place(io::Error::other("a thread of the trial ended"))))
}
