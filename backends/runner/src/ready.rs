//! A command with everything decided: from here on there are descriptors and processes.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use confine_core::{ConfinedArgv, Report, Text};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field};

use crate::course::{Course, Start};
use crate::events;
use crate::guard::{Duty, MaskWatch, Pledge};
use crate::order;
use crate::refusal::SpawnError;
use crate::run::{Parts, Run};
use crate::standing::{Descriptors, Launch, unopened};
use crate::stream::{self, Wishes};
use crate::summary::Heading;

/// What a run needs to know, beside what is launched.
pub(crate) struct Ready {
    pub(crate) clock: Instant,
    pub(crate) heading: Heading,
    pub(crate) pledge: Pledge,
}

impl Ready {
    /// Starts the wrapper, and the task that follows it.
    ///
    /// # Errors
    /// As [`Launch::stand`].
    pub(crate) async fn start(
        self,
        mut launch: Launch<'_>,
        wishes: Wishes,
        span: Span,
    ) -> Result<Run, SpawnError> {
        let Self { clock, heading, pledge } = self;
        let duty = Duty::new(pledge, &launch.policy, &launch.shared.places)?;
        let masks = duty.watch();
        let (announcer, events) = events::channel();
        let (program, words, streams) = stream::open(wishes, &announcer).map_err(|error| unopened(&error))?;
        let (sender, receiver) = program.terminal.map(|_| oneshot::channel()).unzip();
        let standing = launch.stand(Descriptors { program, words }, duty).await?;
        let loss = standing.process.loss();
        let heading = Arc::new(heading.confined(&launch.confined, launch.environment.dropped).without(loss));
        let (pid, lifeline) = (standing.process.pid(), standing.control.lifeline());
        let (orders, wishes) = mpsc::unbounded_channel();
        let limits = launch.policy.limits;
        let start = Start {
            standing,
            heading: heading.clone(),
            stood: masks.as_ref().map(MaskWatch::stood),
            watchers: order::watchers(&orders, pid, limits.memory, masks),
            limits,
            streams,
            announcer,
            orders: wishes,
            terminal: sender,
            _spawner: launch.shared.spawner.clone(),
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
