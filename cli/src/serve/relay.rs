//! What happens in a run, on its way to the client.

use confine_core::Outcome;
use confine_core::protocol::{Chunk, Name, Started, Stream, ToClient};
use confine_runner::{Event, Events};

use super::channel::Voice;
use super::text::Joint;

/// One launch of a run.
pub(super) struct Relay {
    pub(super) voice: Voice,
    pub(super) run: Name,
    /// Which launch, from 0.
    pub(super) attempt: u32,
    /// As the report has it.
    pub(super) id: String,
    pub(super) pid: u32,
}

impl Relay {
    /// Until there is no more. The outcome, where it was announced. A client that is gone has its runs ended elsewhere.
    pub(super) async fn relay(self, mut events: Events) -> Option<Outcome> {
        let mut outcome = None;
        let (mut stdout, mut stderr) = (Joint::default(), Joint::default());
        while let Some(event) = events.next().await {
            match event {
                Event::Stdout(bytes) => self.chunk(Stream::Stdout, stdout.join(bytes)).await,
                Event::Stderr(bytes) => self.chunk(Stream::Stderr, stderr.join(bytes)).await,
                Event::Started { .. } => self.started().await,
                Event::Exited(how) => outcome = Some(how),
                // They are in the report.
                Event::Violation(_) | Event::Denial(_) => {}
            }
        }
        self.chunk(Stream::Stdout, stdout.rest()).await;
        self.chunk(Stream::Stderr, stderr.rest()).await;
        outcome
    }

    async fn started(&self) {
        let (run, id) = (self.run.clone(), self.id.clone());
        let started = Started { run, attempt: self.attempt, id, pid: self.pid };
        let _ = self.voice.say(&ToClient::RunStarted(started)).await;
    }

    async fn chunk(&self, stream: Stream, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            let chunk = Chunk { run: self.run.clone(), attempt: self.attempt, stream, data: bytes.into() };
            let _ = self.voice.say(&ToClient::RunOutput(chunk)).await;
        }
    }
}
