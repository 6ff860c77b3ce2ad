//! Whether a value is what a schema says.

use std::cmp::Ordering;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Number, Value};

use super::{Bounds, Format, Others, Schema, Shape};
use crate::egress::host::{Host, HostName};

/// Where a value is not what its schema says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", at(.place))]
pub struct InputError {
    /// A JSON pointer (RFC 6901); empty for the whole.
    pub place: String,
    /// Why.
    pub reason: String,
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!("`{place}`: ") }
}

type Checked = Result<(), InputError>;

/// Checks `value`, which lies at `place`.
pub(super) fn value(schema: &Schema, value: &Value, place: &str) -> Checked {
    if schema.choices.as_ref().is_some_and(|choices| !choices.contains(value)) {
        return no(place, "it is none of the values that it may be");
    }
    match (&schema.shape, value) {
        (Shape::Object { properties, required, others }, Value::Object(map)) => {
            if let Some(name) = required.iter().find(|name| !map.contains_key(*name)) {
                return no(place, &format!("`{name}` is missing"));
            }
            map.iter().try_for_each(|(name, value)| match (properties.get(name), others) {
                (Some(schema), _) => self::value(schema, value, &below(place, name)),
                (None, Others::Allowed) => Ok(()),
                (None, Others::Refused) => no(place, &format!("`{}` is not known", escaped(name))),
            })
        }
        (Shape::Array { items, length }, Value::Array(list)) => {
            count(place, "items", list.len(), *length)?;
            let Some(schema) = items else { return Ok(()) };
            let mut list = list.iter().enumerate();
            list.try_for_each(|(index, value)| self::value(schema, value, &below(place, &index.to_string())))
        }
        (Shape::String { length, format }, Value::String(text)) => {
            count(place, "characters", text.chars().count(), *length)?;
            format.map_or(Ok(()), |format| formatted(place, format, text))
        }
        (Shape::Number { least, most }, Value::Number(number)) => range(place, number, least, most),
        (Shape::Integer { least, most }, Value::Number(number)) if is_whole(number) => {
            range(place, number, least, most)
        }
        (Shape::Boolean, Value::Bool(_)) | (Shape::Null, Value::Null) => Ok(()),
        (shape, _) => no(place, &format!("it is not of the type `{}`", shape.name())),
    }
}

impl Shape {
    const fn name(&self) -> &'static str {
        match self {
            Self::Object { .. } => "object",
            Self::Array { .. } => "array",
            Self::String { .. } => "string",
            Self::Number { .. } => "number",
            Self::Integer { .. } => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }
}

fn no(place: &str, reason: &str) -> Checked {
    Err(InputError { place: place.to_owned(), reason: reason.to_owned() })
}

fn below(place: &str, name: &str) -> String {
    format!("{place}/{}", escaped(name))
}

fn escaped(name: &str) -> String {
    let name: String = name.chars().take(64).collect();
    name.replace('~', "~0").replace('/', "~1")
}

fn count(place: &str, what: &str, count: usize, bounds: Bounds) -> Checked {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    if count < bounds.least {
        return no(place, &format!("it has fewer than {} {what}", bounds.least));
    }
    if count > bounds.most {
        return no(place, &format!("it has more than {} {what}", bounds.most));
    }
    Ok(())
}

fn range(place: &str, number: &Number, least: &Option<Number>, most: &Option<Number>) -> Checked {
    if least.as_ref().is_some_and(|least| compare(number, least) == Some(Ordering::Less)) {
        return no(place, "it is smaller than it may be");
    }
    if most.as_ref().is_some_and(|most| compare(number, most) == Some(Ordering::Greater)) {
        return no(place, "it is larger than it may be");
    }
    Ok(())
}

/// Whole numbers exactly.
fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// 1.0 is one too.
fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn formatted(place: &str, format: Format, text: &str) -> Checked {
    let (fits, what) = match format {
        Format::Uri => (is_uri(text), "URI"),
        Format::Hostname => (HostName::new(text).is_ok(), "host name"),
        Format::Ipv4 => (text.parse::<Ipv4Addr>().is_ok(), "IPv4 address"),
        Format::Ipv6 => (text.parse::<Ipv6Addr>().is_ok(), "IPv6 address"),
        Format::Email => (is_email(text), "mail address"),
    };
    if fits { Ok(()) } else { no(place, &format!("it is no {what}")) }
}

/// A scheme, and no character that a URI cannot hold (RFC 3986).
fn is_uri(text: &str) -> bool {
    let scheme = |scheme: &str| {
        let begins = scheme.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
        begins && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let rest = |rest: &str| {
        let held = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
        !rest.is_empty() && rest.bytes().all(held)
    };
    text.split_once(':').is_some_and(|(before, behind)| scheme(before) && rest(behind))
}

fn is_email(text: &str) -> bool {
    let visible = |user: &str| !user.is_empty() && user.bytes().all(|byte| byte.is_ascii_graphic());
    text.rsplit_once('@').is_some_and(|(user, host)| visible(user) && Host::parse(host).is_ok())
}
