//! Tools by name: what may be loaded, what was, and their calls.

mod builder;
mod call;
mod error;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use confine_core::egress::Manifest;
use confine_core::egress::host::{HostPattern, HostRules};
use confine_core::egress::manifest::ToolName;
use confine_core::egress::tool::{EgressTool, Sink, ToolError};
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{PolicyFile, Source};
use confine_core::secret::Redaction;
use confine_core::{AbsPath, Effects, Policy, Text};
use confine_runner::Confine;
use confine_runner::find::Find;
use confine_runner::places::Places;
use confine_runner::view::HostView;

use crate::approve::Approve;
use crate::audit::Audit;
use crate::credential::Vault;
use crate::dial::Dialler;
use crate::plugin::{Approved, Plugin};
use crate::pool::{Bounds, Pool};
use crate::reach::Reach;
use crate::spec::{Confinement, Spec};
use crate::tls::Trust;
use crate::tool::PluginTool;

pub use builder::Builder;
pub use error::{BuildError, LoadError};

/// What happens to plugins where nothing can confine their helpers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unconfined {
    /// They are not loaded.
    #[default]
    Refuse,
    /// They are loaded into a process that may do whatever this user may. Each start is an error in the log.
    Allow,
}

/// A broker. Cheap to clone; every clone is the same one. It lives in a tokio runtime with I/O and time.
#[derive(Clone)]
pub struct Broker {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) confine: Confine,
    pub(crate) program: Option<PathBuf>,
    pub(crate) unconfined: Unconfined,
    pub(crate) losses: Effects,
    pub(crate) listed: BTreeSet<String>,
    pub(crate) rules: HostRules,
    pub(crate) dialler: Dialler,
    pub(crate) trust: Trust,
    pub(crate) vault: Vault,
    pub(crate) redaction: Redaction,
    pub(crate) approve: Arc<dyn Approve>,
    pub(crate) audit: Arc<dyn Audit>,
    pub(crate) bounds: Bounds,
    pub(crate) calls: AtomicU64,
    pub(crate) tools: Mutex<BTreeMap<ToolName, Loaded>>,
}

/// A tool that may be called.
#[derive(Clone)]
pub(crate) struct Loaded {
    tool: Arc<dyn EgressTool>,
    reach: Arc<Reach>,
}

impl Broker {
    /// With choices. Helpers are confined by `confine`.
    pub fn builder(confine: Confine) -> Builder {
        Builder::new(confine)
    }

    /// Loads a plugin that the policy lists and that is what was approved. Its first call starts a helper; until then no code
    /// of it runs.
    ///
    /// # Errors
    /// A plugin that is not listed, is not what was approved, or that nothing here can confine.
    pub fn load(&self, approved: &Approved) -> Result<Manifest, LoadError> {
        self.listed(&approved.name)?;
        let plugin = Plugin::verified(approved)?;
        let (manifest, memory) = plugin.into_parts();
        let program = self.program()?;
        let confinement = self.confinement(&manifest, &program)?;
        let config = approved.config.to_string().into_bytes();
        let program = program.as_path().to_owned();
        let spec = Spec { manifest: manifest.clone(), memory, config, program, confinement };
        let pool = Pool::new(spec, self.shared.bounds);
        self.insert(Arc::new(PluginTool { pool }), &approved.hosts);
        Ok(manifest)
    }

    /// Takes in a tool that is linked, with the hosts that the user approved for it: from then on it is held to its manifest
    /// as every plugin is.
    ///
    /// # Errors
    /// A tool that the policy does not list.
    pub fn register(&self, tool: Arc<dyn EgressTool>, approved: &[HostPattern]) -> Result<(), LoadError> {
        self.listed(&tool.manifest().name)?;
        self.insert(tool, approved);
        Ok(())
    }

    /// The manifests of all that may be called, by name.
    pub fn inventory(&self) -> Vec<Manifest> {
        self.tools().values().map(|loaded| loaded.reach.manifest.clone()).collect()
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// With the code of the ABI that fits; the text holds no secret. Dropping the future ends the call.
    pub async fn call(
        &self,
        name: &ToolName,
        input: &serde_json::Value,
        reply: &mut dyn Sink,
    ) -> Result<(), ToolError> {
        call::call(&self.shared, name, input, reply).await
    }

    fn listed(&self, name: &ToolName) -> Result<(), LoadError> {
        if self.shared.listed.contains(name.as_str()) {
            return Ok(());
        }
        let listed = self.shared.listed.iter().cloned().collect();
        Err(LoadError::Unlisted { name: name.clone(), listed })
    }

    fn insert(&self, tool: Arc<dyn EgressTool>, approved: &[HostPattern]) {
        let manifest = tool.manifest().clone();
        let name = manifest.name.clone();
        let reach = Arc::new(Reach::new(manifest, &self.shared.rules, approved));
        self.tools().insert(name, Loaded { tool, reach });
    }

    fn program(&self) -> Result<AbsPath, LoadError> {
        // Found beside the named file: itself, since it has that name.
        let executable = self.shared.program.clone().or_else(|| std::env::current_exe().ok());
        let found = Find { executable, ..Find::default() }.plugin_host();
        Ok(found.map_err(LoadError::Program)?.path)
    }

    fn confinement(&self, manifest: &Manifest, program: &AbsPath) -> Result<Confinement, LoadError> {
        let policy = helper_policy(manifest, program, &self.shared.losses)?;
        let confine = self.shared.confine.clone();
        let command = confine.command([program.as_path().as_os_str()]).cwd(AbsPath::root()).policy(&policy);
        match command.confined() {
            Ok(_) => Ok(Confinement::Policy(confine, Box::new(policy))),
            Err(_) if self.shared.unconfined == Unconfined::Allow => Ok(Confinement::None),
            Err(error) => Err(LoadError::Unconfined(Box::new(error))),
        }
    }

    fn tools(&self) -> std::sync::MutexGuard<'_, BTreeMap<ToolName, Loaded>> {
        self.shared.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The policy of a plugin's helper: what follows from its manifest, and the helper's own file.
fn helper_policy(manifest: &Manifest, program: &AbsPath, losses: &Effects) -> Result<Policy, LoadError> {
    let mut file = PolicyFile::from(manifest);
    file.filesystem.read.get_or_insert_default().push(Text::from(program.as_path().as_os_str()));
    let own = Written { file, base: AbsPath::root(), source: Source::BuiltIn };
    let request = Request {
        layers: vec![own],
        workspaces: Vec::new(),
        workspaces_named: true,
        cwd: AbsPath::root(),
        own_directories: Places::here().own_directories(),
        own_files: Vec::new(),
    };
    let mut policy =
        resolve(&request, &HostView::here()).map_err(|error| LoadError::Policy(Box::new(error)))?;
    policy.accept_missing.extend(losses.iter());
    Ok(policy)
}
