use super::*;
use confine_core::Reason;
use proptest::prelude::*;

const DESCRIPTION: &str = r#"{"id": "x", "protocol": 1, "dialect": ""}"#;
const LAUNCH: &str =
    r#"{"launch": {"program": "/bin/x", "options": ["-a", {"base64": "/w=="}], "layers": ["mount"]}}"#;

#[test]
fn the_shortest_answers_are_read_and_the_rest_has_defaults() {
    let description = Description::decode(DESCRIPTION.as_bytes()).unwrap();
    assert_eq!((description.id.as_str(), description.payload), ("x", Payload::Stage));
    let Confined::Launch(wrapping) = Confined::decode(LAUNCH.as_bytes()).unwrap() else { panic!() };
    assert_eq!(wrapping.stage, Seat::Supervisor);
    assert_eq!(wrapping.options.last(), Some(&Text::from(vec![0xff])));
    let refusal = br#"{"error": {"reason": "no", "remedy": null}}"#;
    assert_eq!(Confined::decode(refusal).unwrap(), Confined::Error(Unusable::without_remedy("no")));
}

#[test]
fn another_version_is_named_before_its_other_keys() {
    for version in ["2", "0", "1.5", "99999999999999999999"] {
        let text = format!(r#"{{"protocol": {version}, "new": true}}"#);
        let refused = Description::decode(text.as_bytes()).unwrap_err();
        assert!(matches!(refused, AnswerError::Protocol(_)), "{version}: {refused}");
    }
    assert!(matches!(Description::decode(br#"{"protocol": "1"}"#), Err(AnswerError::Malformed(_))));
}

#[test]
fn what_has_no_meaning_is_an_error_of_its_own() {
    let effects = |answer: &str| Governance::decode(format!(r#"{{"effects": {answer}}}"#).as_bytes());
    let by_nothing = effects(r#"{"fs-write": {"status": "enforced", "layers": []}}"#).unwrap_err();
    assert_eq!(by_nothing.to_string(), "`fs-write` is enforced by no layer");
    assert!(effects(r#"{"fs-wrote": {"status": "enforced", "layers": ["mount"]}}"#).is_err(), "an effect");
    assert!(effects(r#"{"fs-write": {"status": "enforced", "layers": ["magic"]}}"#).is_err(), "a layer");
    assert!(effects(r#"{"fs-write": {"status": "enforces"}}"#).is_err(), "a status");
    for (from, to) in [
        (r#"["mount"]"#, "[]"),
        ("-a", r"\u0000"),
        ("/bin/x", "bin/x"),
        ("/bin/x", "/bin/../x"),
        (r#""layers""#, r#""missing": [], "mising": [], "layers""#),
        (r#"{"launch""#, r#"{"error": {"reason": "x", "remedy": null}, "launch""#),
    ] {
        let answer = LAUNCH.replace(from, to);
        assert_ne!(answer, LAUNCH, "{from}");
        assert!(Confined::decode(answer.as_bytes()).is_err(), "{answer}");
    }
}

#[test]
fn a_key_too_many_is_an_error_everywhere() {
    let with = |text: &str| text.replacen('{', r#"{"extra": 1, "#, 1);
    assert!(Description::decode(with(DESCRIPTION).as_bytes()).is_err());
    assert!(Governance::decode(br#"{"effects": {}, "extra": 1}"#).is_err());
    assert!(Confined::decode(with(LAUNCH).as_bytes()).is_err());
    let trailing = format!("{DESCRIPTION} {DESCRIPTION}");
    assert!(Description::decode(trailing.as_bytes()).is_err(), "one value");
}

fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let valid = prop_oneof![Just(DESCRIPTION), Just(LAUNCH), Just(r#"{"effects": {}}"#)];
    let spoilt = (valid, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(text, at, byte)| {
        let mut bytes = text.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes
    });
    prop_oneof![any::<Vec<u8>>(), spoilt]
}

proptest! {
    #[test]
    fn no_answer_panics_and_what_is_read_keeps_the_rules(bytes in garbage()) {
        if let Ok(description) = Description::decode(&bytes) {
            prop_assert_eq!(description.protocol, VERSION);
        }
        if let Ok(Confined::Launch(wrapping)) = Confined::decode(&bytes) {
            prop_assert!(!wrapping.layers.is_empty());
        }
        if let Ok(Governance { effects }) = Governance::decode(&bytes) {
            let nothing = |governed: &Governed| *governed == Governed::Enforced { layers: Vec::new() };
            prop_assert!(!effects.values().any(nothing));
        }
    }

    #[test]
    fn any_reason_of_a_refusal_survives(reason: String) {
        let answer = serde_json::json!({"error": {"reason": reason, "remedy": "x"}}).to_string();
        let expected = Unusable::new(Reason::from(reason), "x");
        prop_assert_eq!(Confined::decode(answer.as_bytes()).unwrap(), Confined::Error(expected));
    }
}

#[cfg(feature = "schema")]
#[test]
fn the_schema_has_every_verb_and_no_loose_reference() {
    let schema = schema();
    let text = schema.to_string();
    for verb in ["describe", "governs", "confine"] {
        for side in ["request", "answer"] {
            assert!(schema["verbs"][verb][side].is_object(), "{verb} {side}");
        }
    }
    for reference in text.split(r##""#/$defs/"##).skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schema["$defs"][name].is_object(), "{name}");
    }
}
