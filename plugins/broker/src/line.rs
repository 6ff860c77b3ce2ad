//! The line of one connection, written when it is over, however that comes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use confine_core::egress::host::Endpoint;
use confine_core::egress::tool::ToolError;
use confine_core::secret::Redaction;

use crate::audit::{Audit, Connection, Decision, Note, Tool};
use crate::host::CallHost;
use crate::reach::Want;

/// What becomes the line.
pub(crate) struct Line {
    audit: Arc<dyn Audit>,
    redaction: Redaction,
    tool: Tool,
    want: Want,
    endpoint: Endpoint,
    began: Instant,
    pub(crate) address: Option<SocketAddr>,
    pub(crate) decision: Decision,
    /// Bytes of bodies, not of heads.
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    /// 0 while there is none.
    pub(crate) status: AtomicU64,
    error: Option<String>,
    is_over: bool,
}

impl Line {
    pub(crate) fn new(host: &CallHost, want: Want, endpoint: &Endpoint) -> Self {
        Self {
            audit: host.audit(),
            redaction: host.redaction().clone(),
            tool: host.tool_note(),
            want,
            endpoint: endpoint.clone(),
            began: Instant::now(),
            address: None,
            decision: Decision::Undecided,
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            status: AtomicU64::new(0),
            error: None,
            is_over: false,
        }
    }

    pub(crate) fn end(&mut self, error: Option<&ToolError>) {
        self.error = error.map(|error| error.text.clone());
        self.is_over = true;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.is_over {
            self.error = Some("the call was ended".to_owned());
        }
        let (kind, method) = match self.want {
            Want::Fetch(method) => ("http", Some(method)),
            Want::Connect => ("tcp", None),
        };
        let status = u16::try_from(self.status.load(Ordering::Relaxed)).ok().filter(|status| *status > 0);
        self.audit.note(&Note::Connection(Connection {
            tool: self.tool.clone(),
            kind,
            method,
            // A tool chooses the host, and may have heard a secret.
            host: self.redaction.text(&self.endpoint.host.to_string()),
            port: self.endpoint.port,
            address: self.address.map(|address| address.ip()),
            decision: self.decision.clone(),
            status,
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            duration_us: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            error: self.error.take().map(|error| self.redaction.text(&error)),
        }));
    }
}
