//! Signals that end the service.

use confine_core::{LaunchFault, LaunchStage};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::fault;

/// INT, TERM and HUP.
pub(super) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Stop {
    /// From now on, these no longer end the process by themselves. Inside a runtime.
    pub(super) fn install() -> Result<Self, LaunchFault> {
        let watch = |kind| {
            signal(kind).map_err(|error| fault::system(LaunchStage::Usage, "watch for signals", &error))
        };
        Ok(Self {
            interrupt: watch(SignalKind::interrupt())?,
            terminate: watch(SignalKind::terminate())?,
            hangup: watch(SignalKind::hangup())?,
        })
    }

    /// Waits for one. Cancel-safe.
    pub(super) async fn told(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
