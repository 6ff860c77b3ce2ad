//! Approvers for tests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use confine_core::approval::{Answer, ApprovalRequest, Approver, async_trait};

type Does = Box<dyn Fn(&ApprovalRequest) -> Option<Answer> + Send + Sync>;

/// Answers as it is told to, and remembers what it was shown.
pub(crate) struct Scripted {
    does: Does,
    pub(crate) seen: Mutex<Vec<ApprovalRequest>>,
}

impl Scripted {
    pub(crate) fn new(
        does: impl Fn(&ApprovalRequest) -> Option<Answer> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { does: Box::new(does), seen: Mutex::default() })
    }

    pub(crate) fn always(answer: Answer) -> Arc<Self> {
        Self::new(move |_| Some(answer.clone()))
    }

    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

#[async_trait]
impl Approver for Scripted {
    async fn answer(&self, request: &ApprovalRequest) -> Option<Answer> {
        self.seen.lock().unwrap().push(request.clone());
        (self.does)(request)
    }
}

/// Has a question, and never answers it.
#[derive(Default)]
pub(crate) struct Hanging {
    pub(crate) seen: Mutex<Vec<ApprovalRequest>>,
    /// How many questions it holds.
    pub(crate) held: Arc<AtomicUsize>,
}

struct Hold(Arc<AtomicUsize>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Approver for Hanging {
    async fn answer(&self, request: &ApprovalRequest) -> Option<Answer> {
        self.held.fetch_add(1, Ordering::SeqCst);
        let _hold = Hold(self.held.clone());
        self.seen.lock().unwrap().push(request.clone());
        std::future::pending().await
    }
}

impl Hanging {
    /// The question it was given at place `index`, once it has it.
    pub(crate) async fn question(&self, index: usize) -> ApprovalRequest {
        loop {
            if let Some(request) = self.seen.lock().unwrap().get(index) {
                return request.clone();
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}
