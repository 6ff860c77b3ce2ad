//! What a message of a client says of a policy, in the place of options.

use confine_core::policy::PolicyFile;
use confine_core::policy::Source;
use confine_core::policy::file::Syntax;
use confine_core::policy::resolve::{Request, Written};
use confine_core::{AbsPath, LaunchFault, LaunchStage, Text};
use confine_runner::places::Places;
use confine_runner::policies::{self, Choice};
use serde_json::Value;

use super::{Basis, Resolved, place, policy, refused, session};

/// Said by a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    /// Where the program starts, and what relative files of policies are relative to.
    pub(crate) cwd: &'a AbsPath,
    /// Without any, `cwd`.
    pub(crate) workspaces: &'a [AbsPath],
    /// As `--policy`.
    pub(crate) policy: Option<&'a Text>,
    /// Upon it, as the options would be: a policy file in JSON.
    pub(crate) settings: Option<&'a Value>,
    /// Files that no program may write.
    pub(crate) own_files: &'a [AbsPath],
}

impl Terms<'_> {
    /// Resolves them against this host. What a run keeps has its place before the policy says who may write there.
    ///
    /// # Errors
    /// The first policy, path or entry that is wrong, by name.
    pub(crate) fn resolve(&self) -> Result<Resolved, LaunchFault> {
        let places = Places::here();
        let resolved = self.against(&places)?;
        if places.prepare(&resolved.policy) { self.against(&places) } else { Ok(resolved) }
    }

    fn against(&self, places: &Places) -> Result<Resolved, LaunchFault> {
        let root = AbsPath::root();
        let directory = |what, path: &AbsPath| place::named(what, &root, path.as_path());
        let cwd = directory("cwd", self.cwd)?;
        let named: Vec<AbsPath> =
            self.workspaces.iter().map(|path| directory("workspaces", path)).collect::<Result<_, _>>()?;
        let workspaces_named = !named.is_empty();
        let workspaces = if workspaces_named { named } else { vec![cwd.clone()] };
        let word = self.policy.map(Text::as_os_str);
        let choice = Choice { policy: word, cwd: &cwd, workspaces: &workspaces, places };
        let loaded = policies::load(&choice).map_err(|error| refused("load", &error))?;
        let own = self.settings.map(settings).transpose()?;
        let own = own.map(|file| Written { file, base: cwd.clone(), source: Source::CommandLine });
        let request = Request {
            layers: session::layer(&cwd)?.into_iter().chain(own).collect(),
            workspaces,
            workspaces_named,
            cwd,
            own_directories: places.own_directories(),
            own_files: self.own_files.to_vec(),
        };
        let policy = policy(&loaded, &request)?;
        Ok(Resolved { policy, cwd: request.cwd.clone(), basis: Basis { loaded, request } })
    }
}

fn settings(value: &Value) -> Result<PolicyFile, LaunchFault> {
    PolicyFile::parse(&value.to_string(), Syntax::Json).map_err(|error| {
        // It is one line, whatever it looked like in the message.
        let reason = error.message.strip_prefix("line 1: ").unwrap_or(&error.message);
        let fault = LaunchFault::new(LaunchStage::Policy, format!("read `settings`: {reason}"));
        LaunchFault { help: error.help.clone(), ..fault }
    })
}
