//! The choices.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use confine_core::Effects;
use confine_core::egress::address::StaticNames;
use confine_core::egress::host::HostRules;
use confine_runner::Confine;
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::{Broker, BuildError, Shared, Unconfined};
use crate::approve::{Approve, Nobody};
use crate::audit::{Audit, Traced};
use crate::credential::Vault;
use crate::dial::{Dialler, Resolver, SystemResolver};
use crate::pool::Bounds;
use crate::tls::Trust;

/// Makes a [`Broker`]. Without more, no tool may be loaded, nothing is approved, and nobody is asked.
pub struct Builder {
    confine: Confine,
    program: Option<PathBuf>,
    unconfined: Unconfined,
    losses: Effects,
    listed: Vec<String>,
    rules: HostRules,
    names: StaticNames,
    resolver: Arc<dyn Resolver>,
    authorities: Vec<CertificateDer<'static>>,
    vault: Vault,
    approve: Arc<dyn Approve>,
    audit: Arc<dyn Audit>,
    bounds: Bounds,
}

impl Builder {
    pub(super) fn new(confine: Confine) -> Self {
        Self {
            confine,
            program: None,
            unconfined: Unconfined::Refuse,
            losses: Effects::default(),
            listed: Vec::new(),
            rules: HostRules::default(),
            names: StaticNames::new(),
            resolver: Arc::new(SystemResolver),
            authorities: Vec::new(),
            vault: Vault::default(),
            approve: Arc::new(Nobody),
            audit: Arc::new(Traced),
            bounds: Bounds::default(),
        }
    }

    /// The tools that may be loaded: the policy's `[egress] tools`.
    #[must_use]
    pub fn tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.listed.extend(names.into_iter().map(Into::into));
        self
    }

    /// Hosts that every tool may reach without asking, as far as its manifest declares them, and hosts that none may.
    #[must_use]
    pub fn rules(self, rules: HostRules) -> Self {
        Self { rules, ..self }
    }

    /// Addresses of names, instead of look-ups: the policy's `[network.resolve]`.
    #[must_use]
    pub fn names(self, names: StaticNames) -> Self {
        Self { names, ..self }
    }

    /// Who knows the addresses of other names, instead of the system.
    #[must_use]
    pub fn resolver(self, resolver: Arc<dyn Resolver>) -> Self {
        Self { resolver, ..self }
    }

    /// A certificate authority beyond the system's own, DER.
    #[must_use]
    pub fn authority(mut self, certificate: Vec<u8>) -> Self {
        self.authorities.push(certificate.into());
        self
    }

    /// The secrets that manifests ask for.
    #[must_use]
    pub fn vault(self, vault: Vault) -> Self {
        Self { vault, ..self }
    }

    /// Who is asked about hosts that are declared and neither allowed nor denied, instead of nobody.
    #[must_use]
    pub fn approve(self, approve: Arc<dyn Approve>) -> Self {
        Self { approve, ..self }
    }

    /// Where lines go, instead of to `tracing`.
    #[must_use]
    pub fn audit(self, audit: Arc<dyn Audit>) -> Self {
        Self { audit, ..self }
    }

    /// How many helpers of one plugin there may be, and for how long.
    #[must_use]
    pub fn bounds(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The file `confine-plugin-host`, which plugins are loaded into, where it lies neither beside the running executable nor
    /// in `../libexec/confine`.
    #[must_use]
    pub fn plugin_host(self, path: impl Into<PathBuf>) -> Self {
        Self { program: Some(path.into()), ..self }
    }

    /// What helpers may go without, beyond what is always accepted for them.
    #[must_use]
    pub fn accept_missing(mut self, effects: Effects) -> Self {
        self.losses.extend(effects.iter());
        self
    }

    /// What happens where nothing confines a helper, instead of a refusal.
    #[must_use]
    pub fn unconfined(self, unconfined: Unconfined) -> Self {
        Self { unconfined, ..self }
    }

    /// The broker.
    ///
    /// # Errors
    /// Secrets that cannot be looked for in what is written.
    pub fn build(self) -> Result<Broker, BuildError> {
        let redaction = self.vault.redaction()?;
        let shared = Shared {
            confine: self.confine,
            program: self.program,
            unconfined: self.unconfined,
            losses: self.losses,
            listed: self.listed.into_iter().collect(),
            rules: self.rules,
            dialler: Dialler { resolver: self.resolver, names: Arc::new(self.names) },
            trust: Trust::with(self.authorities),
            vault: self.vault,
            redaction,
            approve: self.approve,
            audit: self.audit,
            bounds: self.bounds,
            calls: AtomicU64::new(0),
            tools: Mutex::new(BTreeMap::new()),
        };
        Ok(Broker { shared: Arc::new(shared) })
    }
}
