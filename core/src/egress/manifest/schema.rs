//! The part of JSON Schema that a manifest may use; the rest is refused by name.
//!
//! A schema has a `type`, one word. Beside it: `title`, `description`, `default`, `examples`, `enum`, `const`; for an object
//! `properties`, `required`, `additionalProperties` (`true` or `false`); for an array `items`, `minItems`, `maxItems`; for a
//! string `minLength`, `maxLength`, `format` (`uri`, `hostname`, `ipv4`, `ipv6`, `email`); for a number or an integer
//! `minimum`, `maximum`. An object of an input says `additionalProperties` `false`, so that what a tool takes is what its
//! manifest says.

mod check;
mod names;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value};

pub use check::InputError;

use super::ManifestError;

/// A schema that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    shape: Shape,
    /// `enum`, or the one value of `const`.
    choices: Option<Vec<Value>>,
    written: Value,
}

/// By type.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Object { properties: BTreeMap<String, Schema>, required: BTreeSet<String>, others: Others },
    Array { items: Option<Box<Schema>>, length: Bounds },
    String { length: Bounds, format: Option<Format> },
    Number { least: Option<Number>, most: Option<Number> },
    Integer { least: Option<Number>, most: Option<Number> },
    Boolean,
    Null,
}

/// Properties that are not named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Allowed,
    Refused,
}

/// A number of characters or items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    least: u64,
    most: u64,
}

/// What a string is: each names a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Uri,
    Hostname,
    Ipv4,
    Ipv6,
    Email,
}

/// Why a value is no schema here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SchemaError {
    /// What is wrong.
    pub reason: String,
    /// The next step.
    pub help: String,
}

impl Schema {
    /// What a tool is called with: an object, closed at every depth.
    pub(super) fn input(written: Value) -> Result<Self, ManifestError> {
        read::schema("input", written, read::Place::Input)
    }

    /// What a tool answers.
    pub(super) fn output(written: Value) -> Result<Self, ManifestError> {
        read::schema("output", written, read::Place::Output)
    }

    /// As it was written.
    pub const fn as_value(&self) -> &Value {
        &self.written
    }

    /// Whether `value` is what the schema says.
    ///
    /// # Errors
    /// The first place where it is not.
    pub fn check(&self, value: &Value) -> Result<(), InputError> {
        check::value(self, value, "")
    }

    /// The first part that is a URL, a host or an address, by its format, its name or a value that is given.
    pub fn reaches(&self) -> Option<String> {
        names::reaching(self, "")
    }
}
