use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn decode(value: &Value) -> Result<FromClient, Malformed> {
    FromClient::decode(value.to_string().as_bytes()).map(|(_, message)| message)
}

/// Every line of `chunks`, and whether one was too long.
fn lines(bound: usize, chunks: &[&[u8]]) -> (Vec<Vec<u8>>, Result<(), TooLong>) {
    let mut lines = Lines::new(bound);
    let mut seen = Vec::new();
    let end = chunks.iter().try_for_each(|chunk| lines.push(chunk, |line| seen.push(line.to_vec())));
    (seen, end)
}

#[test]
fn fields_that_are_not_known_are_ignored_and_those_that_are_wrong_are_named() {
    let start = json!({"kind": "run/start", "run": "a", "command": ["true"], "cwd": "/", "later": {"x": 1}});
    let Ok(FromClient::RunStart(launch)) = decode(&start) else { panic!("no launch") };
    assert_eq!((launch.run.as_str(), &launch.stdin), ("a", &Stdin::Null));
    for (key, value) in [
        ("command", json!("true")),
        ("cwd", json!("relative")),
        ("run", json!("")),
        ("run", json!("n".repeat(LONGEST_NAME + 1))),
        ("stdin", json!("socket")),
        ("environment", json!({"A": 1})),
        ("max_output", json!(-1)),
    ] {
        let mut wrong = start.clone();
        wrong[key] = value;
        let malformed = decode(&wrong).unwrap_err();
        assert_eq!(malformed.fault, Fault::Malformed);
        assert!(malformed.text.contains(key), "{}", malformed.text);
    }
}

#[test]
fn a_line_that_is_no_message_keeps_the_names_it_has() {
    let malformed =
        decode(&json!({"kind": "run/whatever", "run": "a", "id": "b", "approval": "c"})).unwrap_err();
    assert_eq!(malformed.fault, Fault::UnknownKind);
    let Names { of, id, run, approval, .. } = *malformed.about;
    assert_eq!([run, id, approval, of].map(Option::unwrap), ["a", "b", "c", "run/whatever"]);
    for line in ["", "{", "[]", "1", "{\"kind\": 1}", "{\"kind\":\"hello\"}", "\u{feff}{}", "{} {}"] {
        assert_eq!(FromClient::decode(line.as_bytes()).unwrap_err().fault, Fault::Malformed, "{line}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(FromClient::decode(deep.as_bytes()).unwrap_err().fault, Fault::Malformed);
}

#[test]
fn a_line_at_the_bound_passes_and_one_beyond_it_does_not() {
    assert_eq!(lines(4, &[b"abcd\nab", b"cd\n\n\r\nx"]), (vec![b"abcd".to_vec(), b"abcd".to_vec()], Ok(())));
    assert_eq!(lines(4, &[b"a\nabcde\nb\n"]), (vec![b"a".to_vec()], Err(TooLong)));
    assert_eq!(lines(4, &[b"abc", b"de"]), (vec![], Err(TooLong)));
}

#[test]
fn a_message_is_one_line_whatever_it_holds() {
    let chunk = |data: &[u8]| Chunk {
        run: Name::try_from("a\nb".to_owned()).unwrap(),
        attempt: 0,
        stream: Stream::Stdout,
        data: data.to_vec().into(),
    };
    for data in [&b"a\nb\r\n\0\xe2\x80\xa8"[..], b"\xff\n\xfe"] {
        let line = ToClient::RunOutput(chunk(data)).encode().unwrap();
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let value: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(value["kind"], "run/output");
    }
}

#[cfg(feature = "schema")]
#[test]
fn every_reference_of_the_schema_has_its_definition() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let schema = schema();
    let mut found = Vec::new();
    references(&schema, &mut found);
    assert!(found.len() > 20);
    for reference in found {
        assert!(schema.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = FromClient::decode(&bytes);
    }

    #[test]
    fn no_value_of_any_key_panics(
        kind in "hello|run/(start|stdin|signal|cancel)|approval/(answer|cancel)|plan|probe|policy/(check|show)",
        key in "run|id|approval|answer|command|cwd|policy|settings|stdin|signal|version|environment",
        value in "\\PC{0,12}|\\[\\]|\\{\\}|-?[0-9]{1,30}|null|true",
    ) {
        let raw: Value = serde_json::from_str(&value).unwrap_or(Value::String(value));
        let line = json!({"kind": kind, "run": "a", "id": "b", "cwd": "/", key: raw});
        let _ = decode(&line);
    }

    #[test]
    fn the_same_bytes_are_the_same_lines_in_any_chunks(
        text in "[ab\n]{0,60}", bound in 0_usize..12, size in 1_usize..9,
    ) {
        let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
        let (whole, end) = lines(bound, &[text.as_bytes()]);
        let (parts, ended) = lines(bound, &chunks);
        prop_assert_eq!(&whole, &parts);
        prop_assert!(whole.iter().all(|line| line.len() <= bound && !line.contains(&b'\n')));
        // Whole, a line is known to be too long by its end; in parts, perhaps only before it.
        prop_assert_eq!(end, ended);
    }

    #[test]
    fn no_more_is_held_than_the_bound(chunks: Vec<Vec<u8>>, bound in 0_usize..64) {
        let mut lines = Lines::new(bound);
        for chunk in &chunks {
            if lines.push(chunk, |_| {}).is_err() {
                break;
            }
            prop_assert!(lines.begun() <= bound);
        }
    }
}
