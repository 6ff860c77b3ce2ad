//! One run of a client, from `run/start` to `run/result`, launch by launch.

use std::ffi::OsString;
use std::sync::Arc;

use confine_core::escalate::Ahead;
use confine_core::protocol::{Ended, Launch, Name, Stdin, ToClient};
use confine_core::{LaunchFault, LaunchStage, Outcome, Policy, Report};
use confine_runner::approvals::Turn;
use confine_runner::{Run, Stdio};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::task::{JoinSet, spawn_blocking};

use super::asking::Desk;
use super::channel::Voice;
use super::house::{House, Wish};
use super::relay::Relay;
use super::rounds::Rounds;
use super::stdin::{self, Outlet};
use crate::fault;
use crate::request::Resolved;

/// What a client wants of a run that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// To the program's group.
    Signal(i32),
    /// The tree ends now, and no other begins.
    Cancel,
    /// The turn was closed.
    Leave,
}

/// A run under way.
pub(super) struct Course {
    pub(super) house: Arc<House>,
    pub(super) voice: Voice,
    pub(super) desk: Arc<Desk>,
    pub(super) launch: Arc<Launch>,
    /// What it wants beyond its policy before it starts.
    pub(super) ahead: Option<Ahead>,
    /// The client's turn, until that is closed.
    pub(super) turn: Option<Arc<Turn>>,
    /// Its end is an order to end too: nobody is there any more.
    pub(super) orders: UnboundedReceiver<Order>,
    /// What the client sends, where the program reads that.
    pub(super) outlet: Option<Outlet>,
    /// Whether the client wants no more of it. That stays, whenever it was said.
    pub(super) cancelled: bool,
}

/// A run that came to its end.
pub(super) struct Finish {
    pub(super) report: Report,
    pub(super) outcome: Outcome,
}

impl Course {
    /// Until the client was told the result, or is gone. Gives back the name.
    pub(super) async fn run(mut self) -> Name {
        let Finish { report, outcome } = self.finish().await;
        self.house.note(report.verdict);
        let run = self.launch.run.clone();
        let ended = Ended { run: run.clone(), exit_code: outcome.exit_code(), report };
        // Nobody may be there any more.
        let _ = self.voice.say(&ToClient::RunResult(Box::new(ended))).await;
        run
    }

    async fn finish(&mut self) -> Finish {
        let (house, launch) = (self.house.clone(), self.launch.clone());
        match blocking(move || house.resolve(&Wish::from(&*launch))).await {
            Ok(resolved) => Rounds::new(self, Arc::new(resolved)).run().await,
            Err(fault) => self.unstarted(None, None, fault),
        }
    }

    /// A run that did not start.
    pub(super) fn unstarted(
        &self,
        resolved: Option<&Resolved>,
        policy: Option<&Policy>,
        fault: LaunchFault,
    ) -> Finish {
        let words: Vec<OsString> =
            self.launch.command.iter().map(|word| word.as_os_str().to_owned()).collect();
        let report =
            confine_runner::unstarted(&words, resolved.map(|known| &known.cwd), policy, fault.clone());
        Finish { report, outcome: Outcome::LauncherFailed(fault) }
    }

    /// One launch under `policy`, until its tree is gone and everything that it wrote is said.
    pub(super) async fn attempt(
        &mut self,
        attempt: u32,
        resolved: &Arc<Resolved>,
        policy: &Policy,
    ) -> Result<Finish, LaunchFault> {
        let (stdin, mut feeding) = self.stdin()?;
        let (house, launch, resolved, policy) =
            (self.house.clone(), self.launch.clone(), resolved.clone(), policy.clone());
        let runtime = Handle::current();
        let mut run = blocking(move || {
            let command = house.command_of(&launch, &resolved, &policy)?.stdin(stdin);
            runtime.block_on(command.spawn()).map_err(|refused| refused.fault())
        })
        .await?;
        let (voice, name, id) = (self.voice.clone(), self.launch.run.clone(), run.id().to_owned());
        let relay = Relay { voice, run: name, attempt, id, pid: run.pid() };
        let events = run.events();
        let (outcome, report) = tokio::join!(relay.relay(events), self.steer(run));
        feeding.abort_all();
        let outcome = outcome.unwrap_or_else(|| unannounced(&report));
        Ok(Finish { report, outcome })
    }

    /// What the program reads, and whoever writes it.
    fn stdin(&mut self) -> Result<(Stdio, JoinSet<()>), LaunchFault> {
        let system = |error| fault::system(LaunchStage::Spawn, "prepare its standard input", &error);
        let mut feeding = JoinSet::new();
        let stdin = match (&self.launch.stdin, self.outlet.take()) {
            (Stdin::Data(data), _) => Stdio::Fd(stdin::file(data).map_err(system)?),
            (Stdin::Pipe, Some(outlet)) => {
                let (pipe, descriptor) = stdin::pipe().map_err(system)?;
                feeding.spawn(outlet.pour(pipe, self.launch.run.clone(), self.voice.clone()));
                Stdio::Fd(descriptor)
            }
            (Stdin::Null | Stdin::Pipe, _) => Stdio::Null,
        };
        Ok((stdin, feeding))
    }

    /// Does what the client orders until the tree is gone.
    async fn steer(&mut self, run: Run) -> Report {
        let cancel = run.canceller();
        let waited = run.wait();
        tokio::pin!(waited);
        loop {
            if self.cancelled {
                cancel.cancel(None);
                return waited.await;
            }
            let order = tokio::select! {
                biased;
                order = self.orders.recv() => order,
                report = &mut waited => return report,
            };
            if let Some(Order::Signal(signal)) = order {
                cancel.signal(signal);
            }
            self.heed(order);
        }
    }

    /// Takes what the client ordered since; whether it wants no more of the run.
    pub(super) fn is_cancelled(&mut self) -> bool {
        loop {
            match self.orders.try_recv() {
                Ok(order) => self.heed(Some(order)),
                Err(TryRecvError::Disconnected) => self.heed(None),
                Err(TryRecvError::Empty) => return self.cancelled,
            }
            if self.cancelled {
                return true;
            }
        }
    }

    /// Until a question of this run is no longer wanted.
    pub(super) async fn stopped(&mut self) {
        loop {
            let order = self.orders.recv().await;
            self.heed(order);
            if !matches!(order, Some(Order::Signal(_))) {
                return;
            }
        }
    }

    /// What stays of an order. Without anybody who gives them, the run is over.
    fn heed(&mut self, order: Option<Order>) {
        match order {
            Some(Order::Signal(_)) => {}
            Some(Order::Leave) => self.turn = None,
            Some(Order::Cancel) | None => self.cancelled = true,
        }
    }
}

/// Does what takes a while and waits for nobody, beside the connections.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LaunchFault> + Send + 'static,
) -> Result<T, LaunchFault> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(LaunchFault::new(LaunchStage::Spawn, "go on: confine itself failed")))
}

/// Every outcome is announced; without one, the report's own fault counts.
fn unannounced(report: &Report) -> Outcome {
    let unknown = || LaunchFault::new(LaunchStage::Status, "tell how the run ended: nothing was recorded");
    Outcome::LauncherFailed(report.launch_fault.clone().unwrap_or_else(unknown))
}
