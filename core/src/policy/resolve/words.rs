//! The entries of every layer, from words to canonical paths.

use std::path::{Path, PathBuf};

use super::assembly::{Assembly, Target, Wanted};
use super::base::template;
use super::draft::Layer;
use super::host::{Absent, Crossed, Found, kind};
use super::places::Places;
use super::settings::lists_of;
use super::{EntryFault, ResolveError, Written};
use crate::Text;
use crate::policy::pattern::{Glob, is_pattern, unescape};
use crate::policy::view::FileType;
use crate::policy::{Access, Kind, Source};

/// A word of a list, and who wrote it.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) key: &'static str,
    pub(super) text: &'a Text,
    pub(super) written: &'a Written,
    pub(super) layer: Layer,
}

/// A path as spelt: a base that is literal, and a rest that may be a pattern.
struct Spelt {
    base: PathBuf,
    rest: PathBuf,
}

impl Spelt {
    fn path(&self) -> PathBuf {
        self.base.join(&self.rest)
    }
}

const WORKSPACE: &str = "${workspace}";

impl Word<'_> {
    fn is_literal(&self) -> bool {
        matches!(self.written.source, Source::CommandLine | Source::Grant)
    }

    fn takes_patterns(&self) -> bool {
        !self.is_literal() && matches!(self.key, "read" | "write" | "protect" | "hide")
    }

    const fn access(&self) -> Access {
        match self.key.as_bytes() {
            b"hide" => Access::Hide,
            b"protect" => Access::Protect,
            b"read" => Access::Read,
            _ => Access::Write,
        }
    }

    /// `protect` names without a slash, `~` and `${workspace}` have bases of their own.
    fn spell(&self, places: &Places) -> Result<Vec<Spelt>, EntryFault> {
        let bytes = self.text.as_os_str().as_encoded_bytes();
        if bytes.is_empty() || bytes.contains(&0) {
            return Err(EntryFault::NoPath);
        }
        // The shell expands what the command line says; there `~` and `${workspace}` are names like any other.
        let text = if self.is_literal() { None } else { self.text.as_os_str().to_str() };
        if let Some(below) = text.and_then(|text| below(text, "~")) {
            let home = places.home.as_ref().ok_or(EntryFault::NoHome)?;
            return Ok(vec![Spelt { base: home.as_path().into(), rest: below.into() }]);
        }
        if let Some(below) = text.and_then(|text| below(text, WORKSPACE)) {
            return Ok(in_each(places, Path::new(below)));
        }
        let rest = Path::new(self.text.as_os_str());
        if self.key == "protect" && !bytes.contains(&b'/') {
            return Ok(in_each(places, rest));
        }
        Ok(vec![Spelt { base: self.written.base.as_path().into(), rest: rest.into() }])
    }

    fn error(&self, fault: EntryFault) -> ResolveError {
        ResolveError::Entry {
            key: self.key,
            entry: self.text.clone(),
            source_of: self.written.source.clone(),
            fault,
        }
    }
}

/// What `text` says below `base`, where it is `base` or begins with `base/`.
fn below<'t>(text: &'t str, base: &str) -> Option<&'t str> {
    let below = text.strip_prefix(base)?;
    (below.is_empty() || below.starts_with('/')).then(|| below.trim_start_matches('/'))
}

fn in_each(places: &Places, rest: &Path) -> Vec<Spelt> {
    let roots = places.workspaces.iter().map(|root| root.as_path().to_owned());
    roots.map(|base| Spelt { base, rest: rest.into() }).collect()
}

/// The absolute spellings of a word, for the policy's identity.
pub(super) fn absolute(written: &Written, key: &'static str, text: &Text, places: &Places) -> Vec<Text> {
    let word = Word { key, text, written, layer: Layer::BuiltIn };
    let spelt = word.spell(places).unwrap_or_default();
    spelt.iter().map(|spelt| Text::from(spelt.path().into_os_string())).collect()
}

/// Every entry of every layer, onto `assembly.wanted` or among what is missing or not granted.
pub(super) fn collect(assembly: &mut Assembly<'_>) -> Result<(), ResolveError> {
    for (index, written) in assembly.request.layers.iter().enumerate() {
        for (key, words) in lists_of(&written.file.filesystem) {
            for text in words {
                let word = Word { key, text, written, layer: Layer::Written(index) };
                list(assembly, &word).map_err(|fault| word.error(fault))?;
            }
        }
    }
    Ok(())
}

fn list(assembly: &mut Assembly<'_>, word: &Word<'_>) -> Result<(), EntryFault> {
    for spelt in word.spell(&assembly.places)? {
        if word.key == "precreate" {
            precreate(assembly, word, &spelt.path())?;
        } else {
            existing(assembly, word, &spelt)?;
        }
    }
    Ok(())
}

fn existing(assembly: &mut Assembly<'_>, word: &Word<'_>, spelt: &Spelt) -> Result<(), EntryFault> {
    let path = spelt.path();
    match assembly.host.realpath(&path) {
        Ok(found) => take(assembly, word, found),
        Err(Absent::Missing) => {
            let rest = spelt.rest.to_str().filter(|_| word.takes_patterns());
            match rest {
                Some(rest) if is_pattern(rest) => expand(assembly, word, &spelt.base, rest),
                Some(rest) if rest.contains('\\') => unescaped(assembly, word, &spelt.base, rest),
                _ => absent(assembly, word, &path, Absent::Missing),
            }
        }
        Err(other) => absent(assembly, word, &path, other),
    }
}

fn unescaped(
    assembly: &mut Assembly<'_>,
    word: &Word<'_>,
    base: &Path,
    rest: &str,
) -> Result<(), EntryFault> {
    let path = base.join(unescape(rest).as_ref());
    match assembly.host.realpath(&path) {
        Ok(found) => take(assembly, word, found),
        Err(other) => absent(assembly, word, &path, other),
    }
}

fn absent(
    assembly: &mut Assembly<'_>,
    word: &Word<'_>,
    path: &Path,
    absent: Absent,
) -> Result<(), EntryFault> {
    let fault = match absent {
        Absent::Unopenable(kind) => return Err(EntryFault::Unopenable(kind)),
        Absent::Loop => EntryFault::Loop,
        Absent::Missing => EntryFault::Missing,
    };
    if word.key == "protect" && assembly.miss(path) {
        return Ok(());
    }
    if word.is_literal() {
        return Err(fault);
    }
    // Also a circle of links, which the program could have planted to keep every later run from starting.
    assembly.not_granted(word.text, fault.to_string());
    Ok(())
}

fn take(assembly: &mut Assembly<'_>, word: &Word<'_>, found: Found) -> Result<(), EntryFault> {
    if let Some(template) = template(&found.path).filter(|_| word.key != "devices") {
        if word.key != "read" {
            return Err(EntryFault::Template(template));
        }
        let reason = format!("the sandbox has a `{template}` of its own");
        assembly.not_granted(word.text, reason);
        return Ok(());
    }
    fits(word.key, found.stat.file)?;
    want(assembly, word, found);
    Ok(())
}

fn want(assembly: &mut Assembly<'_>, word: &Word<'_>, found: Found) {
    if matches!(word.access(), Access::Hide | Access::Protect) {
        assembly.protect_links(&found.crossed);
    }
    let target = Target::Existing(kind(found.stat.file));
    push(assembly, word, found.path, found.crossed, target);
}

fn push(
    assembly: &mut Assembly<'_>,
    word: &Word<'_>,
    path: crate::AbsPath,
    crossed: Vec<Crossed>,
    target: Target,
) {
    assembly.wanted.push(Wanted {
        key: word.key,
        word: word.text.clone(),
        path,
        access: word.access(),
        target,
        source: word.written.source.clone(),
        layer: word.layer,
        literal: word.is_literal(),
        crossed,
    });
}

/// Whether a file of that type may stand under `key`.
fn fits(key: &'static str, file: FileType) -> Result<(), EntryFault> {
    match (key, kind(file)) {
        ("sockets", Kind::Socket) | ("devices", Kind::Device) | ("hide" | "protect", _) => Ok(()),
        ("sockets", _) => Err(EntryFault::NotA("socket")),
        ("devices", _) => Err(EntryFault::NotA("device")),
        (_, Kind::Socket) => Err(EntryFault::Special { what: "socket", key: "sockets" }),
        (_, Kind::Device) => Err(EntryFault::Special { what: "device", key: "devices" }),
        _ => Ok(()),
    }
}

fn precreate(assembly: &mut Assembly<'_>, word: &Word<'_>, path: &Path) -> Result<(), EntryFault> {
    let (place, crossed) = match assembly.host.place(path) {
        Ok(place) => place,
        Err(other) => return absent(assembly, word, path, other),
    };
    if let Some(template) = template(&place) {
        return Err(EntryFault::Template(template));
    }
    match assembly.host.stat(&place) {
        Err(Absent::Missing) => {
            push(assembly, word, place, crossed, Target::New);
            Ok(())
        }
        Err(other) => absent(assembly, word, path, other),
        Ok(_) => match assembly.host.realpath(path) {
            Ok(found) if found.stat.file == FileType::File => take(assembly, word, found),
            Ok(_) => Err(EntryFault::NotA("regular file")),
            Err(other) => absent(assembly, word, path, other),
        },
    }
}

fn expand(assembly: &mut Assembly<'_>, word: &Word<'_>, base: &Path, rest: &str) -> Result<(), EntryFault> {
    let glob = Glob::parse(rest).map_err(EntryFault::Pattern)?;
    let from = match assembly.host.realpath(&base.join(glob.prefix())) {
        Ok(from) => from,
        Err(other) => return absent(assembly, word, &base.join(rest), other),
    };
    let found = glob.expand(&from.path, assembly.host.view).map_err(EntryFault::Pattern)?;
    for path in &found.matches {
        matched(assembly, word, path)?;
    }
    for directory in &found.unlisted {
        assembly.not_granted(word.text, format!("`{directory}` cannot be listed"));
    }
    let count = found.matches.len();
    assembly.not_granted(
        word.text,
        format!("a snapshot of {count} matches at the start; later ones are not covered"),
    );
    Ok(())
}

/// One match. A link grants nothing, since the program may have made it; hiding or protecting by one is only refused
/// where it would swallow the place that the user works in.
fn matched(assembly: &mut Assembly<'_>, word: &Word<'_>, path: &crate::AbsPath) -> Result<(), EntryFault> {
    let found = match assembly.host.realpath(path.as_path()) {
        Ok(found) => found,
        Err(Absent::Missing | Absent::Loop) => {
            assembly.miss(path.as_path());
            return Ok(());
        }
        Err(Absent::Unopenable(kind)) => return Err(EntryFault::Unopenable(kind)),
    };
    let grants = matches!(word.access(), Access::Read | Access::Write);
    let swallows = assembly.places.kept.iter().any(|kept| kept.is_within(&found.path));
    if !found.crossed.is_empty() && (grants || swallows) {
        let reason = format!("the match `{path}` is a link to `{}`", found.path);
        assembly.not_granted(word.text, reason);
        return Ok(());
    }
    if template(&found.path).is_some() || fits(word.key, found.stat.file).is_err() {
        assembly.not_granted(word.text, format!("the match `{path}` is no file or directory"));
        return Ok(());
    }
    want(assembly, word, found);
    Ok(())
}
