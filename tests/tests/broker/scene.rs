//! A broker with plugins that were compiled for the test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use confine_broker::audit::{Audit, Note};
use confine_broker::plugin::{Approved, Plugin};
use confine_broker::{Bounds, Broker, Builder};
use confine_core::AbsPath;
use confine_core::egress::address::StaticNames;
use confine_core::egress::host::{HostName, HostPattern};
use confine_core::egress::manifest::ToolName;
use confine_core::egress::tool::{Sink, Stopped, ToolError, async_trait};
use confine_tests::{Temporary, installation, library, plugin};
use serde_json::{Value, json};

pub(crate) const MISBEHAVE: &str = "tests/programs/plugins/misbehave.c";
pub(crate) const BRIDGE: &str = "tests/programs/plugins/bridge.c";

/// Keeps every line.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<Note>>);

impl Audit for Kept {
    fn note(&self, note: &Note) {
        self.0.lock().unwrap().push(note.clone());
    }
}

impl Kept {
    pub(crate) fn count(&self, of: impl Fn(&Note) -> bool) -> usize {
        self.0.lock().unwrap().iter().filter(|note| of(note)).count()
    }
}

/// Everything is collected.
#[derive(Default)]
pub(crate) struct All(pub(crate) Vec<u8>);

#[async_trait]
impl Sink for All {
    async fn write(&mut self, part: &[u8]) -> Result<(), Stopped> {
        self.0.extend_from_slice(part);
        Ok(())
    }
}

/// A directory for the plugins, and what a broker is made of.
pub(crate) struct Scene {
    pub(crate) place: Temporary,
    pub(crate) kept: Arc<Kept>,
    names: BTreeMap<String, [u8; 4]>,
    bounds: Bounds,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let place = Temporary::new("/tmp/confine-broker-");
        let (names, bounds) = (BTreeMap::new(), Bounds::default());
        Self { place, kept: Arc::default(), names, bounds }
    }

    /// `name` is loopback.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.names.insert(name.to_owned(), [127, 0, 0, 1]);
        self
    }

    pub(crate) fn bounds(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    pub(crate) fn compiled(&self, source: &str, flags: &[&str]) -> PathBuf {
        plugin::compile(source, self.place.path(), flags)
    }

    pub(crate) fn broker(&self, tools: &[&str]) -> Broker {
        self.broker_with(tools, |builder| builder)
    }

    pub(crate) fn broker_with(&self, tools: &[&str], more: impl FnOnce(Builder) -> Builder) -> Broker {
        let mut names = StaticNames::new();
        for (name, address) in &self.names {
            names.entry(HostName::new(name).unwrap()).or_default().insert((*address).into());
        }
        let confine = library::builder().detect().unwrap();
        let builder = Broker::builder(confine).plugin_host(installation::plugin_host());
        let builder = builder.tools(tools.iter().copied()).names(names);
        more(builder.audit(self.kept.clone()).bounds(self.bounds)).build().unwrap()
    }
}

/// Approves a file as it is, for all that it declares.
pub(crate) fn approved(file: &Path) -> Approved {
    let path = AbsPath::new(file).unwrap();
    let plugin = Plugin::read(&path).unwrap();
    let hosts: Vec<HostPattern> = plugin.manifest.hosts().cloned().collect();
    Approved {
        name: plugin.manifest.name.clone(),
        manifest: plugin.manifest.digest(),
        sha256: plugin.sha256.clone(),
        path,
        hosts,
        config: json!({}),
    }
}

pub(crate) fn name(name: &str) -> ToolName {
    ToolName::new(name).unwrap()
}

pub(crate) async fn call(broker: &Broker, tool: &str, input: Value) -> Result<String, ToolError> {
    let mut all = All::default();
    broker.call(&name(tool), &input, &mut all).await?;
    Ok(String::from_utf8(all.0).unwrap())
}

/// Processes that run the helper's program, below this one.
pub(crate) fn helpers() -> Vec<i32> {
    let host = installation::plugin_host();
    let is_helper = |pid: &i32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).next() == Some(host.as_os_str().as_encoded_bytes())
    };
    below(std::process::id().try_into().unwrap()).into_iter().filter(is_helper).collect()
}

fn below(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            found.push(child);
            found.extend(below(child));
        }
    }
    found
}

/// Whether `true` comes in time.
pub(crate) async fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    for _ in 0..500 {
        if is_so() {
            return true;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    false
}
