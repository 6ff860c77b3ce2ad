//! A command with everything decided: from here on there are descriptors and processes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;

use confine_core::policy::Limits;
use confine_core::policy::env::Environment;
use confine_core::{ConfinedArgv, LaunchFault, LaunchStage, Report, Text};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field};

use crate::confine::Shared;
use crate::control;
use crate::course::{Course, Start};
use crate::events;
use crate::fault;
use crate::guard::Guard;
use crate::launch::{self, Parcel};
use crate::order;
use crate::refusal::SpawnError;
use crate::run::{Parts, Run};
use crate::stream::{self, Wishes};
use crate::summary::Heading;

/// What a launch needs to know.
pub(crate) struct Ready {
    pub(crate) clock: Instant,
    pub(crate) heading: Arc<Heading>,
    pub(crate) limits: Limits,
    pub(crate) confined: ConfinedArgv,
    pub(crate) environment: Environment,
    pub(crate) guard: Guard,
}

impl Ready {
    /// Starts the wrapper, and the task that follows it.
    ///
    /// # Errors
    /// What the system says about descriptors, files in memory, or the wrapper's program.
    pub(crate) async fn start(self, shared: &Shared, wishes: Wishes, span: Span) -> Result<Run, SpawnError> {
        let masks = self.guard.watch()?;
        let (announcer, events) = events::channel();
        let (program, words, streams) = stream::open(wishes, &announcer).map_err(|error| unopened(&error))?;
        let (control, stage) = control::pair().map_err(|error| unopened(&error))?;
        let lifeline = control.lifeline();
        let (sender, receiver) = program.terminal.map(|_| oneshot::channel()).unzip();
        let Self { clock, heading, limits, confined, environment, guard } = self;
        let parcel = Parcel { program, control: stage, words, environment, guard };
        let request = launch::request(&confined, &shared.image, parcel)?;
        let process = shared.spawner.spawn(request).await.map_err(|error| unspawned(&confined, &error))?;
        let pid = process.pid();
        let (orders, wishes) = mpsc::unbounded_channel();
        let start = Start {
            control,
            process,
            heading: heading.clone(),
            watchers: order::watchers(&orders, pid, limits.memory, masks),
            limits,
            streams,
            announcer,
            orders: wishes,
            terminal: sender,
            _spawner: shared.spawner.clone(),
            clock,
        };
        let course = Course::begin(start).map_err(|error| unopened(&error))?;
        let course = tokio::spawn(traced(course, span.clone()).instrument(span));
        let pid = u32::try_from(pid.as_raw()).unwrap_or(0);
        Ok(Run::new(Parts { heading, pid, orders, lifeline, events, terminal: receiver, course }))
    }
}

/// One span a run. Of the command it names the program's file only: arguments may hold secrets.
pub(crate) fn span(heading: &Heading, confined: &ConfinedArgv, words: &[OsString]) -> Span {
    let program = words.first().and_then(|word| Path::new(word).file_name()).unwrap_or(OsStr::new(""));
    tracing::info_span!(
        "confine.run",
        run = %heading.stamp.run,
        policy = %confined.policy,
        backend = %confined.backend,
        program = %Text::from(program),
        verdict = field::Empty,
        launch_us = field::Empty,
    )
}

async fn traced(course: Course, span: Span) -> Report {
    let report = course.follow().await;
    span.record("verdict", field::debug(report.verdict));
    span.record("launch_us", report.usage.launch_us);
    report
}

fn unopened(error: &io::Error) -> LaunchFault {
    fault::of_call(LaunchStage::Spawn, "open the run's descriptors", error)
}

fn unspawned(confined: &ConfinedArgv, error: &io::Error) -> LaunchFault {
    let launch = &confined.launch;
    let program = launch.wrapper.as_ref().map_or(&launch.stage, |wrapper| &wrapper.program);
    let what = format!("start `{program}`");
    LaunchFault { path: Some(program.clone()), ..fault::of_call(LaunchStage::Spawn, &what, error) }
}
