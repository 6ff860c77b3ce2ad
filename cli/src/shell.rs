//! Words for a POSIX shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// `word` so that a shell reads it back as it is, in printable characters only: `$'…'` (POSIX 2024, bash, zsh, ksh)
/// where it holds anything else.
pub(crate) fn quote(word: &OsStr) -> String {
    let bytes = word.as_bytes();
    if is_bare(bytes) {
        return word.to_string_lossy().into_owned();
    }
    match word.to_str() {
        Some(text) if !text.chars().any(char::is_control) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => format!("$'{}'", bytes.iter().map(|byte| escaped(*byte)).collect::<String>()),
    }
}

/// `word` in single quotes where it needs them, and otherwise as it is, control characters too: for any POSIX shell.
pub(crate) fn quote_as_is(word: &str) -> String {
    if is_bare(word.as_bytes()) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// As [`quote`], for one line of a text that `word` must not be able to end or to imitate: every character but letters,
/// digits and plain punctuation is an escape of `$'…'`, so there are no blanks, brackets, semicolons or invisible ones.
pub(crate) fn escape(word: &OsStr) -> String {
    let bytes = word.as_bytes();
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut buffer = [0; 4];
            let encoded = character.encode_utf8(&mut buffer);
            if character.is_alphanumeric() || encoded.bytes().all(is_plain) {
                text.push(character);
            } else {
                text.extend(encoded.bytes().map(octal));
            }
        }
        text.extend(chunk.invalid().iter().map(|byte| octal(*byte)));
    }
    let is_changed = text.as_bytes() != bytes;
    if is_changed || text.is_empty() { format!("$'{text}'") } else { text }
}

/// Whether any shell takes it as it is: zsh reads `=word` and, with some settings, `^` as something else.
fn is_bare(word: &[u8]) -> bool {
    let is_special = |byte: &u8| *byte == b'^' || !is_plain(*byte);
    !word.is_empty() && !word.starts_with(b"=") && !word.iter().any(is_special)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_./:=,+@%^".contains(&byte)
}

fn escaped(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        byte if byte.is_ascii_graphic() || byte == b' ' => char::from(byte).to_string(),
        byte => octal(byte),
    }
}

/// With three digits, so that a digit that follows cannot be taken for a part of it.
fn octal(byte: u8) -> String {
    format!("\\{byte:03o}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_words_stay_and_others_are_quoted() {
        let quoted = |word: &str| quote(OsStr::new(word));
        assert_eq!(quoted("--read"), "--read");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("a\n1"), r"$'a\0121'");
        assert_eq!(quoted("#"), "'#'");
        assert_eq!(quoted("~"), "'~'");
        for word in ["=ls", "HEAD^"] {
            assert_eq!((quoted(word), quote_as_is(word)), (format!("'{word}'"), format!("'{word}'")));
        }
        assert_eq!(quote_as_is("A=b"), "A=b");
        let escaped = |word: &str| escape(OsStr::new(word));
        assert_eq!(escaped("/ws/é"), "/ws/é");
        assert_eq!(escaped("/a b]'"), r"$'/a\040b\135\047'");
        assert_eq!(escaped(""), "$''");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn bash_reads_every_word_back(bytes in proptest::collection::vec(1u8..=255, 0..40)) {
            let word = OsStr::from_bytes(&bytes);
            for quoted in [quote(word), escape(word)] {
                let script = format!("printf %s {quoted}");
                prop_assert!(!script.chars().any(char::is_control));
                let output = std::process::Command::new("bash").arg("-c").arg(script).output().unwrap();
                prop_assert_eq!(&output.stdout, &bytes);
            }
        }

        #[test]
        fn every_shell_reads_a_word_back_that_is_quoted_as_it_is(word in "[^\0]{0,40}") {
            for shell in ["sh", "bash"] {
                let script = format!("printf %s {}", quote_as_is(&word));
                let output = std::process::Command::new(shell).arg("-c").arg(script).output().unwrap();
                prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), word.clone());
            }
        }

        #[test]
        fn an_escaped_word_holds_nothing_that_ends_a_text(word in "\\PC*|[\\]; \u{202e}\u{200b}\u{2028}\u{2029}\n]{0,9}") {
            let text = escape(OsStr::new(&word));
            prop_assert!(text.chars().all(|c| c.is_alphanumeric() || "-_./:=,+@%^$'\\".contains(c)), "{text}");
        }
    }
}
