use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

const VALUE: &str = "s3cr3t/\"tök+en";

fn redaction(values: &[&str]) -> Redaction {
    let secrets: Vec<Secret> = values.iter().map(|value| Secret::new(*value).unwrap()).collect();
    Redaction::new(secrets.iter().map(|secret| ("KEY", secret))).unwrap()
}

#[test]
fn every_form_is_replaced() {
    let redaction = redaction(&[VALUE]);
    let hexadecimal: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = VALUE.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let forms = [
        VALUE.to_owned(),
        hexadecimal.to_uppercase(),
        hexadecimal,
        percent.to_lowercase(),
        percent,
        "s3cr3t%2F%22t%C3%B6k%2Ben".into(),
        serde_json::to_string(VALUE).unwrap(),
        r#"s3cr3t/\"t\u00f6k+en"#.into(),
        r#"s3cr3t\/\"tök+en"#.into(),
    ];
    for form in forms {
        let text = redaction.text(&format!("before {form} behind"));
        assert!(text.contains("[redacted KEY]") && !text.contains(&form), "{form}: {text}");
        assert!(text.starts_with("before ") && text.ends_with(" behind"), "{text}");
    }
    for before in 0..3 {
        let text = format!("{}{VALUE}more", "x".repeat(before));
        let encoded = redaction.text(&STANDARD.encode(text));
        assert!(encoded.contains("[redacted KEY]"), "{before}: {encoded}");
    }
    assert_eq!(redaction.text("nothing to hide: s3cr3t/"), "nothing to hide: s3cr3t/");
}

#[test]
fn what_is_no_secret_is_refused_and_what_is_one_is_not_shown() {
    assert_eq!(Secret::new("1234567"), Err(SecretError::Short));
    assert_eq!(Secret::new("aaaaaaaaaaaa"), Err(SecretError::Plain));
    assert_eq!(Secret::new(vec![1; LONGEST + 1]), Err(SecretError::Long));
    let secret = Secret::new("12345678").unwrap();
    assert_eq!(format!("{secret:?}"), "Secret(…)");
    assert_eq!(secret.expose(), b"12345678");
}

#[test]
fn without_secrets_nothing_is_held_back() {
    let mut stream = Redaction::new([]).unwrap().stream();
    let mut out = Vec::new();
    stream.push(b"text", &mut out);
    assert_eq!((out.as_slice(), stream.held()), (&b"text"[..], 0));
}

proptest! {
    #[test]
    fn chunks_make_no_difference(
        pieces in prop::collection::vec(prop_oneof![
            Just("abababab-abc".to_owned()), Just("babababa".to_owned()), Just("abab".to_owned()),
            "[ab-]{0,9}", Just("6162616261626162".to_owned()), Just(STANDARD.encode("xabababab-abc")),
        ], 0..9),
        chunk in 1..9_usize,
    ) {
        let redaction = redaction(&["abababab-abc", "babababa"]);
        let text = pieces.concat();
        let whole = redaction.whole(text.as_bytes());
        let (mut stream, mut out) = (redaction.stream(), Vec::new());
        for part in text.as_bytes().chunks(chunk) {
            stream.push(part, &mut out);
            prop_assert!(!String::from_utf8_lossy(&out).contains("babababa"));
        }
        stream.finish(&mut out);
        prop_assert_eq!(&out, &whole);
        let shown = String::from_utf8(whole).unwrap();
        prop_assert!(!shown.contains("babababa") && !shown.contains("abababab-abc"), "{}", shown);
    }
}
