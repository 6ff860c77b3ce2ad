//! Paths as tools print them: bare, in one of several quotes, or as a word that a shell would read back.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Pairs of quotes around a whole path: sh and JSON style, GNU's in a UTF-8 locale, GNU's old style.
const PAIRS: &[(&[u8], &[u8])] = &[
    (b"'", b"'"),
    (b"\"", b"\""),
    ("‘".as_bytes(), "’".as_bytes()),
    (b"`", b"'"),
    (b"`", b"`"),
    (b"<", b">"),
];

/// Whose words they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A shell would read them back.
    Shell,
    /// Python would: `repr()` of a string or of bytes.
    Python,
}

impl Style {
    /// Of a tool's rows.
    pub(super) fn of(tool: &str) -> Self {
        if matches!(tool, "python" | "pip") { Self::Python } else { Self::Shell }
    }
}

/// The path that `printed` stands for.
pub(super) fn path(printed: &[u8], style: Style) -> OsString {
    if let Some(literal) = Some(printed).filter(|_| style == Style::Python).and_then(literal) {
        return OsString::from_vec(literal);
    }
    if let Some(word) = shell_word(printed) {
        return OsString::from_vec(word);
    }
    let inner = PAIRS.iter().find_map(|(open, close)| printed.strip_prefix(*open)?.strip_suffix(*close));
    OsString::from_vec(inner.unwrap_or(printed).to_vec())
}

/// GNU's shell-escape style: `'a'$'\n''b'`, `'it'\''s'`. `None` where it is not one.
fn shell_word(printed: &[u8]) -> Option<Vec<u8>> {
    if !printed.starts_with(b"'") {
        return None;
    }
    let mut word = Vec::new();
    let mut rest = printed;
    while !rest.is_empty() {
        rest = if let Some(after) = rest.strip_prefix(b"$'") {
            ansi(after, &mut word)?
        } else if let Some(after) = rest.strip_prefix(b"'") {
            let end = after.iter().position(|byte| *byte == b'\'')?;
            word.extend_from_slice(after.get(..end)?);
            after.get(end + 1..)?
        } else {
            let after = rest.strip_prefix(b"\\")?;
            word.push(*after.first()?);
            after.get(1..)?
        };
    }
    Some(word)
}

/// The part between `$'` and `'`; gives what follows.
fn ansi<'a>(printed: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = printed;
    loop {
        let (first, after) = rest.split_first()?;
        rest = after;
        match first {
            b'\'' => return Some(rest),
            b'\\' => {
                let (escape, after) = rest.split_first()?;
                rest = after;
                if (b'0'..=b'7').contains(escape) {
                    let digits = [*escape, *rest.first()?, *rest.get(1)?];
                    let octal = std::str::from_utf8(&digits).ok()?;
                    word.push(u8::from_str_radix(octal, 8).ok()?);
                    rest = rest.get(2..)?;
                } else {
                    word.push(escaped(*escape));
                }
            }
            other => word.push(*other),
        }
    }
}

/// Python's literal of a string or of bytes; `None` where it is not one.
fn literal(printed: &[u8]) -> Option<Vec<u8>> {
    let is_bytes = printed.starts_with(b"b");
    let quoted = if is_bytes { printed.get(1..)? } else { printed };
    let (quote, inner) = quoted.split_first().filter(|(quote, _)| matches!(quote, b'\'' | b'"'))?;
    let mut rest = inner.strip_suffix(std::slice::from_ref(quote))?;
    let mut bytes = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let (letter, after) = rest.split_first()?;
        let digits = match letter {
            b'x' => 2,
            b'u' if !is_bytes => 4,
            b'U' if !is_bytes => 8,
            other => {
                bytes.push(escaped(*other));
                rest = after;
                continue;
            }
        };
        let number = std::str::from_utf8(after.get(..digits)?).ok()?;
        push(u32::from_str_radix(number, 16).ok()?, is_bytes, &mut bytes)?;
        rest = after.get(digits..)?;
    }
    Some(bytes)
}

/// One character by its number. A byte that was no UTF-8 is a lone surrogate in a string: PEP 383.
fn push(number: u32, is_bytes: bool, bytes: &mut Vec<u8>) -> Option<()> {
    match number {
        0xdc80..=0xdcff if !is_bytes => bytes.push(u8::try_from(number - 0xdc00).ok()?),
        _ if is_bytes => bytes.push(u8::try_from(number).ok()?),
        _ => bytes.extend_from_slice(char::from_u32(number)?.encode_utf8(&mut [0; 4]).as_bytes()),
    }
    Some(())
}

const fn escaped(letter: u8) -> u8 {
    match letter {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_of_every_style_go() {
        for (printed, meant) in [
            ("/a b", "/a b"),
            ("'/a b'", "/a b"),
            ("\"/a\"", "/a"),
            ("‘/a’", "/a"),
            ("`/a'", "/a"),
            (r"'it'\''s'", "it's"),
            (r"'a'$'\n\303\251''b'", "a\néb"),
            ("'unclosed", "'unclosed"),
        ] {
            assert_eq!(path(printed.as_bytes(), Style::Shell), OsString::from(meant), "{printed}");
        }
    }

    #[test]
    fn python_prints_literals() {
        for (printed, meant) in [
            (r"'/a b'", &b"/a b"[..]),
            (r"b'/a\xff\n'", b"/a\xff\n"),
            (r"'/a\n\t\\\''", b"/a\n\t\\'"),
            (r#""/it's""#, b"/it's"),
            (r"'/\xe9\u20ac\U0001f600'", "/é€😀".as_bytes()),
            (r"'/\udcff'", b"/\xff"),
            (r"b'/\u20ac'", br"/u20ac"),
            ("/bare", b"/bare"),
            (r"'/unfinished\x4'", br"/unfinished\x4"),
        ] {
            let found = path(printed.as_bytes(), Style::Python);
            assert_eq!(found, OsString::from_vec(meant.to_vec()), "{printed}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = path(&bytes, Style::Shell);
            let _ = path(&bytes, Style::Python);
        }

        #[test]
        fn a_bare_path_is_itself(name in "/[a-z/. ]{0,20}") {
            prop_assert_eq!(path(name.as_bytes(), Style::Shell), OsString::from(&name));
            prop_assert_eq!(path(name.as_bytes(), Style::Python), OsString::from(name));
        }
    }
}
