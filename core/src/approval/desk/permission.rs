//! The knobs of a session.

use std::io;
use std::time::Duration;

use super::outcome::never;
use super::{Desk, Log, Settled};
use crate::approval::{ApprovalPolicy, Preset, SessionMode};
use crate::audit::Event;

impl Desk {
    /// Chooses a preset.
    ///
    /// # Errors
    /// The log's.
    pub fn choose(&mut self, preset: &Preset, now: Duration, log: &mut dyn Log) -> io::Result<Vec<Settled>> {
        let Preset { name, mode, approval } = preset.clone();
        let mut events = vec![
            Event::PresetChosen { preset: name, mode, approval },
            Event::ModeSet { mode },
            Event::ApprovalSet { approval },
        ];
        events.extend(self.silenced(approval));
        self.commit(events, now, log)
    }

    /// Sets the mode alone.
    ///
    /// # Errors
    /// The log's.
    pub fn set_mode(&mut self, mode: SessionMode, now: Duration, log: &mut dyn Log) -> io::Result<()> {
        self.commit(vec![Event::ModeSet { mode }], now, log).map(drop)
    }

    /// Sets the approval policy alone.
    ///
    /// # Errors
    /// The log's.
    pub fn set_approval(
        &mut self,
        approval: ApprovalPolicy,
        now: Duration,
        log: &mut dyn Log,
    ) -> io::Result<Vec<Settled>> {
        let mut events = vec![Event::ApprovalSet { approval }];
        events.extend(self.silenced(approval));
        self.commit(events, now, log)
    }

    fn silenced(&self, approval: ApprovalPolicy) -> Vec<Event> {
        match approval {
            ApprovalPolicy::Ask => Vec::new(),
            ApprovalPolicy::Never => self.all(never(), |_| true),
        }
    }
}
