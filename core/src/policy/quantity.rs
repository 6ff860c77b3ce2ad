//! Quantities as people write them: a bare number is seconds or bytes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time: whole seconds, or a number with `ms`, `s`, `min` or `h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// A number of bytes, bare or with `K`, `M`, `G`, `KiB`, `MiB` or `GiB`, all of them powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It does not begin with a whole number.
    #[error("`{0}` does not begin with a whole number")]
    Number(String),
    /// Its unit is unknown.
    #[error("`{unit}` is no unit; {known} are")]
    Unit {
        /// As written.
        unit: String,
        /// The units there are.
        known: &'static str,
    },
    /// It is more than 64 bits of the smallest unit.
    #[error("`{0}` is too large")]
    TooLarge(String),
}

/// Milliseconds of each unit.
const SPANS: &[(&str, u64)] = &[("", 1000), ("ms", 1), ("s", 1000), ("min", 60_000), ("h", 3_600_000)];

/// Bytes of each unit.
const SIZES: &[(&str, u64)] = &[
    ("", 1),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

impl FromStr for Span {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Ok(Self(Duration::from_millis(scaled(text, SPANS, "`ms`, `s`, `min` and `h`")?)))
    }
}

impl FromStr for Size {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Ok(Self(scaled(text, SIZES, "`K`, `M`, `G`, `KiB`, `MiB` and `GiB`")?))
    }
}

fn scaled(text: &str, units: &[(&str, u64)], known: &'static str) -> Result<u64, QuantityError> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(QuantityError::Number(text.to_owned()));
    }
    let unit = unit.trim_start();
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(QuantityError::Unit { unit: unit.to_owned(), known });
    };
    let number: Option<u64> = number.parse().ok();
    number.and_then(|n| n.checked_mul(*factor)).ok_or_else(|| QuantityError::TooLarge(text.to_owned()))
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.subsec_millis() {
            0 => write!(f, "{}s", self.0.as_secs()),
            _ => write!(f, "{}ms", self.0.as_millis()),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written("a number of seconds, or a text like \"10min\""))?.parse_as()
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written("a number of bytes, or a text like \"2GiB\""))?.parse_as()
    }
}

#[cfg(feature = "schema")]
macro_rules! number_or_text {
    ($type:ident, $name:literal) => {
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": ["integer", "string"], "minimum": 0 })
            }
        }
    };
}

#[cfg(feature = "schema")]
number_or_text!(Span, "Span");
#[cfg(feature = "schema")]
number_or_text!(Size, "Size");

/// A quantity as it stands in a file: digits and, perhaps, a unit.
struct Quantity(String);

impl Quantity {
    fn parse_as<T: FromStr<Err = QuantityError>, E: de::Error>(&self) -> Result<T, E> {
        self.0.parse().map_err(E::custom)
    }
}

/// Takes a number or a text; says what it expects.
struct Written(&'static str);

impl Visitor<'_> for Written {
    type Value = Quantity;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        Ok(Quantity(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_unit_has_its_value() {
        for (text, milliseconds) in
            [("90", 90_000), ("250ms", 250), ("30s", 30_000), ("10min", 600_000), ("2h", 7_200_000)]
        {
            assert_eq!(text.parse(), Ok(Span(Duration::from_millis(milliseconds))), "{text}");
        }
        for (text, bytes) in [("7", 7), ("2K", 2048), ("2KiB", 2048), ("1M", 1 << 20), ("3GiB", 3 << 30)] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_named() {
        assert_eq!("".parse::<Span>(), Err(QuantityError::Number(String::new())));
        assert_eq!("-1".parse::<Size>(), Err(QuantityError::Number("-1".into())));
        assert!(matches!("5m".parse::<Span>(), Err(QuantityError::Unit { .. })));
        assert!(matches!("5KB".parse::<Size>(), Err(QuantityError::Unit { .. })));
        assert!(matches!("99999999999999G".parse::<Size>(), Err(QuantityError::TooLarge(_))));
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text: String) {
            let _ = text.parse::<Span>();
            let _ = text.parse::<Size>();
        }

        #[test]
        fn a_span_survives_its_text(milliseconds in 0u64..u64::from(u32::MAX)) {
            let span = Span(Duration::from_millis(milliseconds));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
