//! Makes the attempts: without a sandbox, and inside each backend, all at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio as Plain};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use confine_core::policy::resolve::ResolveError;
use confine_core::probe::Unusable;
use confine_core::report::OutcomeNote;
use confine_core::{BackendId, ConfineError, Effect, LaunchFault, LaunchStage, Reason, Report};

use super::attempt::{ATTEMPTS, Attempt, Launch};
use super::finding::{self, Finding};
use super::ground::Ground;
use super::policy::policy;
use super::program;
use super::told::{Subject, Told};
use crate::places::Places;
use crate::run::Stdio;
use crate::{Confine, SpawnError, quarantine};

/// How long a launch may take, with all its attempts.
const BOUND: Duration = Duration::from_secs(30);
/// How often a launch is repeated that found the host to be changing: sockets of others that went away under it.
const AGAIN: u32 = 3;
/// Not below `/tmp`, which is private inside.
const PLACE: &str = "/var/tmp";

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

    /// Without a sandbox.
    ///
    /// # Errors
    /// As [`Trial::run`].
    pub fn controls(&self) -> Result<Controls, TrialError> {
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

    fn inside(&self, id: &BackendId) -> Result<Vec<Launched>, TrialError> {
        self.each(|launch| {
            let mut launched = self.launched(id, launch)?;
            for _ in 0..AGAIN {
                if !matches!(&launched, Launched::Not(_, Some(LaunchStage::Verify))) {
                    break;
                }
                launched = self.launched(id, launch)?;
            }
            Ok(launched)
        })
    }

    fn launched(&self, id: &BackendId, launch: Launch) -> Result<Launched, TrialError> {
        let mut ground = self.ground(Subject::Confined)?;
        let report = self.confined(id, launch, &mut ground)?;
        let launched = self.judged(launch, &ground, report);
        self.keep(ground);
        Ok(launched)
    }

    fn judged(&self, launch: Launch, ground: &Ground, report: Result<Report, Unusable>) -> Launched {
        let report = match report {
            Err(unusable) => return Launched::Not(unusable, None),
            Ok(Report { launch_fault: Some(fault), .. }) => {
                return Launched::Not(unusable(&fault), Some(fault.stage));
            }
            Ok(report) => report,
        };
        let output = report.output.as_ref().map(|output| output.stdout.text.as_os_str().as_encoded_bytes());
        let told = lines(output.unwrap_or_default());
        let seen = |attempt: &&Attempt| (attempt.effect, seen(attempt, ground, &told, &report));
        Launched::Stood(self.attempts(launch).iter().map(seen).collect())
    }

    fn keep(&self, ground: Ground) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).push(ground);
    }

    /// What `what` makes of every launch with attempts in it, at the same time.
    fn each<T: Send>(
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

    fn attempts(&self, launch: Launch) -> Vec<&'static Attempt> {
        let wanted = |attempt: &&Attempt| attempt.launch == launch && self.effects.contains(&attempt.effect);
        ATTEMPTS.iter().filter(wanted).collect()
    }

    fn ground(&self, subject: Subject) -> Result<Ground, TrialError> {
        let place = Some(Path::new(PLACE)).filter(|place| place.is_dir());
        let place = place.map_or_else(std::env::temp_dir, Path::to_owned);
        Ground::prepare(subject, &place, &self.program).map_err(TrialError::Place)
    }

    fn words(&self, launch: Launch, ground: &Ground) -> Result<Vec<std::ffi::OsString>, TrialError> {
        let orders =
            serde_json::to_string(&ground.orders).map_err(|error| TrialError::Place(error.into()))?;
        let effects: Vec<Effect> = self.attempts(launch).iter().map(|attempt| attempt.effect).collect();
        Ok(program::words(&self.program, &orders, &effects))
    }

    fn unconfined(&self, launch: Launch, ground: &Ground) -> io::Result<Vec<u8>> {
        let words = self.words(launch, ground).map_err(io::Error::other)?;
        let (stdin, stderr) = ground.descriptors()?;
        let (name, value) = ground.environment();
        let mut command = Command::new(&self.program);
        command.args(words.iter().skip(1)).current_dir(ground.at("ws")).env(name, value);
        command.stdin(Plain::from(stdin)).stdout(Plain::piped()).stderr(Plain::from(stderr));
        Ok(command.spawn()?.wait_with_output()?.stdout)
    }

    fn confined(
        &self,
        id: &BackendId,
        launch: Launch,
        ground: &mut Ground,
    ) -> Result<Result<Report, Unusable>, TrialError> {
        let policy = policy(launch, &ground.orders, &self.program)?;
        ground.arrive().map_err(TrialError::Place)?;
        let (stdin, stderr) = ground.descriptors().map_err(TrialError::Place)?;
        let (name, value) = ground.environment();
        let environment = std::env::vars_os().chain([(name.into(), value.into())]);
        let start = confine_core::AbsPath::new(ground.at("ws"))
            .map_err(|error| TrialError::Place(io::Error::other(error)))?;
        let command = self.confine.command(self.words(launch, ground)?).cwd(start).policy(&policy);
        let command = command.backend(id.clone()).environment(environment);
        let report = wait(command.stdin(Stdio::Fd(stdin)).stderr(Stdio::Fd(stderr)));
        for moved in report.iter().flat_map(|report| &report.quarantined) {
            quarantine::discard(&Places::here(), moved);
        }
        Ok(report)
    }
}

/// One launch inside.
enum Launched {
    Stood(Vec<(Effect, Result<Vec<String>, Reason>)>),
    /// And where it failed, once it was spawned.
    Not(Unusable, Option<LaunchStage>),
}

impl Answer {
    fn of(controls: &Controls, launches: Vec<Launched>) -> Self {
        let mut findings = BTreeMap::new();
        for launched in launches {
            match launched {
                Launched::Not(unusable, _) => {
                    return Self { launch: Err(unusable), findings: BTreeMap::new() };
                }
                Launched::Stood(seen) => findings.extend(seen.into_iter().filter_map(|(effect, seen)| {
                    Some((effect, Finding::of(controls.0.get(&effect)?, seen)))
                })),
            }
        }
        Self { launch: Ok(()), findings }
    }
}

/// What the world shows of an attempt; an error where it was not made.
fn seen(
    attempt: &Attempt,
    ground: &Ground,
    told: &BTreeMap<Effect, Told>,
    report: &Report,
) -> Result<Vec<String>, Reason> {
    // One that its own limit ended said nothing.
    let ended = match attempt.effect {
        Effect::LimitTime => matches!(report.outcome, OutcomeNote::TimedOut { .. }),
        Effect::LimitMemory => matches!(report.outcome, OutcomeNote::Limit { .. }),
        _ => false,
    };
    match told.get(&attempt.effect) {
        Some(told) => Ok((attempt.judge)(ground, told)),
        None if ended => Ok((attempt.judge)(ground, &Told::of(attempt.effect))),
        None => Err(Reason::new("the attempt was not made: the program that makes it ended first")),
    }
}

fn lines(output: &[u8]) -> BTreeMap<Effect, Told> {
    let lines = output.split(|byte| *byte == b'\n');
    let told = lines.filter_map(|line| serde_json::from_slice::<Told>(line).ok());
    told.map(|told| (told.effect, told)).collect()
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, Result<T, TrialError>>) -> Result<T, TrialError> {
    thread.join().unwrap_or_else(|_| Err(TrialError::Place(io::Error::other("a thread of the trial ended"))))
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
