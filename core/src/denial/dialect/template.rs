//! The text of a row: literal words with slots, and the regular expression that it means.
//!
//! A template may begin anywhere in a line, with `^` only where the line does, and ends where the line does, a full stop
//! and blanks aside. Slots are taken as
//! short as possible, so the words between them decide. `{{` and `}}` are braces.

use std::fmt::Write as _;

use regex::bytes::{Regex, RegexBuilder};

use super::errno::{self, Errno};

/// A place in a template that stands for something printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A program's name, without blanks, colons and quotes.
    Program,
    /// A path, perhaps in quotes.
    Path,
    /// An absolute path without blanks, quotes and colons.
    Absolute,
    /// The new name of a rename or link; the old one is [`Slot::Path`].
    To,
    /// A host: a name or an address.
    Host,
    /// A port.
    Port,
    /// A process.
    Pid,
    /// A system call or a key of the kernel.
    Call,
    /// strerror(3)'s text.
    Errno,
    /// The name of an error number.
    Name,
    /// An error number.
    Number,
    /// Digits that mean nothing here.
    Digits,
    /// Anything.
    Any,
}

/// Slots by the word between their braces, with their expression.
const SLOTS: &[(&str, Slot, &str)] = &[
    ("program", Slot::Program, r#"[^\s:'"]{1,255}"#),
    ("path", Slot::Path, "(?<path>.+?)"),
    ("abs", Slot::Absolute, r#"(?<path>/[^\s:'"(),;<>]*)"#),
    ("to", Slot::To, "(?<to>.+?)"),
    ("host", Slot::Host, r#"(?<host>[^\s'"/,()<>\[\]]{1,255})"#),
    ("port", Slot::Port, "(?<port>[0-9]{1,5})"),
    ("pid", Slot::Pid, "(?<pid>[0-9]{1,10})"),
    ("call", Slot::Call, r"(?<call>[A-Za-z_][A-Za-z0-9_.]*)"),
    ("errno", Slot::Errno, ""),
    ("name", Slot::Name, ""),
    ("number", Slot::Number, "(?<number>-?[0-9]{1,5})"),
    ("digits", Slot::Digits, "[0-9]+"),
    ("any", Slot::Any, ".*?"),
];

/// Quotes of the C locale; where characters are UTF-8 many programs print curved ones instead.
const QUOTES: [char; 2] = ['\'', '`'];
/// The end of a line.
const END: &str = r"\.?[ \t\r]*$";
/// A template holds at most so many bytes.
const BOUND: usize = 400;
/// A shorter run of literal words tells too little to look for.
const TELLING: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Slot(Slot),
}

/// A parsed template.
#[derive(Clone, Debug)]
pub(super) struct Template {
    first: bool,
    parts: Vec<Part>,
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("is empty, or longer than {BOUND} bytes")]
    Length,
    #[error("`{{{0}}}` is no slot; slots are {known}", known = names())]
    Unknown(String),
    #[error("`{{{0}}}` stands twice")]
    Twice(&'static str),
    #[error("has a brace without its other; a brace of its own is written twice")]
    Brace,
    #[error("holds a line break")]
    Break,
    #[error("has no words: a text needs four letters in a row, or a slot for the error number")]
    Wordless,
}

fn names() -> String {
    let names: Vec<_> = SLOTS.iter().map(|(name, ..)| format!("{{{name}}}")).collect();
    names.join(" ")
}

impl Template {
    /// Reads one.
    pub(super) fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.is_empty() || text.len() > BOUND {
            return Err(TemplateError::Length);
        }
        if text.contains(['\n', '\r']) {
            return Err(TemplateError::Break);
        }
        let first = text.starts_with('^');
        let template = Self { first, parts: parts(text.strip_prefix('^').unwrap_or(text))? };
        template.check()?;
        Ok(template)
    }

    fn check(&self) -> Result<(), TemplateError> {
        let count = |slot| self.parts.iter().filter(|part| **part == Part::Slot(slot)).count();
        let once =
            SLOTS.iter().filter(|(_, slot, _)| !matches!(slot, Slot::Any | Slot::Digits | Slot::Program));
        for (name, slot, _) in once {
            if count(*slot) > 1 {
                return Err(TemplateError::Twice(name));
            }
        }
        if count(Slot::Path) + count(Slot::Absolute) > 1 {
            return Err(TemplateError::Twice("path"));
        }
        if self.literal().is_none() && !self.has(Slot::Errno) && !self.has(Slot::Name) {
            return Err(TemplateError::Wordless);
        }
        Ok(())
    }

    /// Whether it has such a slot.
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.parts.contains(&Part::Slot(slot))
    }

    /// The longest run of literal words; `None` where it is too short to look for.
    pub(super) fn literal(&self) -> Option<&str> {
        let literals = self.parts.iter().filter_map(|part| match part {
            Part::Literal(text) => Some(text.split(QUOTES)),
            Part::Slot(_) => None,
        });
        let literals = literals.flatten();
        literals.max_by_key(|text| text.len()).filter(|text| text.trim().len() >= TELLING)
    }

    /// The expression. Every part of it is ours or escaped, so it compiles.
    pub(super) fn regex(&self) -> Option<Regex> {
        let mut expression = String::from(if self.first { "^" } else { "" });
        for part in &self.parts {
            match part {
                Part::Literal(text) => expression.push_str(&literally(text)),
                Part::Slot(Slot::Errno) => expression.push_str(&texts()),
                Part::Slot(Slot::Name) => expression.push_str(&errno_names()),
                Part::Slot(slot) => expression.push_str(expression_of(*slot)),
            }
        }
        if self.parts.last() != Some(&Part::Slot(Slot::Any)) {
            expression.push_str(END);
        }
        RegexBuilder::new(&expression).unicode(false).multi_line(true).build().ok()
    }
}

/// With any quote for one that a program takes from its locale.
fn literally(text: &str) -> String {
    let escaped = text.split(QUOTES).map(bytewise);
    escaped.collect::<Vec<_>>().join(r"(?:['`]|\xe2\x80[\x98\x99])")
}

fn expression_of(slot: Slot) -> &'static str {
    SLOTS.iter().find(|(_, one, _)| *one == slot).map_or("", |(_, _, expression)| expression)
}

fn texts() -> String {
    let texts: Vec<_> = errno::ALL.iter().flat_map(Errno::all_texts).map(bytewise).collect();
    format!("(?<errno>(?i:{}))", texts.join("|"))
}

/// Expressions are about bytes: whatever is no ASCII is written by its bytes.
fn bytewise(text: &str) -> String {
    let mut escaped = String::new();
    for byte in regex::escape(text).bytes() {
        if byte.is_ascii() {
            escaped.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(escaped, r"\x{byte:02x}");
        }
    }
    escaped
}

fn errno_names() -> String {
    let names: Vec<_> = errno::ALL.iter().map(|errno| errno.name).collect();
    let mut expression = String::new();
    // A longer word that begins with a name is another word.
    let _ = write!(expression, r"\b(?<name>{})\b", names.join("|"));
    expression
}

fn parts(text: &str) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(['{', '}']) {
        literal.push_str(before);
        let opens = rest.as_bytes().get(before.len()) == Some(&b'{');
        let brace = if opens { '{' } else { '}' };
        if let Some(after) = after.strip_prefix(brace) {
            literal.push(brace);
            rest = after;
            continue;
        }
        if !opens {
            return Err(TemplateError::Brace);
        }
        let (name, after) = after.split_once('}').ok_or(TemplateError::Brace)?;
        let slot = SLOTS.iter().find(|(known, ..)| *known == name);
        let (_, slot, _) = slot.ok_or_else(|| TemplateError::Unknown(name.to_owned()))?;
        if !literal.is_empty() {
            parts.push(Part::Literal(std::mem::take(&mut literal)));
        }
        parts.push(Part::Slot(*slot));
        rest = after;
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slots_are_captured_between_the_words() {
        let regex = Template::parse("cannot touch {path}: {errno}").unwrap().regex().unwrap();
        let found = regex.captures(b"touch: cannot touch '/a: b': Permission denied").unwrap();
        assert_eq!(&found["path"], b"'/a: b'");
        assert_eq!(&found["errno"], b"Permission denied");
    }

    #[test]
    fn a_quote_is_any_quote() {
        let template = Template::parse("cannot open file `{path}' for reading: {errno}").unwrap();
        assert_eq!(template.literal(), Some("cannot open file "));
        let regex = template.regex().unwrap();
        for line in ["`/a' for", "'/a' for", "\u{2018}/a\u{2019} for"] {
            let line = format!("gawk: cannot open file {line} reading: Permission denied");
            let found = regex.captures(line.as_bytes()).unwrap();
            assert_eq!(&found["path"], b"/a", "{line}");
        }
        assert!(!regex.is_match(b"gawk: cannot open file /a for reading: Permission denied"));
    }

    #[test]
    fn braces_are_written_twice() {
        let regex =
            Template::parse("bind({digits}, {{AF=2 {host}:{port}}}, 16): {errno}").unwrap().regex().unwrap();
        let found = regex.captures(b"bind(5, {AF=2 0.0.0.0:18090}, 16): Permission denied").unwrap();
        assert_eq!(&found["port"], b"18090");
    }

    #[test]
    fn what_is_no_template_is_named() {
        assert_eq!(Template::parse("").unwrap_err(), TemplateError::Length);
        assert_eq!(Template::parse("a {nope}").unwrap_err(), TemplateError::Unknown("nope".into()));
        assert_eq!(Template::parse("open {path} {path}").unwrap_err(), TemplateError::Twice("path"));
        assert_eq!(Template::parse("open {path").unwrap_err(), TemplateError::Brace);
        assert_eq!(Template::parse("{path}: {any}").unwrap_err(), TemplateError::Wordless);
    }

    proptest! {
        #[test]
        fn whatever_parses_compiles(text in r"[a-z {}:']{0,20}(\{(path|errno|any|host|pid)\})?[ -~]{0,20}") {
            if let Ok(template) = Template::parse(&text) {
                prop_assert!(template.regex().is_some());
            }
        }
    }
}
