//! The chain of approvers, and what keeps it from doing harm.
//!
//! Each approver is asked on a thread of its own, for one that blocks instead of waiting must not stop the clock that ends it.
//! One that panics has failed, and so has the request: the next is not asked, because whoever crashed may have shown the
//! question already.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use confine_core::approval::{Answer, ApprovalRequest, Approver, Failure};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// What asking an approver comes to.
enum Reply {
    Answer(Answer),
    NotMine,
    Panicked(String),
}

/// Asks one approver after the other. Dropping it drops the approver's future; a thread that blocks stays as long as it does.
///
/// # Errors
/// `Unavailable` where nobody answered, or one panicked.
pub(super) async fn ask(
    approvers: Vec<Arc<dyn Approver>>,
    request: Arc<ApprovalRequest>,
) -> Result<Answer, Failure> {
    let unavailable = |reason: String| Err(Failure::Unavailable { reason });
    if approvers.is_empty() {
        // The desk has the words for it.
        return unavailable(String::new());
    }
    for approver in approvers {
        match one(approver, request.clone()).await {
            Ok(Reply::Answer(answer)) => return Ok(answer),
            Ok(Reply::NotMine) => {}
            Ok(Reply::Panicked(words)) => return unavailable(format!("the approver crashed: {words}")),
            Err(reason) => return unavailable(reason),
        }
    }
    unavailable("no approver answered".to_owned())
}

/// # Errors
/// Where no thread can be made, or the runtime has ended.
async fn one(approver: Arc<dyn Approver>, request: Arc<ApprovalRequest>) -> Result<Reply, String> {
    let (mut replied, reply) = oneshot::channel();
    let runtime = Handle::current();
    let asking = move || {
        let answered = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    // Nobody waits for it any more.
                    () = replied.closed() => None,
                    answer = approver.answer(&request) => Some(answer.map_or(Reply::NotMine, Reply::Answer)),
                }
            })
        }));
        let reply = answered.unwrap_or_else(|panic| Some(Reply::Panicked(words(&*panic))));
        if let Some(reply) = reply {
            // Whoever asked may be gone since.
            let _ = replied.send(reply);
        }
    };
    let thread = std::thread::Builder::new().name("confine-approver".into()).spawn(asking);
    thread.map_err(|error| format!("the approver cannot be asked: {error}"))?;
    reply.await.map_err(|_| "the approver ended without an answer".to_owned())
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
}

#[cfg(test)]
mod tests;
