//! Asking about a connection that is declared and that nobody has decided about.

use std::sync::Arc;

use async_trait::async_trait;
use confine_core::Policy;
use confine_core::egress::Manifest;
use confine_core::egress::host::Endpoint;
use confine_runner::approvals::{Approvals, Asked, Turn};

/// Whoever decides.
#[async_trait]
pub trait Approve: Send + Sync {
    /// Whether `tool` may connect to `endpoint`, this time.
    async fn connect(&self, tool: &Manifest, endpoint: &Endpoint) -> Approval;
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Yes.
    Given,
    /// No; why, for whoever asked.
    Refused(String),
}

/// Nobody is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

#[async_trait]
impl Approve for Nobody {
    async fn connect(&self, _: &Manifest, _: &Endpoint) -> Approval {
        Approval::Refused(confine_core::approval::NOBODY.to_owned())
    }
}

/// A session and a turn of it: what it allowed before is not asked again, and what was answered is written down.
#[derive(Clone, Debug)]
pub struct Session {
    /// The session.
    pub approvals: Approvals,
    /// An open turn of it.
    pub turn: Arc<Turn>,
    /// The policy in force.
    pub policy: Arc<Policy>,
}

#[async_trait]
impl Approve for Session {
    async fn connect(&self, tool: &Manifest, endpoint: &Endpoint) -> Approval {
        let host = endpoint.host.to_string();
        let asked = Asked::connect(host, endpoint.port, self.policy.clone())
            .justification(format!("the tool `{}` wants to reach it", tool.name));
        let decided = match self.approvals.request(&self.turn, &asked).await {
            Ok(decided) => decided,
            Err(error) => return Approval::Refused(error.to_string()),
        };
        let Some(pass) = decided.pass else {
            return Approval::Refused(decided.outcome.reason().to_owned());
        };
        match pass.consume(&asked).await {
            Ok(_) => Approval::Given,
            Err(refused) => Approval::Refused(refused.to_string()),
        }
    }
}
