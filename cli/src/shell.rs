//! Words for a POSIX shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// `word` so that a shell reads it back as it is, in printable characters only: `$'…'` (POSIX 2024, bash, zsh, ksh)
/// where it holds anything else.
pub(crate) fn quote(word: &OsStr) -> String {
    let bytes = word.as_bytes();
    if !bytes.is_empty() && bytes.iter().all(|byte| is_plain(*byte)) {
        return word.to_string_lossy().into_owned();
    }
    match word.to_str() {
        Some(text) if !text.chars().any(char::is_control) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => format!("$'{}'", bytes.iter().map(|byte| escaped(*byte)).collect::<String>()),
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_./:=,+@%^".contains(&byte)
}

/// Octal with three digits, so that a digit that follows cannot be taken for a part of it.
fn escaped(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        byte if byte.is_ascii_graphic() || byte == b' ' => char::from(byte).to_string(),
        byte => format!("\\{byte:03o}"),
    }
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
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn bash_reads_every_word_back(bytes in proptest::collection::vec(1u8..=255, 0..40)) {
            let word = OsStr::from_bytes(&bytes);
            let script = format!("printf %s {}", quote(word));
            prop_assert!(!script.chars().any(char::is_control));
            let output = std::process::Command::new("bash").arg("-c").arg(script).output().unwrap();
            prop_assert_eq!(output.stdout, bytes);
        }
    }
}
