use proptest::prelude::*;
use serde_json::json;

use super::*;

fn example() -> Value {
    json!({
        "abi": 1, "name": "fetch", "version": "0.1.0", "summary": "Fetch a page as text",
        "egress": [{ "kind": "http", "hosts": ["*.crates.io:443", "crates.io:443"], "methods": ["GET"] }],
        "credentials": [{ "name": "CRATES_TOKEN", "as": "header:authorization", "hosts": ["crates.io:443"] }],
        "input": { "type": "object", "required": ["url"], "additionalProperties": false,
                   "properties": { "url": { "type": "string", "format": "uri" } } },
        "output": { "type": "object" },
        "limits": { "reply_bytes": 1_048_576, "timeout_ms": 30_000 }, "concurrency": 1
    })
}

fn read(value: &Value) -> Result<Manifest, ManifestError> {
    Manifest::parse(value.to_string().as_bytes())
}

/// The example with the value at `place` (a JSON pointer) another.
fn with(place: &str, value: Value) -> Value {
    let mut manifest = example();
    *manifest.pointer_mut(place).unwrap() = value;
    manifest
}

#[test]
fn the_example_is_read_whole() {
    let text = example().to_string();
    let manifest = Manifest::parse(text.as_bytes()).unwrap();
    assert_eq!(manifest.bytes(), text.as_bytes());
    assert_eq!(manifest.digest(), Digest::of(text.as_bytes()));
    let declared = |host: &str, method| {
        manifest.declares_fetch(method, &Endpoint::parse(host, Some(443)).unwrap()).is_some()
    };
    assert!(declared("static.crates.io", Method::Get) && declared("crates.io", Method::Get));
    assert!(!declared("crates.io", Method::Post) && !declared("crates.io:80", Method::Get));
    assert!(!declared("evilcrates.io", Method::Get));
    let endpoint = Endpoint::parse("crates.io:443", None).unwrap();
    assert!(manifest.declares_connect(&endpoint).is_none(), "http is no connection");
    assert_eq!(manifest.credentials_for(&endpoint).count(), 1);
    let below = Endpoint::parse("static.crates.io:443", None).unwrap();
    assert_eq!(manifest.credentials_for(&below).count(), 0);
}

#[test]
fn every_rule_is_kept_and_names_its_field() {
    let table = [
        (with("/abi", json!(2)), "abi"),
        (with("/name", json!("Fetch")), "name"),
        (with("/version", json!("v1")), "version"),
        (with("/summary", json!("two\nlines")), "summary"),
        (with("/egress", json!([])), "credentials[0].hosts"),
        (with("/egress/0/hosts/0", json!("*")), "egress[0].hosts[0]"),
        (with("/egress/0/hosts/0", json!("*.com")), "egress[0].hosts[0]"),
        (with("/egress/0/hosts/0", json!("https://crates.io")), "egress[0].hosts[0]"),
        (with("/egress/0/hosts", json!([])), "egress[0].hosts"),
        (with("/egress/0/methods/0", json!("CONNECT")), "egress[0].methods[0]"),
        (with("/egress/0/methods/0", json!("get")), "egress[0].methods[0]"),
        (with("/egress/0/methods", json!([])), "egress[0].methods"),
        (with("/egress/0/kind", json!("tcp")), "egress[0].methods"),
        (with("/egress/0/kind", json!("udp")), "egress[0].kind"),
        (with("/credentials/0/hosts/0", json!("evil.example")), "credentials[0].hosts"),
        (with("/credentials/0/hosts/0", json!("crates.io:80")), "credentials[0].hosts"),
        (with("/credentials/0/as", json!("header:host")), "credentials[0].as"),
        (with("/credentials/0/as", json!("query:key")), "credentials[0].as"),
        (with("/credentials/0/name", json!("token")), "credentials[0].name"),
        (with("/limits/reply_bytes", json!(0)), "limits.reply_bytes"),
        (with("/limits/timeout_ms", json!(600_001)), "limits.timeout_ms"),
        (with("/concurrency", json!(65)), "concurrency"),
        (with("/input/additionalProperties", json!(true)), "input.additionalProperties"),
    ];
    for (manifest, field) in table {
        let error = read(&manifest).map(|_| ()).unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(!error.help.is_empty(), "{error}");
    }
}

#[test]
fn an_unknown_field_is_refused_unless_it_begins_with_x() {
    let mut manifest = example();
    manifest["x-vendor"] = json!({ "anything": 1 });
    assert_eq!(read(&manifest).unwrap().extensions.len(), 1);
    manifest["vendor"] = json!(1);
    assert!(read(&manifest).unwrap_err().to_string().contains("unknown field `vendor`"));
    let mut nested = example();
    nested["egress"][0]["ports"] = json!([1]);
    assert!(read(&nested).is_err());
}

#[test]
fn a_key_given_twice_is_refused_at_every_depth() {
    let text = example().to_string();
    assert!(Manifest::parse(text.as_bytes()).is_ok());
    for (once, twice) in [
        (r#""abi":1"#, r#""abi":1,"abi":1"#),
        (r#""kind":"http""#, r#""kind":"http","kind":"http""#),
        (r#""format":"uri""#, r#""format":"uri","format":"uri""#),
    ] {
        assert!(text.contains(once), "{once}");
        let error = Manifest::parse(text.replace(once, twice).as_bytes()).unwrap_err();
        assert!(error.to_string().contains("is there twice"), "{error}");
    }
    let long = format!("{text}{}", " ".repeat(LONGEST));
    assert_eq!(*Manifest::parse(long.as_bytes()).unwrap_err().fault, ManifestFault::TooLong);
}

#[test]
fn an_input_that_names_a_host_needs_egress() {
    let nothing = |name: &str, schema: Value| {
        let mut manifest = example();
        manifest["egress"] = json!([]);
        manifest["credentials"] = json!([]);
        manifest["input"]["required"] = json!([]);
        manifest["input"]["properties"] = json!({ name: schema });
        read(&manifest)
    };
    for name in ["url", "baseURL", "target_host", "ipAddress", "HTTPHost", "webhook", "callbackurl"] {
        let error = nothing(name, json!({ "type": "string" })).unwrap_err();
        assert!(matches!(*error.fault, ManifestFault::Reaches(_)), "{name}: {error}");
    }
    assert!(nothing("text", json!({ "type": "string", "format": "uri" })).is_err());
    for name in ["text", "count", "shipment"] {
        assert!(nothing(name, json!({ "type": "string" })).is_ok(), "{name}");
    }
}

#[test]
fn what_is_wider_than_approved_is_told_apart_from_what_is_narrower() {
    let approved = read(&example()).unwrap();
    assert!(approved.changes_from(&approved).is_empty());
    let wider = [
        with("/egress/0/hosts/0", json!("*.evil.example:443")),
        with("/egress/0/methods", json!(["GET", "POST"])),
        with("/limits/timeout_ms", json!(30_001)),
        with("/concurrency", json!(2)),
        with("/credentials/0/as", json!("bearer")),
        with("/input/properties", json!({ "url": { "type": "string" } })),
    ];
    for manifest in wider {
        assert!(!read(&manifest).unwrap().wider_than(&approved).is_empty(), "{manifest}");
    }
    for manifest in [
        with("/egress/0/hosts/0", json!("static.crates.io:443")),
        with("/limits/timeout_ms", json!(1)),
        with("/credentials", json!([])),
        with("/summary", json!("Other words")),
    ] {
        let now = read(&manifest).unwrap();
        assert!(
            now.wider_than(&approved).is_empty() && !now.changes_from(&approved).is_empty(),
            "{manifest}"
        );
    }
}

proptest! {
    #[test]
    fn no_bytes_panic_and_what_is_read_is_the_same_again(noise: Vec<u8>, at in 0..700_usize, byte: u8) {
        let mut spoilt = example().to_string().into_bytes();
        let at = at % spoilt.len();
        spoilt[at] = byte;
        for bytes in [noise, spoilt] {
            if let Ok(manifest) = Manifest::parse(&bytes) {
                prop_assert_eq!(Manifest::parse(manifest.bytes()).ok(), Some(manifest));
            }
        }
    }
}
