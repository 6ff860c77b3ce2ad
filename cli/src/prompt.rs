//! The terminal as an approver: the question on `/dev/tty`, whatever the command's own streams are.
//!
//! The program that is asked about cannot answer: it has no controlling terminal, and it has ended. What was typed before
//! the question stood there is dropped, and so is what a terminal sends by itself.

mod claim;
mod device;
mod grant;
mod key;
mod line;
mod view;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confine_core::approval::{Answer, ApprovalRequest, Approver, DEADLINE, async_trait};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::modes;

use device::{Device, Style};
use line::{Entered, Line};

pub(crate) use claim::Claim;
pub(crate) use device::is_there;

/// The question as the terminal shows it, for another channel.
pub(crate) fn lines(request: &ApprovalRequest) -> Vec<String> {
    view::question(request).lines().map(str::to_owned).collect()
}

/// How often the time that is left is shown again.
const TICK: Duration = Duration::from_millis(250);

/// How long a question may take to go away.
const PATIENCE: Duration = Duration::from_secs(2);

/// The person at the controlling terminal, who reads one question at a time.
#[derive(Debug, Default)]
pub(crate) struct Person {
    reads: Mutex<()>,
    /// Whether the end of a question is still to be said.
    is_open: AtomicBool,
}

impl Person {
    /// Once no question stands on the terminal, and its modes are as before. An approver is not waited for by whoever asks:
    /// at the deadline it may be about to clear up.
    pub(crate) async fn is_done(&self) {
        let _ = timeout(PATIENCE, self.reads.lock()).await;
        modes::restore();
    }

    /// Says how the question on the terminal ended, once that is certain. Nothing where none was shown.
    pub(crate) fn ends(&self, how: &str) {
        if self.is_open.swap(false, Ordering::SeqCst) {
            device::say(&format!("confine: {how}"));
        }
    }
}

#[async_trait]
impl Approver for Person {
    /// `None` where nobody is there, or nobody any more.
    async fn answer(&self, request: &ApprovalRequest) -> Option<Answer> {
        let _reads = self.reads.lock().await;
        let mut conversation = Conversation::begin(request, &self.is_open).await.ok()?;
        conversation.answer().await.ok()
    }
}

/// One question that is being asked.
struct Conversation<'a> {
    request: &'a ApprovalRequest,
    device: Device,
    line: Line,
    began: Instant,
    status: String,
}

impl<'a> Conversation<'a> {
    async fn begin(request: &'a ApprovalRequest, is_open: &AtomicBool) -> io::Result<Self> {
        let (device, began) = (Device::take()?, Instant::now());
        is_open.store(true, Ordering::SeqCst);
        device.show(&view::question(request)).await?;
        Ok(Self { request, device, line: Line::default(), began, status: String::new() })
    }

    /// The answer. An error where the terminal is gone.
    async fn answer(&mut self) -> io::Result<Answer> {
        loop {
            self.count().await?;
            let keys = self.device.keys(TICK).await?;
            match self.line.take(&keys, self.began.elapsed()) {
                Entered::Nothing => {}
                Entered::Cancel => return Ok(Answer::Cancel),
                Entered::Line(typed) => {
                    if let Some(answer) = self.read(&typed).await? {
                        return Ok(answer);
                    }
                }
            }
        }
    }

    /// Shows the last line again where it is another one, over the one before; once, where rows cannot be erased.
    async fn count(&mut self) -> io::Result<()> {
        if self.device.style() == Style::Lines && !self.status.is_empty() {
            return Ok(());
        }
        let left = DEADLINE.saturating_sub(self.began.elapsed());
        let status = view::status(&self.request.choices, left, self.line.typed(), self.device.columns());
        if status == self.status {
            return Ok(());
        }
        self.device.replace(&status).await?;
        self.status = status;
        Ok(())
    }

    /// What a line says; one that says nothing is explained, and the question stays.
    async fn read(&mut self, typed: &str) -> io::Result<Option<Answer>> {
        let answer = key::answer(&self.request.choices, typed);
        let text = match &answer {
            Some(_) => return Ok(answer),
            None if key::asks_for_the_whole(typed) => view::whole(self.request),
            None => view::misunderstood(&self.request.choices),
        };
        self.status.clear();
        // The terminal that edits lines has echoed the end of this one.
        let end = if self.device.style() == Style::Lines { "" } else { "\n" };
        self.device.print(&format!("{end}{text}")).await?;
        Ok(None)
    }
}

/// Also where the time is over, or somebody else answered: the question is closed, so that nobody answers it any more.
impl Drop for Conversation<'_> {
    fn drop(&mut self) {
        self.device.print_now("\n");
    }
}
