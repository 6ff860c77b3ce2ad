//! The table for people: each effect, what each backend does about it, why not more, and what helps.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use confine_core::{Effect, Governed, Text};

use super::found::{Backend, Enforcement, Found, Row};

/// Of the column of effects.
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

    fn paint(self, code: u8, text: &str) -> String {
        match self {
            Self::On => format!("\x1b[{code}m{text}\x1b[0m"),
            Self::Off => text.to_owned(),
        }
    }
}

/// How a row is painted.
const fn code(governed: &Governed) -> u8 {
    match governed {
        Governed::Enforced { .. } => 32,
        Governed::Detected { .. } | Governed::Untestable { .. } => 33,
        Governed::NotGoverned { .. } => 31,
    }
}

/// The whole text. Writing to a String cannot fail.
pub(super) fn table(found: &Found, colour: Colour) -> String {
    let mut text = String::new();
    head(&mut text, found);
    for backend in &found.backends {
        state(&mut text, found, backend, colour);
    }
    if let Some(lock) = &found.lock {
        let _ = writeln!(text, "{:10}  {}", "others", colour.paint(31, "not usable, whatever is pinned"));
        lines(&mut text, [("reason", Some(&lock.reason)), ("remedy", lock.remedy.as_ref())]);
    }
    let width = found.backends.iter().map(|backend| backend.id.as_str().len()).max().unwrap_or_default();
    let _ = writeln!(text, "\n{:WIDTH$}{:width$}  what it does about it", "effect", "backend");
    for effect in Effect::ALL {
        let mut name = effect.name();
        // An unusable backend has one reason for everything, which the head gives.
        for backend in found.backends.iter().filter(|backend| backend.usable) {
            if let Some(row) = backend.effects.get(effect) {
                let (id, margin) = (&backend.id, WIDTH + width.max("backend".len()) + 2);
                let _ = write!(text, "{name:WIDTH$}{id:width$}  ", width = width.max("backend".len()));
                cell(&mut text, row, margin, colour);
                name = "";
            }
        }
    }
    text
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
}

fn state(text: &mut String, found: &Found, backend: &Backend, colour: Colour) {
    let default = if found.default.as_ref() == Some(&backend.id) { ", the default" } else { "" };
    let (code, state) = match (backend.usable, backend.enforcement) {
        (false, _) => (31, "not usable"),
        (true, Enforcement::Full) => (32, "usable, enforces all that the default policy needs"),
        (true, Enforcement::Partial) => (33, "usable, enforces a part of what the default policy needs"),
    };
    let _ = writeln!(text, "{:10}  {}{default}", backend.id, colour.paint(code, state));
    if !backend.contradicted.is_empty() {
        let names: Vec<&str> = backend.contradicted.iter().map(|effect| effect.name()).collect();
        let warning = format!("DOES NOT HOLD HERE, though it should: {}", names.join(", "));
        let _ = writeln!(text, "{:10}  {}", "", colour.paint(31, &warning));
    }
    lines(text, [("reason", backend.reason.as_ref()), ("remedy", backend.remedy.as_ref())]);
}

fn lines(text: &mut String, lines: [(&str, Option<&String>); 2]) {
    for (label, line) in lines {
        if let Some(line) = line {
            let _ = writeln!(text, "{:10}  {label}: {}", "", Text::from(line.as_str()));
        }
    }
}

fn cell(text: &mut String, row: &Row, margin: usize, colour: Colour) {
    let said = said(&row.governed);
    let _ = writeln!(text, "{}", colour.paint(code(&row.governed), &said));
    if let Some(remedy) = &row.remedy {
        let _ = writeln!(text, "{:margin$}remedy: {}", "", Text::from(remedy.as_str()));
    }
}

fn said(governed: &Governed) -> String {
    let shown = |reason: &confine_core::Reason| Text::from(reason.to_string().as_str()).to_string();
    match governed {
        Governed::Enforced { layers } => {
            let layers: Vec<&str> = layers.iter().map(|layer| layer.name()).collect();
            format!("enforced by {}", layers.join(", "))
        }
        Governed::Detected { reason } => format!("detected: {}", shown(reason)),
        Governed::NotGoverned { reason } => format!("not governed because {}", shown(reason)),
        Governed::Untestable { reason } => format!("untestable because {}", shown(reason)),
    }
}
