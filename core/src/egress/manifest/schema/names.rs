//! Which parts of an input name a host.

use serde_json::Value;

use super::{Schema, Shape};

/// Words of a property's name that say so: it is taken apart at hyphens, underscores, dots and capitals.
const WORDS: &[&str] = &[
    "addr",
    "address",
    "addresses",
    "cidr",
    "domain",
    "domains",
    "email",
    "endpoint",
    "endpoints",
    "fqdn",
    "host",
    "hostname",
    "hostnames",
    "hosts",
    "href",
    "ip",
    "ips",
    "ipv4",
    "ipv6",
    "link",
    "links",
    "mirror",
    "origin",
    "peer",
    "proxy",
    "remote",
    "server",
    "servers",
    "site",
    "sites",
    "upstream",
    "uri",
    "uris",
    "url",
    "urls",
    "webhook",
    "website",
    "websites",
];

/// Ends of a word that say so, of names that are written in one.
const ENDS: &[&str] = &["url", "urls", "uri", "uris", "host", "hosts", "hostname", "endpoint", "website"];

/// The first part that does, as a path below `place`.
pub(super) fn reaching(schema: &Schema, place: &str) -> Option<String> {
    let here = || Some(if place.is_empty() { "input".to_owned() } else { place.to_owned() });
    if holds_url(&schema.written) {
        return here();
    }
    match &schema.shape {
        Shape::Object { properties, .. } => properties.iter().find_map(|(name, schema)| {
            let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            if says_so(name) { Some(place) } else { reaching(schema, &place) }
        }),
        Shape::Array { items, .. } => {
            items.as_deref().and_then(|items| reaching(items, &format!("{place}[]")))
        }
        Shape::String { format: Some(_), .. } => here(),
        _ => None,
    }
}

/// Whether a value that the schema gives is a URL.
fn holds_url(written: &Value) -> bool {
    let given = ["default", "examples", "enum", "const"].into_iter().filter_map(|word| written.get(word));
    given.into_iter().any(is_url)
}

fn is_url(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("://"),
        Value::Array(list) => list.iter().any(is_url),
        Value::Object(map) => map.values().any(is_url),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn says_so(name: &str) -> bool {
    words(name)
        .iter()
        .any(|word| WORDS.contains(&word.as_str()) || ENDS.iter().any(|end| word.ends_with(end)))
}

/// `baseURLs` is `base` and `urls`, `HTTPHost` is `http` and `host`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = name.chars().peekable();
    let mut before = None;
    while let Some(letter) = letters.next() {
        let follows_small = before.is_some_and(|before: char| !before.is_uppercase());
        let begins = letters.peek().is_some_and(|next| next.is_lowercase() && *next != 's');
        let breaks = letter.is_uppercase() && (follows_small || begins);
        if !letter.is_alphanumeric() || breaks {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    words
}
