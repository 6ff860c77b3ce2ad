//! What happens during a run, to whoever listens.
//!
//! One queue keeps the order. Output needs room in a budget of bytes, so a slow reader blocks the program; what the
//! runner itself has to say never waits, so a slow reader cannot hold up a time limit.

use std::sync::Arc;

use confine_core::Outcome;
use confine_core::denial::Denial;
use confine_core::report::Violation;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Output on its way to the reader, in bytes.
const BUDGET: usize = 256 * 1024;

/// What happens during a run, in order. The channel is bounded: a slow reader blocks the program, never the memory.
#[derive(Debug)]
pub enum Event {
    /// execve(2) succeeded.
    Started {
        /// The program's process id as the stage sees it.
        pid: i32,
    },
    /// Output.
    Stdout(Vec<u8>),
    /// Output.
    Stderr(Vec<u8>),
    /// Something against the policy was seen.
    Violation(Violation),
    /// The program ended; the tree ends next.
    Exited(Outcome),
    /// Something was refused, as far as evidence goes: after the end, when everything is read.
    Denial(Denial),
}

/// The events of a run; without a reader they are dropped, output is still captured.
pub struct Events {
    queue: mpsc::UnboundedReceiver<Item>,
    budget: Arc<Semaphore>,
}

/// The other end.
#[derive(Clone)]
pub(crate) struct Announcer {
    queue: mpsc::UnboundedSender<Item>,
    budget: Arc<Semaphore>,
}

struct Item {
    event: Event,
    /// Given back when the reader has the event.
    _room: Option<OwnedSemaphorePermit>,
}

/// Both ends.
pub(crate) fn channel() -> (Announcer, Events) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let budget = Arc::new(Semaphore::new(BUDGET));
    (Announcer { queue: sender, budget: budget.clone() }, Events { queue: receiver, budget })
}

impl Events {
    /// The next one; `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        self.queue.recv().await.map(|item| item.event)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.budget.close();
    }
}

impl Announcer {
    /// Says something without waiting.
    pub(crate) fn say(&self, event: Event) {
        // Without a reader, events are dropped.
        let _ = self.queue.send(Item { event, _room: None });
    }

    /// Sends output, and waits for room.
    pub(crate) async fn output(&self, event: Event, bytes: usize) {
        if self.queue.is_closed() {
            return;
        }
        let room = u32::try_from(bytes.min(BUDGET)).unwrap_or(u32::MAX);
        let room = self.budget.clone().acquire_many_owned(room).await.ok();
        let _ = self.queue.send(Item { event, _room: room });
    }

    /// From now on output does not wait either: once the tree is dead, what is left in its pipes is bounded by itself.
    pub(crate) fn release(&self) {
        self.budget.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test(flavor = "current_thread")]
    async fn output_waits_for_a_slow_reader_and_the_runner_does_not() {
        let (announcer, mut events) = channel();
        announcer.output(Event::Stdout(vec![0; BUDGET]), BUDGET).await;
        let more = announcer.output(Event::Stdout(vec![0]), 1);
        assert!(timeout(Duration::from_millis(20), more).await.is_err());
        announcer.say(Event::Started { pid: 1 });
        assert!(matches!(events.next().await, Some(Event::Stdout(_))));
        announcer.output(Event::Stderr(vec![0]), 1).await;
        assert!(matches!(events.next().await, Some(Event::Started { .. })));
        assert!(matches!(events.next().await, Some(Event::Stderr(_))));
        drop(announcer);
        assert!(events.next().await.is_none());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn without_a_reader_nothing_waits() {
        let (announcer, events) = channel();
        drop(events);
        for _ in 0..100 {
            announcer.output(Event::Stdout(vec![0; BUDGET]), BUDGET).await;
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn after_the_tree_is_dead_output_is_still_delivered() {
        let (announcer, mut events) = channel();
        announcer.output(Event::Stdout(vec![0; BUDGET]), BUDGET).await;
        announcer.release();
        announcer.output(Event::Stdout(vec![1]), 1).await;
        drop(announcer);
        assert!(events.next().await.is_some());
        assert!(matches!(events.next().await, Some(Event::Stdout(last)) if last == [1]));
    }
}
