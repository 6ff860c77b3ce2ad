//! Patterns of a policy file: `*`, `?`, `[…]` within a name, `**` for any number of directories, escaped by `\`.
//!
//! Expansion is a walk over the [`View`], bounded, and never follows a link. A name that is not UTF-8 is matched with
//! each odd byte as `U+FFFD`, so that `*` and `?` still see it.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use glob::Pattern;

use crate::AbsPath;
use crate::policy::View;
use crate::policy::view::FileType;

/// How many matches one entry may have.
pub const MATCHES: usize = 10_000;
/// How many directories deep a pattern reaches below its literal beginning.
pub const DEPTH: usize = 32;
/// How long the patterns of one policy may take, in seconds: [`View::out_of_time`].
pub const SECONDS: u64 = 2;

/// Why a pattern gives nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A name in it is malformed.
    #[error("holds the malformed pattern `{0}`")]
    Malformed(String),
    /// `..` stands after a wildcard.
    #[error("holds `..` after a wildcard")]
    Parent,
    /// It reaches further than the bounds.
    #[error(
        "is over the bounds of a pattern ({MATCHES} matches, {SECONDS} s, {DEPTH} directories deep): {0}"
    )]
    OverBound(Bound),
}

/// A bound of an expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Bound {
    /// [`MATCHES`].
    #[error("too many matches")]
    Matches,
    /// [`DEPTH`].
    #[error("too deep")]
    Depth,
    /// [`SECONDS`].
    #[error("out of time")]
    Time,
}

impl PatternError {
    /// The next step for the user.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "escape a literal `*`, `?` or `[` with `\\`",
            Self::Parent => "write the directory without `..`",
            Self::OverBound(_) => "begin the pattern with a deeper directory, or list the directory itself",
        }
    }
}

/// One name of a pattern.
#[derive(Clone, Debug)]
enum Step {
    /// `**`.
    Any,
    Wild(Pattern),
}

/// What a pattern found.
#[derive(Clone, Debug, Default)]
pub(super) struct Expansion {
    /// Matches, in the order of the walk.
    pub(super) matches: Vec<AbsPath>,
    /// Directories that could not be listed.
    pub(super) unlisted: Vec<AbsPath>,
}

/// A pattern, split where its first wildcard stands.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    prefix: OsString,
    steps: Vec<Step>,
}

/// Whether `word` holds an unescaped wildcard.
pub(super) fn is_pattern(word: &str) -> bool {
    let mut escaped = false;
    word.chars().any(|c| {
        let wild = !escaped && matches!(c, '*' | '?' | '[');
        escaped = !escaped && c == '\\';
        wild
    })
}

/// `word` without its escapes.
pub(super) fn unescape(word: &str) -> Cow<'_, str> {
    if !word.contains('\\') {
        return Cow::Borrowed(word);
    }
    let mut plain = String::with_capacity(word.len());
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        plain.push(if c == '\\' { chars.next().unwrap_or('\\') } else { c });
    }
    Cow::Owned(plain)
}

impl Glob {
    /// # Errors
    /// Malformed names.
    pub(super) fn parse(word: &str) -> Result<Self, PatternError> {
        let names: Vec<&str> = word.split('/').collect();
        let first = names.iter().position(|name| is_pattern(name)).unwrap_or(names.len());
        let (literal, wild) = names.split_at(first);
        let mut prefix = unescape(&literal.join("/")).into_owned();
        if word.starts_with('/') && prefix.is_empty() {
            prefix.push('/');
        }
        let names = wild.iter().filter(|name| !name.is_empty() && **name != ".");
        Ok(Self { prefix: prefix.into(), steps: names.map(|name| step(name)).collect::<Result<_, _>>()? })
    }

    /// What stands before the first wildcard, without escapes; empty where that is the whole.
    pub(super) fn prefix(&self) -> &Path {
        Path::new(&self.prefix)
    }

    /// Every match at or below the directory `from`, which stands for the prefix. Nothing below a match is looked at.
    ///
    /// # Errors
    /// Over a bound.
    pub(super) fn expand(&self, from: &AbsPath, view: &dyn View) -> Result<Expansion, PatternError> {
        let mut walk = Walk { view, found: Expansion::default() };
        walk.visit(from, &[self.steps.as_slice()], 0)?;
        Ok(walk.found)
    }
}

fn step(name: &str) -> Result<Step, PatternError> {
    match name {
        ".." => Err(PatternError::Parent),
        "**" => Ok(Step::Any),
        _ => Pattern::new(&bracketed(name))
            .map(Step::Wild)
            .map_err(|_| PatternError::Malformed(name.to_owned())),
    }
}

/// `name` with each escape as the one-character class that the matcher has for it.
fn bracketed(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().chars().next()) {
            ('\\', Some(escaped)) => {
                chars.next();
                text.push_str(&Pattern::escape(escaped.encode_utf8(&mut [0; 4])));
            }
            _ => text.push(c),
        }
    }
    text
}

struct Walk<'a> {
    view: &'a dyn View,
    found: Expansion,
}

impl<'p> Walk<'_> {
    /// `open` holds what is left of the pattern at `here`: more than one way where a `**` stands.
    fn visit(&mut self, here: &AbsPath, open: &[&'p [Step]], depth: usize) -> Result<(), PatternError> {
        let open = closed(open);
        if open.iter().any(|rest| rest.is_empty()) {
            return self.take(here);
        }
        if self.view.out_of_time() {
            return Err(PatternError::OverBound(Bound::Time));
        }
        match self.view.list_types(here) {
            Ok(entries) if depth >= DEPTH && !entries.is_empty() => {
                Err(PatternError::OverBound(Bound::Depth))
            }
            Ok(mut entries) => {
                entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
                entries.iter().try_for_each(|(name, file)| self.descend(here, name, *file, &open, depth))
            }
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                self.found.unlisted.push(here.clone());
                Ok(())
            }
            // No directory, or gone meanwhile.
            Err(_) => Ok(()),
        }
    }

    fn descend(
        &mut self,
        here: &AbsPath,
        name: &OsStr,
        file: Option<FileType>,
        open: &[&'p [Step]],
        depth: usize,
    ) -> Result<(), PatternError> {
        let text = name.to_string_lossy();
        let mut next: Vec<&[Step]> = open.iter().filter_map(|rest| after(rest, &text)).collect();
        if !matches!(file, None | Some(FileType::Directory)) {
            // Nothing is below it, so only a pattern that ends here matches.
            next.retain(|rest| closed(&[rest]).iter().any(|rest| rest.is_empty()));
        }
        match here.join(name) {
            Ok(path) if !next.is_empty() => self.visit(&path, &next, depth + 1),
            _ => Ok(()),
        }
    }

    fn take(&mut self, path: &AbsPath) -> Result<(), PatternError> {
        if self.found.matches.len() >= MATCHES {
            return Err(PatternError::OverBound(Bound::Matches));
        }
        self.found.matches.push(path.clone());
        Ok(())
    }
}

/// What is left of `rest` below a directory entry called `name`.
fn after<'p>(rest: &'p [Step], name: &str) -> Option<&'p [Step]> {
    match rest.split_first()? {
        (Step::Any, _) => Some(rest),
        (Step::Wild(pattern), left) => pattern.matches(name).then_some(left),
    }
}

/// `open`, and for each `**` also what follows it.
fn closed<'p>(open: &[&'p [Step]]) -> Vec<&'p [Step]> {
    let mut all: Vec<&[Step]> = Vec::new();
    for rest in open {
        let mut rest = *rest;
        loop {
            if !all.iter().any(|known| known.len() == rest.len()) {
                all.push(rest);
            }
            match rest.split_first() {
                Some((Step::Any, left)) => rest = left,
                _ => break,
            }
        }
    }
    all
}
