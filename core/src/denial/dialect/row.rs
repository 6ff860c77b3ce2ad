//! The two tables: how a tool words an error, and what an error means at which layer.

use std::sync::OnceLock;

use regex::bytes::{Captures, Regex};
use toml::Spanned;

use super::errno::{self, Errno};
use super::file;
use super::template::Template;
use super::{Attempt, DialectError, DialectId, Object};
use crate::{Effect, Layer};

/// One wording of one tool.
#[derive(Clone, Debug)]
pub struct Row {
    /// The tool; `any` for words that many share.
    pub tool: String,
    /// What it tried.
    pub attempt: Attempt,
    /// The effect, where the words tell more than the attempt.
    pub effect: Option<Effect>,
    /// The text with its slots, as written.
    pub text: String,
    /// A line as measured.
    pub example: String,
    /// The line near by that goes with it; mostly empty.
    pub beside: String,
    /// The shell command that shows it.
    pub trial: Option<Trial>,
    pub(super) errno: Option<&'static Errno>,
    pub(super) template: Template,
    near: Option<Template>,
    regex: OnceLock<Option<Regex>>,
    near_regex: OnceLock<Option<Regex>>,
}

/// A command that shows a row again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// For `sh -c`; `$RO` is a directory that may be read, `$RW` (the current one) one that may be written,
    /// `$HIDDEN` one that may not be seen, `$PID` a process and `$PORT` a listener on the host.
    pub command: String,
    /// Programs that must be installed.
    pub needs: Vec<String>,
    /// The dialects under which it shows; every measured one where empty.
    pub on: Vec<String>,
}

/// What an error number says.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) effect: Effect,
    pub(super) layers: Vec<Layer>,
    named: bool,
    errno: Vec<Option<&'static str>>,
    attempt: Vec<Attempt>,
    under: Vec<String>,
}

/// What a line gave, and what the line near by gave.
type Captured<'a> = (Captures<'a>, Option<Captures<'a>>);

impl Row {
    /// Whether a command shows it under that dialect's backend.
    pub fn is_tried_under(&self, id: &DialectId) -> bool {
        let on = |trial: &Trial| trial.on.is_empty() || trial.on.iter().any(|one| one == id.as_str());
        self.trial.as_ref().is_some_and(on)
    }

    /// The expression, made when it is first needed.
    pub(super) fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| self.template.regex()).as_ref()
    }

    /// What it captures in `line`, and in the lines `around` where it needs one of them.
    pub(super) fn captures<'a>(
        &self,
        line: &'a [u8],
        around: impl FnOnce() -> &'a [u8],
    ) -> Option<Captured<'a>> {
        let captures = self.regex()?.captures(line)?;
        let Some(near) = &self.near else { return Some((captures, None)) };
        let regex = self.near_regex.get_or_init(|| near.regex()).as_ref()?;
        Some((captures, Some(regex.captures(around())?)))
    }
}

impl Answer {
    /// Whether it answers an attempt; a row that names an effect takes only answers with that effect.
    pub(super) fn fits(
        &self,
        attempt: Attempt,
        errno: Option<&str>,
        object: &Object,
        effect: Option<Effect>,
    ) -> bool {
        effect.map_or(!self.named, |effect| effect == self.effect)
            && (self.attempt.is_empty() || self.attempt.contains(&attempt))
            && self.errno.contains(&errno)
            && (self.under.is_empty() || self.under.iter().any(|place| lies(object, place)))
    }
}

fn lies(object: &Object, place: &str) -> bool {
    let Object::Path(path) = object else { return false };
    let printed = path.as_encoded_bytes();
    let mut parts = printed.split(|byte| *byte == b'/');
    place.split('/').all(|expected| match (expected, parts.next()) {
        ("{pid}", Some(part)) => !part.is_empty() && part.iter().all(u8::is_ascii_digit),
        (expected, Some(part)) => expected.as_bytes() == part,
        (_, None) => false,
    })
}

/// Checks rows as written.
pub(super) fn rows(written: Vec<file::Row>, text: &str) -> Result<Vec<Row>, DialectError> {
    written.into_iter().enumerate().map(|(number, one)| row(number, one, text)).collect()
}

fn row(number: usize, written: file::Row, text: &str) -> Result<Row, DialectError> {
    let wrong = |key: &str, at: usize, reason: String| DialectError {
        line: file::line(text, at),
        key: format!("row[{number}].{key}"),
        reason,
    };
    let at = written.text.span().start;
    let template =
        Template::parse(written.text.get_ref()).map_err(|error| wrong("text", at, error.to_string()))?;
    let near = match &written.near {
        None => None,
        Some(near) => Some(
            Template::parse(near.get_ref())
                .map_err(|error| wrong("near", near.span().start, error.to_string()))?,
        ),
    };
    let errno = match &written.errno {
        None => None,
        Some(name) => Some(known(name).map_err(|reason| wrong("errno", name.span().start, reason))?),
    };
    let trial = written.trial.map(|command| trial(command, written.needs, written.on));
    Ok(Row {
        tool: written.tool,
        attempt: written.attempt,
        effect: written.effect,
        text: written.text.into_inner(),
        example: written.example,
        beside: written.beside,
        trial,
        errno,
        template,
        near,
        regex: OnceLock::new(),
        near_regex: OnceLock::new(),
    })
}

fn trial(command: String, needs: Vec<String>, on: Vec<String>) -> Trial {
    let first = || command.split_ascii_whitespace().next().map(str::to_owned).into_iter().collect();
    let needs = if needs.is_empty() { first() } else { needs };
    Trial { command, needs, on }
}

fn known(name: &Spanned<String>) -> Result<&'static Errno, String> {
    let unknown = || format!("`{}` is no error number that a refusal shows as", name.get_ref());
    errno::by_name(name.get_ref().as_bytes()).ok_or_else(unknown)
}

/// Checks answers as written.
pub(super) fn answers(written: Vec<file::Answer>, text: &str) -> Result<Vec<Answer>, DialectError> {
    written.into_iter().enumerate().map(|(number, one)| answer(number, one, text)).collect()
}

fn answer(number: usize, written: file::Answer, text: &str) -> Result<Answer, DialectError> {
    let errno = written.errno.iter().map(|name| match name.get_ref().as_str() {
        "unsaid" => Ok(None),
        _ => known(name).map(|errno| Some(errno.name)).map_err(|reason| DialectError {
            line: file::line(text, name.span().start),
            key: format!("answer[{number}].errno"),
            reason,
        }),
    });
    Ok(Answer {
        errno: errno.collect::<Result<_, _>>()?,
        effect: written.effect,
        layers: written.layers,
        named: written.named,
        attempt: written.attempt,
        under: written.under,
    })
}
