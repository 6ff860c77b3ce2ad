//! The forms in which a secret may stand in a text.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Every form of `secret` that is looked for: itself, base64 of both alphabets in its three alignments, hexadecimal,
/// percent-encoded and JSON-escaped.
pub(super) fn of(secret: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::from([secret.to_vec()]);
    forms.extend((0..3).flat_map(|alignment| base64(secret, alignment)));
    forms.extend([hexadecimal(secret, Case::Lower), hexadecimal(secret, Case::Upper)]);
    for case in [Case::Lower, Case::Upper] {
        forms.extend(
            [Kept::Unreserved, Kept::Form, Kept::Query, Kept::Nothing]
                .map(|kept| percent(secret, kept, case)),
        );
    }
    if let Ok(text) = std::str::from_utf8(secret) {
        forms.extend(json(text));
    }
    forms
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Lower,
    Upper,
}

/// What percent-encoding leaves as it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// RFC 3986, 2.3.
    Unreserved,
    /// As browsers send forms: a space is a plus.
    Form,
    /// As `encodeURI` does: reserved signs too.
    Query,
    Nothing,
}

/// The characters that are the same whatever stands before and behind, with `before` bytes before in the group of three.
fn base64(secret: &[u8], before: usize) -> [Vec<u8>; 2] {
    let mut padded = vec![0; before];
    padded.extend_from_slice(secret);
    // A character has 6 bits: the first whole one after `before` bytes, and the last whole one.
    let first = (before * 8).div_ceil(6);
    let end = padded.len() * 8 / 6;
    [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)]
        .map(|text| text.into_bytes().get(first..end).unwrap_or_default().to_vec())
}

fn hexadecimal(secret: &[u8], case: Case) -> Vec<u8> {
    secret.iter().flat_map(|byte| digits(*byte, case)).collect()
}

fn digits(byte: u8, case: Case) -> [u8; 2] {
    let digit = |value: u8| match (value, case) {
        (0..10, _) => b'0' + value,
        (_, Case::Lower) => b'a' + value - 10,
        (_, Case::Upper) => b'A' + value - 10,
    };
    [digit(byte >> 4), digit(byte & 15)]
}

fn percent(secret: &[u8], kept: Kept, case: Case) -> Vec<u8> {
    let mut text = Vec::with_capacity(secret.len() * 3);
    for &byte in secret {
        let unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        match kept {
            Kept::Unreserved if unreserved => text.push(byte),
            Kept::Query if unreserved || b"!'()*;/?:@&=+$,#".contains(&byte) => text.push(byte),
            Kept::Form if byte == b' ' => text.push(b'+'),
            Kept::Form if byte != b'~' && (unreserved || byte == b'*') => text.push(byte),
            _ => {
                text.push(b'%');
                text.extend(digits(byte, case));
            }
        }
    }
    text
}

/// As most writers do, with slashes escaped, and with everything beyond ASCII escaped.
fn json(text: &str) -> Vec<Vec<u8>> {
    let usual = serde_json::to_string(text).unwrap_or_default();
    let usual =
        usual.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default().to_owned();
    let ascii = |case: Case| {
        let mut ascii = String::new();
        for letter in usual.chars() {
            if letter.is_ascii() {
                ascii.push(letter);
                continue;
            }
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let unit = match case {
                    Case::Lower => format!("\\u{unit:04x}"),
                    Case::Upper => format!("\\u{unit:04X}"),
                };
                ascii.push_str(&unit);
            }
        }
        ascii
    };
    let forms = [usual.clone(), ascii(Case::Lower), ascii(Case::Upper)];
    forms.into_iter().flat_map(|form| [form.replace('/', "\\/").into_bytes(), form.into_bytes()]).collect()
}
