//! The manifest as written, and the rules that it must keep.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value;

use super::schema::Schema;
use super::{
    ABI, CONCURRENCY, Channel, Credential, Kind, Limits, Manifest, ManifestError, ManifestFault, Method,
    Placement, REPLY_BYTES, TIMEOUT, ToolName,
};
use crate::egress::host::HostPattern;
use crate::visible::{is_plain, visible};

const CHANNELS: usize = 64;
const HOSTS: usize = 256;
const CREDENTIALS: usize = 64;
const SUMMARY: usize = 512;
const WORD: usize = 64;
const EXTENSION: &str = "x-";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    abi: u64,
    name: String,
    version: String,
    summary: String,
    egress: Vec<WrittenChannel>,
    #[serde(default)]
    credentials: Vec<WrittenCredential>,
    input: Value,
    output: Value,
    limits: WrittenLimits,
    #[serde(default = "one")]
    concurrency: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenChannel {
    kind: Kind,
    hosts: Vec<String>,
    #[serde(default)]
    methods: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCredential {
    name: String,
    #[serde(rename = "as")]
    placement: String,
    hosts: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLimits {
    reply_bytes: u64,
    timeout_ms: u64,
}

const fn one() -> u64 {
    1
}

type Checked<T> = Result<T, ManifestError>;

/// The manifest in `value`, which was read from `bytes`.
pub(super) fn checked(value: Value, bytes: &[u8]) -> Checked<Manifest> {
    let (written, extensions) = split(value)?;
    if written.abi != u64::from(ABI) {
        return Err(ManifestError::new("abi", ManifestFault::Abi(written.abi)));
    }
    let egress = list("egress", &written.egress, 0..=CHANNELS, channel)?;
    let credential = |field: &str, one: &WrittenCredential| credential(field, one, &egress);
    let credentials = list("credentials", &written.credentials, 0..=CREDENTIALS, credential)?;
    unique("credentials", credentials.iter().map(|one| &one.name))?;
    let input = Schema::input(written.input)?;
    if let Some(name) = input.reaches().filter(|_| egress.is_empty()) {
        return Err(ManifestError::new("input", ManifestFault::Reaches(name)));
    }
    Ok(Manifest {
        name: ToolName::new(written.name).map_err(|error| ManifestError::new("name", error))?,
        version: version(written.version)?,
        summary: summary(written.summary)?,
        egress,
        credentials,
        input,
        output: Schema::output(written.output)?,
        limits: Limits {
            reply_bytes: within("limits.reply_bytes", written.limits.reply_bytes, &REPLY_BYTES)?,
            timeout_ms: within("limits.timeout_ms", written.limits.timeout_ms, &TIMEOUT)?,
        },
        concurrency: within("concurrency", written.concurrency, &(1..=u64::from(CONCURRENCY)))
            .map(|number| u32::try_from(number).unwrap_or(1))?,
        extensions,
        bytes: bytes.to_vec(),
    })
}

fn split(value: Value) -> Checked<(Written, BTreeMap<String, Value>)> {
    let malformed = |field: &str, text: String| ManifestError::new(field, ManifestFault::Malformed(text));
    let Value::Object(fields) = value else {
        return Err(malformed("", "it is no object".into()));
    };
    let (extensions, fields): (BTreeMap<_, _>, serde_json::Map<_, _>) = {
        let mut extensions = BTreeMap::new();
        let mut known = serde_json::Map::new();
        for (key, value) in fields {
            if key.starts_with(EXTENSION) {
                extensions.insert(key, value);
            } else {
                known.insert(key, value);
            }
        }
        (extensions, known)
    };
    let written = serde_path_to_error::deserialize(Value::Object(fields)).map_err(|error| {
        let path = error.path().to_string();
        malformed(if path == "." { "" } else { &path }, error.inner().to_string())
    })?;
    Ok((written, extensions))
}

fn list<T, W>(
    field: &str,
    written: &[W],
    length: RangeInclusive<usize>,
    read: impl Fn(&str, &W) -> Checked<T>,
) -> Checked<Vec<T>> {
    if written.len() < *length.start() {
        return Err(ManifestError::new(field, ManifestFault::List("it is empty")));
    }
    if written.len() > *length.end() {
        return Err(ManifestError::new(field, ManifestFault::List("it has too many entries")));
    }
    written.iter().enumerate().map(|(at, one)| read(&format!("{field}[{at}]"), one)).collect()
}

fn unique<T: Ord>(field: &str, entries: impl Iterator<Item = T>) -> Checked<()> {
    let mut entries: Vec<T> = entries.collect();
    entries.sort_unstable();
    let twice = entries.iter().zip(entries.iter().skip(1)).any(|(one, next)| one == next);
    if twice {
        Err(ManifestError::new(field, ManifestFault::List("an entry is there twice")))
    } else {
        Ok(())
    }
}

fn hosts(field: &str, written: &[String]) -> Checked<Vec<HostPattern>> {
    let field = format!("{field}.hosts");
    let read = |field: &str, text: &String| {
        HostPattern::parse(text).map_err(|error| ManifestError::new(field, error))
    };
    let hosts = list(&field, written, 1..=HOSTS, read)?;
    unique(&field, hosts.iter())?;
    Ok(hosts)
}

fn channel(field: &str, written: &WrittenChannel) -> Checked<Channel> {
    let at = format!("{field}.methods");
    let method = |field: &str, name: &String| {
        Method::of(name).ok_or_else(|| ManifestError::new(field, ManifestFault::Method(name.clone())))
    };
    let length = match written.kind {
        Kind::Tcp if !written.methods.is_empty() => {
            return Err(ManifestError::new(at, ManifestFault::MethodsOfTcp));
        }
        Kind::Tcp => 0..=0,
        Kind::Http => 1..=Method::ALL.len(),
    };
    let mut methods = list(&at, &written.methods, length, method)?;
    unique(&at, methods.iter())?;
    methods.sort_unstable();
    Ok(Channel { kind: written.kind, hosts: hosts(field, &written.hosts)?, methods })
}

fn credential(field: &str, written: &WrittenCredential, egress: &[Channel]) -> Checked<Credential> {
    let name = text(
        &format!("{field}.name"),
        &written.name,
        "upper-case letters, digits and underscores",
        |name| {
            let known = |byte: u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_');
            let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
            begins && name.len() <= WORD && name.bytes().all(known)
        },
    )?;
    let placement = Placement::from_str(&written.placement)
        .map_err(|error| ManifestError::new(format!("{field}.as"), error))?;
    let hosts = hosts(field, &written.hosts)?;
    let by_http = egress.iter().filter(|channel| channel.kind == Kind::Http);
    let declared: Vec<&HostPattern> = by_http.flat_map(|channel| &channel.hosts).collect();
    if let Some(host) = hosts.iter().find(|host| !host.is_covered_by(declared.iter().copied())) {
        let fault = ManifestFault::Uncovered(host.to_string());
        return Err(ManifestError::new(format!("{field}.hosts"), fault));
    }
    Ok(Credential { name, placement, hosts })
}

fn version(written: String) -> Checked<String> {
    text("version", &written, "a version, such as `0.1.0`", |version| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
        let begins = version.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
        begins && version.len() <= WORD && version.bytes().all(known)
    })
}

fn summary(written: String) -> Checked<String> {
    text("summary", &written, "one line of 1 to 512 characters that can be seen", |summary| {
        let length = summary.chars().count();
        (1..=SUMMARY).contains(&length) && summary.chars().all(is_plain)
    })
}

fn text(field: &str, written: &str, what: &'static str, fits: impl Fn(&str) -> bool) -> Checked<String> {
    if fits(written) {
        return Ok(written.to_owned());
    }
    let shown: String = visible(written.as_ref()).chars().take(WORD).collect();
    Err(ManifestError::new(field, ManifestFault::Text(shown, what)))
}

fn within(field: &str, value: u64, range: &RangeInclusive<u64>) -> Checked<u64> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(ManifestError::new(field, ManifestFault::Range { value, from: *range.start(), to: *range.end() }))
}
