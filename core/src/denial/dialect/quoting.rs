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

/// The path that `printed` stands for.
pub(super) fn path(printed: &[u8]) -> OsString {
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
            assert_eq!(path(printed.as_bytes()), OsString::from(meant), "{printed}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = path(&bytes);
        }

        #[test]
        fn a_bare_path_is_itself(name in "/[a-z/. ]{0,20}") {
            prop_assert_eq!(path(name.as_bytes()), OsString::from(name));
        }
    }
}
