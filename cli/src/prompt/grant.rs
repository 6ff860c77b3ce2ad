//! What a grant changes in a policy, and what a denial was about.

use confine_core::denial::{Denial, Source, Target};
use confine_core::escalate::Grant;
use confine_core::visible::visible;
use confine_core::{AbsPath, Effect};
use serde_json::Value;

use crate::policy::word;

/// The lines that a policy file would have more: `filesystem.write = ["/x"]`.
pub(super) fn difference(grant: &Grant) -> Vec<String> {
    let layer = Grant::layer(std::slice::from_ref(grant)).ok();
    let file = layer.and_then(|layer| serde_json::to_value(layer.file).ok());
    let Some(Value::Object(file)) = file else { return Vec::new() };
    let mut lines = Vec::new();
    for (key, value) in file.iter().filter(|(key, _)| *key != "version") {
        match value {
            Value::Object(table) => {
                lines.extend(table.iter().map(|(name, value)| line(&format!("{key}.{name}"), value)));
            }
            value => lines.push(line(key, value)),
        }
    }
    lines
}

fn line(key: &str, value: &Value) -> String {
    visible(format!("{key} = {value}").as_ref())
}

/// `write to /etc/x, by the mount layer (likely, by its own words only)`: a program prints what it likes.
pub(super) fn denied(denial: &Denial) -> String {
    let layer = denial.layer.map(|layer| format!(", by the {layer} layer")).unwrap_or_default();
    let known = match denial.evidence.source {
        Source::Stderr | Source::Stdout => ", by its own words only",
        Source::Record => "",
    };
    format!("{}{layer} ({}{known})", act(denial.effect, denial.target.as_ref()), word(&denial.certainty))
}

fn act(effect: Effect, target: Option<&Target>) -> String {
    match target {
        Some(Target::Read(path)) => format!("read of {}", name(path)),
        Some(Target::Write(path) | Target::Precreate(path)) => format!("write to {}", name(path)),
        Some(Target::Connect(host)) => format!("connection to {}", visible(host.as_ref())),
        Some(Target::Socket(path)) => format!("connection to {}", name(path)),
        Some(Target::Device(path)) => format!("use of {}", name(path)),
        Some(Target::Process(pid)) => format!("access to process {pid}"),
        Some(Target::Syscall(call)) => format!("system call {}", visible(call.as_ref())),
        Some(Target::Git(_)) | None => format!("{effect} ({})", effect.definition()),
    }
}

fn name(path: &AbsPath) -> String {
    visible(path.as_path().as_os_str())
}
