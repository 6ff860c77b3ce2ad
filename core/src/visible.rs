//! How text that somebody else chose is shown to a person: what is shown is what is there.
//!
//! One definition for every channel. Control, format, private-use, unassigned, combining and bidirectional characters,
//! blanks that are no plain space, and padding are escapes; the text itself is never changed. What looks alike in two
//! scripts is not told apart.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::Text;

/// Letters and symbols that show nothing, or change what stands beside them: fillers, spacing marks of music, letters that
/// join into one (Hangul in parts), what looks like the separator of a path, and scripts that are written from right to left.
const ODD: &[(char, char)] = &[
    ('\u{0590}', '\u{08ff}'),
    ('\u{1100}', '\u{11ff}'),
    ('\u{2044}', '\u{2044}'),
    ('\u{2215}', '\u{2216}'),
    ('\u{2571}', '\u{2572}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{29f5}', '\u{29f9}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{a960}', '\u{a97f}'),
    ('\u{d7b0}', '\u{d7ff}'),
    ('\u{fb1d}', '\u{fdff}'),
    ('\u{fe70}', '\u{feff}'),
    ('\u{fe68}', '\u{fe68}'),
    ('\u{ff0f}', '\u{ff0f}'),
    ('\u{ff3c}', '\u{ff3c}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{ffff}'),
    ('\u{10800}', '\u{10fff}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{1e800}', '\u{1efff}'),
];

/// Whether `character` shows as itself wherever it stands, and nothing else shows so.
pub fn is_plain(character: char) -> bool {
    match character {
        ' '..='~' => true,
        '\0'..='\u{9f}' => false,
        _ => !is_odd(character) && character.escape_debug().count() == 1,
    }
}

fn is_odd(character: char) -> bool {
    ODD.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

/// `text` as a person may see it: `\n`, `\t`, `\\`, `\u{202e}`, `\xff` for a byte that is no UTF-8, and `\u{20}` for a
/// space at either end or beside another. Two texts that differ are shown differently, in one line.
pub fn visible(text: &OsStr) -> String {
    let mut shown = String::new();
    for chunk in text.as_bytes().utf8_chunks() {
        chunk.valid().chars().for_each(|character| push(&mut shown, character));
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    if let Some(rest) = shown.strip_suffix(' ') {
        shown = format!("{rest}\\u{{20}}");
    }
    shown
}

fn push(shown: &mut String, character: char) {
    match character {
        '\\' => shown.push_str("\\\\"),
        ' ' if shown.is_empty() || shown.ends_with(' ') || shown.ends_with("\\u{20}") => {
            shown.push_str("\\u{20}");
        }
        '\n' | '\r' | '\t' => shown.extend(character.escape_default()),
        _ if is_plain(character) => shown.push(character),
        _ => shown.extend(character.escape_unicode()),
    }
}

/// A command as a person may see it: its words with a space between, each one that is not plain letters in single
/// quotes, so that where a word ends shows. It is not meant for a shell.
pub fn visible_argv<'a>(argv: impl IntoIterator<Item = &'a Text>) -> String {
    let words: Vec<String> = argv.into_iter().map(|word| quoted(word.as_os_str())).collect();
    words.join(" ")
}

fn quoted(word: &OsStr) -> String {
    let shown = visible(word);
    let is_bare = |character: char| character.is_alphanumeric() || "-_./:=,+@%".contains(character);
    if !shown.is_empty() && shown.chars().all(is_bare) {
        return shown;
    }
    format!("'{}'", shown.replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        visible(OsStr::new(text))
    }

    #[test]
    fn what_moves_hides_or_pads_is_an_escape() {
        let hostile = [
            "\u{1b}[2J",
            "\u{9b}2J",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{200d}",
            "\u{feff}",
            "\u{ad}",
            "\u{e000}",
            "\u{e0041}",
            "\u{301}",
            "\u{fe0f}",
            "\u{a0}",
            "\u{3000}",
            "\u{2028}",
            "\u{2800}",
            "\u{3164}",
            "\u{34f}",
            "\u{115f}",
            "\u{ffa0}",
            "\u{61c}",
            "\u{5d0}",
            "\u{10ffff}",
            "\u{1100}",
            "\u{1161}",
            "\u{7f}",
            "\0",
            "\r",
            "\n",
            "\u{1d173}",
            "\u{2044}",
            "\u{2215}",
            "\u{29f8}",
            "\u{2571}",
            "\u{ff0f}",
        ];
        for text in hostile {
            let seen = shown(&format!("a{text}b"));
            assert!(seen.is_ascii() && seen.starts_with("a\\"), "{seen}");
        }
        for text in ["é", "日本", "/a b", "🦀", "Ω", "~'\""] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn padding_and_the_ends_of_words_show() {
        assert_eq!(shown("a  b "), "a \\u{20}b\\u{20}");
        let argv = ["rm", "a b", "", "it's", "x\ny", "\\n"].map(Text::from);
        assert_eq!(visible_argv(&argv), r"rm 'a b' '' 'it\'s' 'x\ny' '\\n'");
    }

    fn word() -> impl Strategy<Value = Vec<u8>> {
        let odd = "[ab '\\\\nxu{}20\n\u{202e}é]{0,6}".prop_map(String::into_bytes);
        prop_oneof![odd, prop::collection::vec(any::<u8>(), 0..6)]
    }

    proptest! {
        #[test]
        fn nothing_hostile_is_left(bytes: Vec<u8>) {
            let text = visible(OsStr::from_bytes(&bytes));
            prop_assert!(text.chars().all(is_plain), "{text}");
            prop_assert!(!text.contains("  ") && text.trim() == text);
        }

        #[test]
        fn two_commands_that_differ_are_shown_differently(
            one in prop::collection::vec(word(), 0..4), two in prop::collection::vec(word(), 0..4),
        ) {
            let shown = |argv: &[Vec<u8>]| visible_argv(&argv.iter().cloned().map(Text::from).collect::<Vec<_>>());
            prop_assert_eq!(one == two, shown(&one) == shown(&two));
        }
    }
}
