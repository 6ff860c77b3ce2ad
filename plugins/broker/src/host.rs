//! What one call of a tool reaches the network by: every check is made here, whatever kind of tool it is.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use confine_core::egress::Manifest;
use confine_core::egress::address::Granted;
use confine_core::egress::host::{Endpoint, Host};
use confine_core::egress::tool::{
    self, Code, EgressHost, Request, Response, Source, Target, ToolError, async_trait,
};
use confine_core::secret::{Redaction, Secret};

use crate::approve::Approval;
use crate::audit::{Audit, Decision, Tool};
use crate::broker::Shared;
use crate::dial::{DialError, Dialled};
use crate::fetch;
use crate::line::Line;
use crate::patience::Patience;
use crate::reach::{Reach, Standing, Want};
use crate::tls::Trust;

/// The most lines of one call that are logged, and the longest, in characters.
const LINES: u32 = 1_000;
const LONGEST_LINE: usize = 4_096;

/// One call's.
pub(crate) struct CallHost {
    shared: Arc<Shared>,
    reach: Arc<Reach>,
    note: Tool,
    pub(crate) patience: Patience,
    cancelled: AtomicBool,
    lines: AtomicU32,
}

impl CallHost {
    pub(crate) fn new(shared: Arc<Shared>, reach: Arc<Reach>, call: u64) -> Self {
        let manifest = &reach.manifest;
        let note = Tool {
            tool: manifest.name.clone(),
            version: manifest.version.clone(),
            manifest: manifest.digest(),
            call,
        };
        let patience = Patience::new(manifest.limits.timeout());
        let (cancelled, lines) = (AtomicBool::new(false), AtomicU32::new(0));
        Self { shared, reach, note, patience, cancelled, lines }
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.reach.manifest
    }

    pub(crate) fn redaction(&self) -> &Redaction {
        &self.shared.redaction
    }

    pub(crate) fn secret(&self, name: &str) -> Option<&Secret> {
        self.shared.vault.secret(name)
    }

    pub(crate) fn tls(&self) -> &Trust {
        &self.shared.trust
    }

    pub(crate) fn audit(&self) -> Arc<dyn Audit> {
        self.shared.audit.clone()
    }

    pub(crate) fn tool_note(&self) -> Tool {
        self.note.clone()
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Decides, resolves, vets and dials.
    ///
    /// # Errors
    /// What is not declared or not allowed, and what cannot be reached.
    pub(crate) async fn open(
        &self,
        want: Want,
        endpoint: &Endpoint,
        line: &mut Line,
    ) -> Result<Dialled, ToolError> {
        let denied = |text| Err(ToolError::new(Code::Denied, text));
        let mut granted = Granted::by_rules(&self.reach.rules.allow);
        line.decision = match self.reach.standing(want, endpoint) {
            Standing::Undeclared => Decision::Undeclared,
            Standing::Denied(rule) => Decision::Denied(rule.to_string()),
            Standing::Allowed(rule) => Decision::Allowed(rule.to_string()),
            Standing::Unlisted => self.ask(endpoint).await,
        };
        match &line.decision {
            Decision::Undeclared => {
                return denied(format!("`{}` does not declare {want} `{endpoint}`", self.manifest().name));
            }
            Decision::Denied(rule) => return denied(format!("the rule `{rule}` denies `{endpoint}`")),
            Decision::Refused(why) => return denied(format!("`{endpoint}` was not approved: {why}")),
            Decision::Approved => {
                // Whoever says yes to an address means it; whoever says yes to a name does not know where it leads.
                if let Host::Address(address) = endpoint.host {
                    granted = granted.and_addresses([address]);
                }
            }
            Decision::Allowed(_) | Decision::Undecided => {}
        }
        let dialled = self.shared.dialler.dial(endpoint, &self.reach.rules, granted).await;
        let dialled = dialled.map_err(|error| refused(&error))?;
        line.address = Some(dialled.address);
        Ok(dialled)
    }

    async fn ask(&self, endpoint: &Endpoint) -> Decision {
        let _pause = self.patience.pause();
        match self.shared.approve.connect(self.manifest(), endpoint).await {
            Approval::Given => Decision::Approved,
            Approval::Refused(why) => Decision::Refused(why),
        }
    }

    async fn connected(&self, endpoint: &Endpoint, line: &mut Line) -> Result<OwnedFd, ToolError> {
        let dialled = self.open(Want::Connect, endpoint, line).await?;
        let handed = dialled.stream.into_std().and_then(|stream| {
            stream.set_nonblocking(false)?;
            Ok(OwnedFd::from(stream))
        });
        handed.map_err(|error| ToolError::new(Code::Failed, error.to_string()))
    }
}

fn refused(error: &DialError) -> ToolError {
    let code = match error {
        DialError::Forbidden { .. } | DialError::Denied { .. } => Code::Denied,
        DialError::Unknown { .. } | DialError::Unreachable { .. } => Code::Failed,
    };
    ToolError::new(code, error.to_string())
}

#[async_trait]
impl EgressHost for CallHost {
    async fn fetch(
        &self,
        request: &Request,
        upload: Option<&mut (dyn Source + '_)>,
        response: &mut (dyn Response + '_),
    ) -> Result<(), ToolError> {
        let fetched = fetch::fetch(self, request, upload, response).await;
        fetched.map_err(|error| ToolError { text: self.redaction().text(&error.text), ..error })
    }

    async fn connect(&self, target: &Target) -> Result<OwnedFd, ToolError> {
        let endpoint = tool::Target::endpoint(target);
        let endpoint = endpoint.map_err(|error| ToolError::new(Code::BadInput, error.to_string()))?;
        let mut line = Line::new(self, Want::Connect, &endpoint);
        let connected = self.connected(&endpoint, &mut line).await;
        line.end(connected.as_ref().err());
        connected
    }

    fn log(&self, level: u8, text: &str) {
        if self.lines.fetch_add(1, Ordering::Relaxed) >= LINES {
            return;
        }
        let text: String = text.chars().take(LONGEST_LINE).collect();
        let text = self.redaction().text(&text);
        let tool = &self.note.tool;
        match level {
            0 | 1 => tracing::error!(target: "confine::egress::tool", %tool, "{text}"),
            2 => tracing::warn!(target: "confine::egress::tool", %tool, "{text}"),
            3 => tracing::info!(target: "confine::egress::tool", %tool, "{text}"),
            _ => tracing::debug!(target: "confine::egress::tool", %tool, "{text}"),
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
