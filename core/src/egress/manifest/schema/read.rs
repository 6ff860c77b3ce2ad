//! From JSON to a schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value};

use super::{Bounds, Format, Others, Schema, SchemaError, Shape};
use crate::egress::manifest::ManifestError;

/// How deep schemas lie in each other.
const DEPTH: usize = 16;

/// Whose schema it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Input,
    Output,
}

/// Keywords of every type.
const ANY: &[&str] = &["type", "title", "description", "default", "examples", "enum", "const"];

/// Keywords by type.
const OF_TYPE: &[(&str, &[&str])] = &[
    ("object", &["properties", "required", "additionalProperties"]),
    ("array", &["items", "minItems", "maxItems"]),
    ("string", &["minLength", "maxLength", "format"]),
    ("number", &["minimum", "maximum"]),
    ("integer", &["minimum", "maximum"]),
    ("boolean", &[]),
    ("null", &[]),
];

const FORMATS: &[(&str, Format)] = &[
    ("uri", Format::Uri),
    ("hostname", Format::Hostname),
    ("ipv4", Format::Ipv4),
    ("ipv6", Format::Ipv6),
    ("email", Format::Email),
];

type Read<T> = Result<T, ManifestError>;

/// A whole schema.
pub(super) fn schema(field: &str, written: Value, place: Place) -> Read<Schema> {
    let schema = at(field, written, place, 0)?;
    let is_object = matches!(schema.shape, Shape::Object { .. });
    if place == Place::Input && !is_object {
        return Err(fault(field, "it is not of the type `object`", "a tool is called with an object"));
    }
    Ok(schema)
}

fn at(field: &str, written: Value, place: Place, depth: usize) -> Read<Schema> {
    let Value::Object(map) = &written else {
        return Err(fault(field, "it is no object", "write `{ \"type\": \"object\" }`"));
    };
    if depth > DEPTH {
        return Err(fault(field, "it lies deeper than 16 schemas", "make it flatter"));
    }
    let kind = map.get("type").and_then(Value::as_str);
    let (kind, own) = OF_TYPE.iter().find(|(known, _)| Some(*known) == kind).ok_or_else(|| {
        let help = "write one of `object`, `array`, `string`, `number`, `integer`, `boolean`, `null`";
        fault(field, "it has no `type` that is one of the words known here", help)
    })?;
    if let Some(word) = map.keys().find(|word| !ANY.contains(&word.as_str()) && !own.contains(&word.as_str()))
    {
        let help = format!("beside `type`, `{kind}` may have {}", listed(own));
        return Err(fault(&join(field, word), "it is a keyword that is not known here", &help));
    }
    let shape = shape(field, kind, map, place, depth)?;
    let choices = choices(field, map)?;
    Ok(Schema { shape, choices, written })
}

fn shape(field: &str, kind: &str, map: &Map<String, Value>, place: Place, depth: usize) -> Read<Shape> {
    Ok(match kind {
        "object" => object(field, map, place, depth)?,
        "array" => Shape::Array {
            items: map
                .get("items")
                .map(|items| at(&join(field, "items"), items.clone(), place, depth + 1))
                .transpose()?
                .map(Box::new),
            length: bounds(field, map, "minItems", "maxItems")?,
        },
        "string" => Shape::String {
            length: bounds(field, map, "minLength", "maxLength")?,
            format: format(field, map)?,
        },
        "number" => {
            Shape::Number { least: number(field, map, "minimum")?, most: number(field, map, "maximum")? }
        }
        "integer" => {
            Shape::Integer { least: number(field, map, "minimum")?, most: number(field, map, "maximum")? }
        }
        "boolean" => Shape::Boolean,
        _ => Shape::Null,
    })
}

fn object(field: &str, map: &Map<String, Value>, place: Place, depth: usize) -> Read<Shape> {
    let mut properties = BTreeMap::new();
    let named = join(field, "properties");
    match map.get("properties") {
        None => {}
        Some(Value::Object(written)) => {
            for (name, schema) in written {
                properties.insert(name.clone(), at(&join(&named, name), schema.clone(), place, depth + 1)?);
            }
        }
        Some(_) => return Err(fault(&named, "it is no object", "give each property a schema")),
    }
    let required = required(field, map)?;
    if let Some(name) = required.iter().find(|name| !properties.contains_key(*name)) {
        let reason = format!("`{name}` is required and not among `properties`");
        return Err(fault(&join(field, "required"), &reason, "describe the property"));
    }
    let others = match map.get("additionalProperties") {
        Some(Value::Bool(false)) => Others::Refused,
        None | Some(Value::Bool(true)) if place == Place::Output => Others::Allowed,
        _ => {
            let help = "write `\"additionalProperties\": false`, and name every property";
            let reason = "an object of an input takes only what it names";
            return Err(fault(&join(field, "additionalProperties"), reason, help));
        }
    };
    Ok(Shape::Object { properties, required, others })
}

fn required(field: &str, map: &Map<String, Value>) -> Read<BTreeSet<String>> {
    let Some(written) = map.get("required") else { return Ok(BTreeSet::new()) };
    let names = written.as_array().and_then(|names| {
        names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    names
        .map(BTreeSet::from_iter)
        .ok_or_else(|| fault(&join(field, "required"), "it is no list of names", "write `[\"NAME\", …]`"))
}

fn choices(field: &str, map: &Map<String, Value>) -> Read<Option<Vec<Value>>> {
    match (map.get("enum"), map.get("const")) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(fault(&join(field, "const"), "`enum` is there too", "keep one of them")),
        (None, Some(only)) => Ok(Some(vec![only.clone()])),
        (Some(Value::Array(list)), None) if !list.is_empty() => Ok(Some(list.clone())),
        (Some(_), None) => Err(fault(&join(field, "enum"), "it is no list of values", "write `[VALUE, …]`")),
    }
}

fn bounds(field: &str, map: &Map<String, Value>, least: &str, most: &str) -> Read<Bounds> {
    let count = |word: &str, default| match map.get(word) {
        None => Ok(default),
        Some(value) => {
            let help = "write a whole number from 0 up";
            value.as_u64().ok_or_else(|| fault(&join(field, word), "it is no count", help))
        }
    };
    Ok(Bounds { least: count(least, 0)?, most: count(most, u64::MAX)? })
}

fn number(field: &str, map: &Map<String, Value>, word: &str) -> Read<Option<Number>> {
    match map.get(word) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number.clone())),
        Some(_) => Err(fault(&join(field, word), "it is no number", "write a number")),
    }
}

fn format(field: &str, map: &Map<String, Value>) -> Read<Option<Format>> {
    let Some(written) = map.get("format") else { return Ok(None) };
    let known = FORMATS.iter().find(|(name, _)| written.as_str() == Some(*name)).map(|(_, format)| *format);
    known.map(Some).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
        let help = format!("the formats are {}; leave out any other", listed(&names));
        fault(&join(field, "format"), "it is a format that is not known here", &help)
    })
}

fn listed(words: &[&str]) -> String {
    if words.is_empty() {
        return "nothing of its own".into();
    }
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn join(field: &str, word: &str) -> String {
    format!("{field}.{word}")
}

fn fault(field: &str, reason: &str, help: &str) -> ManifestError {
    ManifestError::new(field, SchemaError { reason: reason.to_owned(), help: help.to_owned() })
}
