//! What `always` has written: the user's own rules, as a TOML file.
//!
//! A rule is added by adding its text to the end, so that what a person wrote stays byte for byte. Whoever holds the file
//! locks and replaces it; a file that does not parse is never written over.

use serde::{Deserialize, Serialize};

use super::{ApprovalRequest, Choice, Digest, RuleId, Subject};
use crate::{AbsPath, Text};

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name.
    pub id: RuleId,
    /// The words of the command, all of them.
    pub argv: Vec<Text>,
    /// Where it starts.
    pub cwd: AbsPath,
    /// Of the executable and of the variables that may change what runs.
    pub rest: Digest,
}

/// The rules of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    rules: Vec<Rule>,
}

/// Why a file is none of rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// It is not read as TOML of this form.
    #[error("line {line}: {reason}")]
    Malformed {
        /// Where, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Two rules have one name.
    #[error("two rules are named `{0}`")]
    Twice(RuleId),
    /// It is too long.
    #[error("it is longer than {LONGEST} bytes")]
    TooLong,
}

/// The longest file, in bytes.
const LONGEST: usize = 1024 * 1024;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: crate::policy::file::Version,
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
}

impl Rule {
    /// The rule that a yes for `always` to `request` would write; `None` where that is not offered.
    pub fn of(request: &ApprovalRequest, id: RuleId) -> Option<Self> {
        let is_offered = request.choices.iter().any(|choice| matches!(choice, Choice::AllowAlways { .. }));
        match &request.subject {
            Subject::Command { argv, cwd } if is_offered => {
                Some(Self { id, argv: argv.clone(), cwd: cwd.clone(), rest: request.binding.rest() })
            }
            _ => None,
        }
    }

    /// Whether it allows what `other` does.
    fn is_same(&self, other: &Self) -> bool {
        self.argv == other.argv && self.cwd == other.cwd && self.rest == other.rest
    }
}

impl Memory {
    /// # Errors
    /// Unknown keys, wrong types, another version, two rules of one name, more than 1 MiB.
    pub fn parse(text: &str) -> Result<Self, MemoryError> {
        if text.len() > LONGEST {
            return Err(MemoryError::TooLong);
        }
        let file: File = toml::from_str(text).map_err(|error| malformed(text, &error))?;
        let mut names = std::collections::BTreeSet::new();
        match file.rules.iter().find(|rule| !names.insert(&rule.id)) {
            Some(twice) => Err(MemoryError::Twice(twice.id.clone())),
            None => Ok(Self { rules: file.rules }),
        }
    }

    /// Its rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule that allows what `request` asks for.
    pub fn allowing(&self, request: &ApprovalRequest) -> Option<&Rule> {
        let wanted = Rule::of(request, self.rules.first()?.id.clone())?;
        self.rules.iter().find(|rule| rule.is_same(&wanted))
    }

    /// The text of a file with `rule` after what `text`, a file's, says; an empty `text` is that of a new file. A rule
    /// that is there under another name changes nothing.
    ///
    /// # Errors
    /// When `text` is no file of rules, or would be none with `rule`.
    pub fn with(text: &str, rule: &Rule) -> Result<String, MemoryError> {
        let head = if text.trim().is_empty() { "version = 1\n" } else { text };
        let known = Self::parse(head)?;
        if known.rules.iter().any(|one| one.is_same(rule)) {
            return Ok(head.to_owned());
        }
        let end = if head.ends_with('\n') { "" } else { "\n" };
        let block = File { version: crate::policy::file::Version::One, rules: vec![rule.clone()] };
        let block = toml::to_string(&block)
            .map_err(|error| MemoryError::Malformed { line: 0, reason: error.to_string() })?;
        let block = block.strip_prefix("version = 1\n").unwrap_or(&block);
        let all = format!("{head}{end}{block}");
        let again = Self::parse(&all)?;
        let is_added =
            again.rules.split_last().is_some_and(|(last, before)| last == rule && before == known.rules);
        if is_added {
            Ok(all)
        } else {
            Err(MemoryError::Malformed { line: 0, reason: "a rule cannot be added".into() })
        }
    }
}

fn malformed(text: &str, error: &toml::de::Error) -> MemoryError {
    let at = error.span().map_or(0, |span| span.start);
    let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    MemoryError::Malformed { line, reason: error.message().to_owned() }
}

#[cfg(test)]
mod tests;
