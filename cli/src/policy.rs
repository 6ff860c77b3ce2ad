//! `confine policy`: whether a policy is one, and what it comes to here.

use std::ffi::OsString;
use std::fmt::Write as _;

use confine_core::policy::{Access, Policy, Source};
use confine_core::{AbsPath, LaunchFault, Text};
use serde::Serialize;

use crate::arguments::{PolicyOptions, PolicyQuestion};
use crate::fault::{self, Answer};
use crate::{answer, request};

/// The answer no.
const NO: u8 = 1;

/// The answer of `policy check --json`.
#[derive(Serialize)]
struct Checked<'a> {
    version: u32,
    ok: bool,
    fault: Option<&'a LaunchFault>,
}

/// Says whether the policy is well-formed and resolves here.
pub(crate) fn check(question: &PolicyQuestion) -> Answer {
    let resolved = request::resolve(&options(question));
    let fault = resolved.as_ref().err();
    if question.json {
        answer::json(&Checked { version: 1, ok: fault.is_none(), fault })?;
    } else if let Some(fault) = fault {
        fault::say(fault);
    }
    Ok(if fault.is_some() { NO } else { 0 })
}

/// Prints the resolved policy.
pub(crate) fn show(question: &PolicyQuestion) -> Answer {
    let policy = request::resolve(&options(question))?.policy;
    if question.json {
        answer::json(&policy)?;
    } else {
        answer::text(&readable(&policy))?;
    }
    Ok(0)
}

/// A file without a slash in its name is a file all the same.
pub(crate) fn options(question: &PolicyQuestion) -> PolicyOptions {
    let mut options = question.policy.clone();
    if let Some(file) = &question.file {
        let mut word = OsString::from(if file.is_absolute() { "" } else { "./" });
        word.push(file);
        options.policy = Some(word);
    }
    options
}

/// One fact a line: what, where, by whom.
fn readable(policy: &Policy) -> String {
    let mut text = String::new();
    let mut line = |kind: &str, what: &dyn std::fmt::Display, why: &dyn std::fmt::Display| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", format!("{kind:<12} {what:<48} {why}").trim_end());
    };
    let none: &dyn std::fmt::Display = &"";
    line("policy", &policy.id, none);
    line("mode", &word(&policy.mode), none);
    line("network", &policy.net.name(), none);
    line("approval", &word(&policy.approval), none);
    line("audit", &word(&policy.audit), none);
    for (path, entry) in &policy.fs.entries {
        line(access(entry.access), path, &source(&entry.source));
    }
    for path in &policy.fs.precreate {
        line("precreate", path, none);
    }
    for path in &policy.fs.missing {
        line("protect", path, &"does not exist, watched");
    }
    for path in policy.fs.placeholders.keys() {
        line("protect", path, &"does not exist, a placeholder is made");
    }
    for entry in &policy.fs.not_granted {
        line("not-granted", &entry.entry, &entry.reason);
    }
    for name in &policy.env.pass {
        line("pass", &Text::from(name.as_str()), none);
    }
    for (name, value) in &policy.env.set {
        line("set", &format!("{}={value}", Text::from(name.as_str())), none);
    }
    for (name, value) in limits(policy) {
        line("limit", &format!("{name}={value}"), none);
    }
    for (kind, effects) in [("require", &policy.require), ("accept", &policy.accept_missing)] {
        for effect in effects.iter() {
            line(kind, &effect, &effect.definition());
        }
    }
    text
}

pub(crate) fn limits(policy: &Policy) -> impl Iterator<Item = (&'static str, String)> {
    let limits = &policy.limits;
    let time = |span: Option<std::time::Duration>| span.map(|span| format!("{span:?}"));
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let size = |bytes: Option<u64>| bytes.map(size);
    [
        ("time", time(limits.time)),
        ("memory", size(limits.memory)),
        ("processes", number(limits.processes)),
        ("cpu", time(limits.cpu)),
        ("file-size", size(limits.file_size)),
        ("open-files", number(limits.open_files)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
}

/// As options take it: in the largest unit of which it is a whole number.
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = |(shift, _): &&(u32, &str)| bytes > 0 && bytes.trailing_zeros() >= *shift;
    match units.iter().find(whole) {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

pub(crate) const fn access(access: Access) -> &'static str {
    match access {
        Access::Hide => "hide",
        Access::Protect => "protect",
        Access::Read => "read",
        Access::Scratch => "scratch",
        Access::Write => "write",
    }
}

pub(crate) fn source(source: &Source) -> String {
    let at = |what: &str, path: &AbsPath| format!("{what} {path}");
    match source {
        Source::BuiltIn => "built in".to_owned(),
        Source::Git => "git".to_owned(),
        Source::Workspace => "workspace".to_owned(),
        Source::Listening => "a listening socket".to_owned(),
        Source::Alias(path) => at("another mount of", path),
        Source::Own => "confine's own".to_owned(),
        Source::File(path) => at("file", path),
        Source::CommandLine => "command line".to_owned(),
        Source::Grant => "approval".to_owned(),
    }
}

/// The name that a value has in JSON.
pub(crate) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_read_at_a_glance() {
        for (bytes, text) in [
            (2 << 30, "2GiB"),
            (512 << 20, "512MiB"),
            (3 << 9, "1536 bytes"),
            (1 << 10, "1KiB"),
            (0, "0 bytes"),
            (u64::MAX, "18446744073709551615 bytes"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
