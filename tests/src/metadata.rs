//! What cargo says about the workspace and everything that it builds.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A package.
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence expression, where it states one.
    pub licence: Option<String>,
    /// Where it comes from; `None` for ours.
    pub source: Option<String>,
    /// The names of all that it depends on, tests and build scripts included.
    pub dependencies: Vec<String>,
    /// Those that are part of what is shipped.
    pub shipped: Vec<String>,
}

/// Every package of the lock file.
///
/// # Panics
/// When cargo does not answer.
pub fn all() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().expect("there are packages").iter().map(package).collect()
}

/// The packages of the workspace.
///
/// # Panics
/// When cargo does not answer.
pub fn ours() -> Vec<Package> {
    all().into_iter().filter(|package| package.source.is_none()).collect()
}

fn package(json: &Value) -> Package {
    let text = |key: &str| json[key].as_str().map(str::to_owned);
    let dependencies = json["dependencies"].as_array().expect("there is a list of dependencies");
    let names = |shipped: bool| {
        let wanted = dependencies.iter().filter(|one| !shipped || one["kind"].is_null());
        wanted.filter_map(|one| one["name"].as_str().map(str::to_owned)).collect()
    };
    Package {
        name: text("name").expect("a package has a name"),
        version: text("version").expect("a package has a version"),
        licence: text("license"),
        source: text("source"),
        dependencies: names(false),
        shipped: names(true),
    }
}
