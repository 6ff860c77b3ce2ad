//! Why a text is no policy.

/// Where and why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    /// 1-based line, where known.
    pub line: Option<usize>,
    /// Names the key and the reason.
    pub message: String,
    /// The next step.
    pub help: Option<String>,
}

/// What helps, by the beginning of the key; the first that matches.
const HELP: &[(&str, &str)] = &[
    ("version", "write `version = 1`"),
    ("network.access", "use `off` or `open`"),
    ("network.", "remove the key; `network.access` is `off` or `open`"),
    ("egress.", "remove the key"),
    ("approval.audit", "use `required` or `best-effort`"),
    ("approval.default", "use `never` or `ask`"),
    ("syscalls.mode", "use `enforce`"),
    ("enforcement.", "`confine --probe` lists every effect"),
    ("limits.", "a bare number is seconds or bytes; units are ms, s, min, h and K, M, G, KiB, MiB, GiB"),
];

const SCHEMA: &str = "`confine policy schema` describes every key";

impl ParseError {
    pub(super) fn toml(key: &str, error: &toml::de::Error, text: &str) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start));
        Self::new(key, error.message(), before.map(|before| before.matches('\n').count() + 1))
    }

    pub(super) fn json(key: &str, error: &serde_json::Error) -> Self {
        let whole = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let reason = whole.strip_suffix(&place).unwrap_or(&whole);
        Self::new(key, reason, Some(error.line()).filter(|line| *line > 0))
    }

    fn new(key: &str, reason: &str, line: Option<usize>) -> Self {
        let reason = reason.trim_end().replace('\n', "; ");
        let key = if key == "." { "" } else { key };
        let named = match key {
            "" => reason,
            key => format!("`{key}`: {reason}"),
        };
        let message = match line {
            Some(line) => format!("line {line}: {named}"),
            None => named,
        };
        Self { line, help: Some(help(key, &message)), message }
    }
}

fn help(key: &str, message: &str) -> String {
    if message.contains("missing field `version`") {
        return "write `version = 1`".into();
    }
    // A key that does not exist has no advice of its own.
    let known = !message.contains("unknown field");
    let row = HELP.iter().find(|(prefix, _)| known && key.starts_with(prefix));
    row.map_or(SCHEMA, |(_, help)| help).into()
}
