//! The table for people: effects by backends, and why what is not enforced is not.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use confine_core::{Effect, Governed, Text};

use super::found::{Backend, Enforcement, Found};

const WIDTH: usize = 20;

/// Whether the table may be coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    /// It may.
    On,
    /// Plain text.
    Off,
}

impl Colour {
    /// On a terminal, unless `NO_COLOR` is set to anything (no-color.org).
    pub(super) fn wanted() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if std::io::stdout().is_terminal() && !refused { Self::On } else { Self::Off }
    }

    fn paint(self, governed: &Governed, cell: &str) -> String {
        let code = match governed {
            Governed::Enforced { .. } => 32,
            Governed::Detected { .. } | Governed::Untestable { .. } => 33,
            Governed::NotGoverned { .. } => 31,
        };
        match self {
            Self::On => format!("\x1b[{code}m{cell}\x1b[0m"),
            Self::Off => cell.to_owned(),
        }
    }
}

/// The whole text. Writing to a String cannot fail.
pub(super) fn table(found: &Found, colour: Colour) -> String {
    let mut text = String::new();
    head(&mut text, found);
    let _ = write!(text, "\n{:WIDTH$}", "effect");
    for backend in &found.backends {
        let _ = write!(text, "  {:width$}", backend.id, width = width(backend));
    }
    text.push('\n');
    for effect in Effect::ALL {
        row(&mut text, found, *effect, colour);
    }
    for backend in &found.backends {
        reasons(&mut text, backend);
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn head(text: &mut String, found: &Found) {
    let host = &found.host;
    let landlock =
        host.landlock_abi.map_or_else(|| "no Landlock".to_owned(), |abi| format!("Landlock ABI {abi}"));
    let namespaces = if host.user_namespaces { "user namespaces" } else { "no user namespaces" };
    let container =
        host.container.as_deref().map(|name| format!(", in {}", Text::from(name))).unwrap_or_default();
    let _ = writeln!(
        text,
        "{} {}, {landlock}, {namespaces}, uid {}{container}",
        host.os,
        Text::from(host.kernel.as_str()),
        host.uid
    );
    for backend in &found.backends {
        let default = if found.default.as_ref() == Some(&backend.id) { ", the default" } else { "" };
        let state = match (backend.usable, backend.enforcement) {
            (false, _) => "not usable",
            (true, Enforcement::Full) => "usable, enforces all that the default policy needs",
            (true, Enforcement::Partial) => "usable, enforces a part of what the default policy needs",
        };
        let _ = writeln!(text, "{:10}  {state}{default}", backend.id);
        for (label, line) in [("reason", &backend.reason), ("remedy", &backend.remedy)] {
            if let Some(line) = line {
                let _ = writeln!(text, "{:10}  {label}: {}", "", Text::from(line.as_str()));
            }
        }
    }
}

fn row(text: &mut String, found: &Found, effect: Effect, colour: Colour) {
    let _ = write!(text, "{effect:WIDTH$}");
    for backend in &found.backends {
        let Some(governed) = backend.effects.get(&effect) else { continue };
        let cell = format!("{:width$}", cell(governed), width = width(backend));
        let _ = write!(text, "  {}", colour.paint(governed, &cell));
    }
    text.push('\n');
}

fn width(backend: &Backend) -> usize {
    backend
        .effects
        .values()
        .map(|governed| cell(governed).len())
        .max()
        .unwrap_or_default()
        .max(backend.id.as_str().len())
}

fn cell(governed: &Governed) -> String {
    match governed {
        Governed::Enforced { layers } => {
            layers.iter().map(|layer| layer.name()).collect::<Vec<_>>().join(", ")
        }
        Governed::Detected { .. } => "detected".to_owned(),
        Governed::NotGoverned { .. } => "-".to_owned(),
        Governed::Untestable { .. } => "untestable".to_owned(),
    }
}

/// An unusable backend has one reason for everything, which the head gives.
fn reasons(text: &mut String, backend: &Backend) {
    let why = backend.effects.iter().filter_map(|(effect, governed)| Some((effect, governed.reason()?)));
    let why: Vec<_> = why.filter(|_| backend.usable).collect();
    if why.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nnot enforced by {}:", backend.id);
    for (effect, reason) in why {
        let _ = writeln!(text, "  {effect:WIDTH$}{}", Text::from(reason.to_string().as_str()));
    }
}
