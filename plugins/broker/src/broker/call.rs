//! One call, of any kind of tool.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use confine_core::egress::manifest::ToolName;
use confine_core::egress::tool::{Code, Sink, ToolError};

use super::{Loaded, Shared};
use crate::audit::{Call, Note};
use crate::host::CallHost;
use crate::reply::Reply;

/// The line of a call, written when it is over, however that comes.
struct Account<'a> {
    shared: &'a Shared,
    host: &'a CallHost,
    began: Instant,
    reply_bytes: u64,
    ended: Option<(i32, Option<String>)>,
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        let dropped = || (Code::Cancelled.number(), Some("whoever called wants it no more".to_owned()));
        let (code, error) = self.ended.take().unwrap_or_else(dropped);
        self.shared.audit.note(&Note::Call(Call {
            tool: self.host.tool_note(),
            code,
            error,
            reply_bytes: self.reply_bytes,
            duration_us: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
        }));
    }
}

pub(super) async fn call(
    shared: &Arc<Shared>,
    name: &ToolName,
    input: &serde_json::Value,
    sink: &mut dyn Sink,
) -> Result<(), ToolError> {
    let loaded = shared.tools.lock().unwrap_or_else(|poison| poison.into_inner()).get(name).cloned();
    let loaded =
        loaded.ok_or_else(|| ToolError::new(Code::BadInput, format!("there is no tool `{name}`")))?;
    let number = shared.calls.fetch_add(1, Ordering::Relaxed) + 1;
    let host = CallHost::new(shared.clone(), loaded.reach.clone(), number);
    let mut account = Account { shared, host: &host, began: Instant::now(), reply_bytes: 0, ended: None };
    let limit = host.manifest().limits.reply_bytes;
    let mut reply = Reply::new(sink, shared.redaction.stream(), limit);
    let ended = run(&loaded, &host, input, &mut reply).await;
    let ended = ended.map_err(|error| ToolError { text: shared.redaction.text(&error.text), ..error });
    account.reply_bytes = reply.bytes;
    account.ended = Some(match &ended {
        Ok(()) => (0, None),
        Err(error) => (error.code.number(), Some(error.text.clone())),
    });
    ended
}

async fn run(
    loaded: &Loaded,
    host: &CallHost,
    input: &serde_json::Value,
    reply: &mut Reply<'_>,
) -> Result<(), ToolError> {
    let manifest = host.manifest();
    let fits = manifest.input.check(input);
    fits.map_err(|error| ToolError::new(Code::BadInput, format!("the input: {error}")))?;
    let ended = tokio::select! {
        ended = loaded.tool.call(input, host, reply) => ended,
        () = host.patience.expired() => {
            host.cancel();
            let text = format!("`{}` took longer than {} ms", manifest.name, manifest.limits.timeout_ms);
            return Err(ToolError::new(Code::Failed, text));
        }
    };
    if reply.is_too_long() {
        let text =
            format!("`{}` replies with more than {} bytes", manifest.name, manifest.limits.reply_bytes);
        return Err(ToolError::new(Code::Failed, text));
    }
    ended?;
    reply.finish().await.map_err(|_| ToolError::new(Code::Cancelled, "the reply was not wanted any more"))
}
