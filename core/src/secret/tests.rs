use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const VALUE: &str = "s3cr3t/+\"value\"\\of=mine";

fn redaction() -> Redaction {
    Redaction::new([("TOKEN", &Secret::new(VALUE).unwrap())]).unwrap()
}

#[test]
fn a_secret_is_shown_by_nothing() {
    let secret = Secret::new(VALUE).unwrap();
    assert!(!format!("{secret:?}").contains("s3cr3t"));
    assert_eq!(Secret::new("short"), Err(SecretError::Short));
    assert_eq!(Secret::new("aaaaaaaaaaaa"), Err(SecretError::Plain));
    assert_eq!(Secret::new(vec![b'x'; LONGEST + 1]), Err(SecretError::Long));
}

#[test]
fn each_form_of_a_secret_is_replaced() {
    let redaction = redaction();
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = VALUE.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let json = serde_json::to_string(VALUE).unwrap();
    let mut forms = vec![VALUE.to_owned(), hex.to_uppercase(), hex, percent, json];
    for lead in ["", "a", "ab"] {
        forms.push(STANDARD.encode(format!("{lead}{VALUE} and more")));
        forms.push(URL_SAFE_NO_PAD.encode(format!("{lead}{VALUE} and more")));
    }
    for form in forms {
        let shown = redaction.text(&format!("before {form} after"));
        assert!(shown.contains("[redacted TOKEN]"), "{form}: {shown}");
        assert!(shown.starts_with("before ") && shown.ends_with(" after"), "{shown}");
    }
    assert_eq!(redaction.text("nothing to see"), "nothing to see");
}

#[test]
fn without_a_secret_nothing_is_held_back() {
    let mut stream = Redaction::new([]).unwrap().stream();
    let mut out = Vec::new();
    stream.push(b"s3cr3t", &mut out);
    assert_eq!(out, b"s3cr3t");
}

proptest! {
    #[test]
    fn chunks_make_no_difference(
        pieces in vec(prop_oneof![Just(VALUE.to_owned()), "[s3cr t/+]{0,12}".boxed(), Just("s3cr3t/+\"".to_owned())], 0..8),
        cuts in vec(1_usize..9, 1..30),
    ) {
        let (redaction, text) = (redaction(), pieces.concat());
        let (mut stream, mut out) = (redaction.stream(), Vec::new());
        let (mut rest, mut cuts) = (text.as_bytes(), cuts.into_iter().cycle());
        while !rest.is_empty() {
            let (chunk, left) = rest.split_at(cuts.next().unwrap_or(1).min(rest.len()));
            stream.push(chunk, &mut out);
            prop_assert!(!String::from_utf8_lossy(&out).contains(VALUE));
            rest = left;
        }
        stream.finish(&mut out);
        let out = String::from_utf8(out).unwrap();
        prop_assert_eq!(&out, &redaction.text(&text));
        prop_assert_eq!(out, text.replace(VALUE, "[redacted TOKEN]"));
    }
}
