//! From the spawn to the end: events, signals, the terminal.

use std::io;
use std::time::Duration;

use confine_core::{LaunchFault, LaunchStage, Outcome, Report};
use confine_runner::{Cancel, Command, Event, Events, Run};
use tokio::time::timeout;

use super::Ended;
use super::stop::{Step, Stops};
use super::terminal::Terminal;
use crate::fault;

/// How long the last event may be on its way once every process is gone.
const REST: Duration = Duration::from_secs(1);

/// Spawns `command` and follows it until its whole tree is gone.
///
/// # Errors
/// Whatever kept it from being spawned.
pub(super) async fn follow(command: Command, stops: &mut Stops, tty: bool) -> Result<Ended, LaunchFault> {
    let mut run = command.spawn().await.map_err(|refused| refused.fault())?;
    let cancel = run.canceller();
    let mut events = run.events();
    let mut terminal = if tty { terminal(&mut run, stops, &cancel).await? } else { None };
    let mut outcome = None;
    let waited = run.wait();
    tokio::pin!(waited);
    let report = loop {
        tokio::select! {
            report = &mut waited => break report,
            seen = ended(&mut events), if outcome.is_none() => outcome = Some(seen),
            () = resized(&mut terminal) => {}
            step = stops.next() => take(step, &cancel),
        }
    };
    if let Some(terminal) = terminal {
        terminal.detach();
    }
    let outcome = match outcome {
        Some(outcome) => outcome,
        None => timeout(REST, ended(&mut events)).await.ok().flatten(),
    };
    let outcome = outcome.unwrap_or_else(|| unannounced(&report));
    Ok(Ended { report, outcome })
}

/// The caller's terminal, relayed, once the stage has made the program's; `None` where the launch failed first.
async fn terminal(
    run: &mut Run,
    stops: &mut Stops,
    cancel: &Cancel,
) -> Result<Option<Terminal>, LaunchFault> {
    let master = loop {
        tokio::select! {
            master = run.terminal() => break master,
            step = stops.next() => take(step, cancel),
        }
    };
    // Why there is none is in the report.
    let Ok(master) = master else { return Ok(None) };
    Terminal::attach(master).map(Some).map_err(|error| system("relay the terminal", &error))
}

fn take(step: Step, cancel: &Cancel) {
    match step {
        Step::Forward(signal) => cancel.signal(signal),
        Step::End(signal) => cancel.cancel(Some(signal)),
    }
}

async fn resized(terminal: &mut Option<Terminal>) {
    match terminal {
        Some(terminal) => terminal.follow_size().await,
        None => std::future::pending().await,
    }
}

/// The outcome, once the program has ended by the records; `None` where the events end without one.
async fn ended(events: &mut Events) -> Option<Outcome> {
    while let Some(event) = events.next().await {
        if let Event::Exited(outcome) = event {
            return Some(outcome);
        }
    }
    None
}

/// Every outcome is announced; without one, the report's own fault counts.
fn unannounced(report: &Report) -> Outcome {
    let unknown = || LaunchFault::new(LaunchStage::Status, "tell how the run ended: nothing was recorded");
    Outcome::LauncherFailed(report.launch_fault.clone().unwrap_or_else(unknown))
}

fn system(doing: &str, error: &io::Error) -> LaunchFault {
    fault::system(LaunchStage::Spawn, doing, error)
}
