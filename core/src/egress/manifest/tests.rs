use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn written() -> Value {
    json!({
        "abi": 1, "name": "fetch", "version": "0.1.0", "summary": "Fetch a page as text",
        "egress": [{ "kind": "http", "hosts": ["*.crates.io:443"], "methods": ["GET"] }],
        "credentials": [{ "name": "CRATES_TOKEN", "as": "header:authorization", "hosts": ["x.crates.io:443"] }],
        "input": { "type": "object", "required": ["url"],
            "properties": { "url": { "type": "string", "format": "uri" } }, "additionalProperties": false },
        "output": { "type": "object" }, "limits": { "reply_bytes": 1048576, "timeout_ms": 30000 },
        "concurrency": 1
    })
}

fn parse(value: &Value) -> Result<Manifest, ManifestError> {
    Manifest::parse(&serde_json::to_vec(value).unwrap())
}

/// With the value at a pointer replaced; a name that is not there is added.
fn with(pointer: &str, value: Value) -> Value {
    let mut manifest = written();
    let (above, name) = pointer.rsplit_once('/').unwrap();
    let above = manifest.pointer_mut(above).unwrap();
    match above {
        Value::Array(list) => list[name.parse::<usize>().unwrap()] = value,
        other => other[name] = value,
    }
    manifest
}

#[test]
fn the_example_of_the_design_is_one() {
    let manifest = parse(&written()).unwrap();
    assert_eq!(manifest.hosts().count(), 1);
    let endpoint = crate::egress::host::Endpoint::parse("static.crates.io", Some(443)).unwrap();
    assert!(manifest.declares_fetch(Method::Get, &endpoint).is_some());
    assert!(manifest.declares_connect(&endpoint).is_none());
}

#[test]
fn each_rule_refuses_what_breaks_it() {
    let wrong = [
        ("/unknown", json!(1)),
        ("/abi", json!(2)),
        ("/name", json!("../x")),
        ("/egress/0/kind", json!("udp")),
        ("/egress/0/hosts", json!(["*"])),
        ("/egress/0/hosts", json!(["*.com"])),
        ("/egress/0/hosts", json!(["https://crates.io"])),
        ("/egress/0/hosts", json!([])),
        ("/egress/0/methods", json!(["BREW"])),
        ("/egress/0/methods", json!([])),
        ("/egress/0/more", json!(1)),
        ("/credentials/0/hosts", json!(["evil.example:443"])),
        ("/credentials/0/as", json!("cookie")),
        ("/limits/reply_bytes", json!(0)),
        ("/limits/timeout_ms", json!(-1)),
        ("/concurrency", json!(0)),
        ("/concurrency", json!(65)),
    ];
    for (pointer, value) in wrong {
        assert!(parse(&with(pointer, value.clone())).is_err(), "{pointer} = {value}");
    }
    assert!(parse(&with("/x-note", json!({ "any": 1 }))).is_ok());
}

fn taking(property: &str) -> Value {
    json!({ "type": "object", "properties": { property: { "type": "string" } }, "additionalProperties": false })
}

/// A tool that takes a place to go to is an egress tool, whatever it says of itself.
#[test]
fn an_input_that_names_a_place_needs_a_channel() {
    let mut manifest = with("/egress", json!([]));
    manifest["credentials"] = json!([]);
    assert!(parse(&manifest).is_err());
    for property in ["host", "url", "address", "webhook_url"] {
        let mut named = manifest.clone();
        named["input"] = taking(property);
        assert!(parse(&named).is_err(), "{property}");
        named["egress"] = written()["egress"].clone();
        assert_eq!(parse(&named).map(|_| ()), Ok(()), "{property}");
    }
    manifest["input"] = taking("text");
    assert_eq!(parse(&manifest).map(|_| ()), Ok(()));
}

#[test]
fn a_name_that_stands_twice_is_refused() {
    let text = serde_json::to_string(&written()).unwrap();
    let twice = text.replacen('{', r#"{"abi":1,"#, 1);
    assert!(Manifest::parse(twice.as_bytes()).is_err());
}

#[test]
fn what_is_wider_than_approved_is_told() {
    let approved = parse(&written()).unwrap();
    assert!(approved.wider_than(&approved).is_empty() && approved.changes_from(&approved).is_empty());
    for (pointer, value) in [
        ("/egress/0/hosts", json!(["*.crates.io:443", "evil.example"])),
        ("/egress/0/methods", json!(["GET", "POST"])),
        ("/limits/reply_bytes", json!(2_097_152)),
    ] {
        assert!(!parse(&with(pointer, value)).unwrap().wider_than(&approved).is_empty(), "{pointer}");
    }
    let narrower = parse(&with("/egress/0/hosts", json!(["x.crates.io:443"]))).unwrap();
    assert!(narrower.wider_than(&approved).is_empty() && !narrower.changes_from(&approved).is_empty());
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Manifest::parse(&bytes);
    }

    #[test]
    fn no_value_of_a_field_panics(
        field in 0_usize..10, value in prop_oneof![Just(json!(null)), any::<i64>().prop_map(|n| json!(n)),
            "\\PC{0,9}".prop_map(|text| json!(text)), "\\PC{0,9}".prop_map(|text| json!([text, {}]))],
    ) {
        let mut manifest = written();
        let name = manifest.as_object().unwrap().keys().nth(field).unwrap().clone();
        manifest[name] = value;
        let _ = parse(&manifest);
    }
}
