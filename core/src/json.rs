//! JSON in which no object says the same key twice.
//!
//! RFC 8259 leaves open what a second key of the same name means, and parsers differ: what one reader has checked, another might not
//! see. So whatever decides what runs is read here, by whoever reads it, and such an object is an error that names the key.

use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Any JSON text, whole.
///
/// # Errors
/// What is no JSON, is followed by more, is nested deeper than 127 levels, or has a key twice, however it is escaped.
pub fn value(text: &[u8]) -> serde_json::Result<Value> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = Strict.deserialize(&mut json)?;
    json.end()?;
    Ok(value)
}

/// A value of a type of its own.
///
/// # Errors
/// As [`value`], and as the type says.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_value(value(text)?)
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, it: bool) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_i64<E>(self, it: i64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_u64<E>(self, it: u64) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_f64<E>(self, it: f64) -> Result<Value, E> {
        Ok(Number::from_f64(it).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, it: &str) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_string<E>(self, it: String) -> Result<Value, E> {
        Ok(it.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = access.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if object.contains_key(&key) {
                let key = crate::visible::visible(key.as_ref());
                return Err(A::Error::custom(format_args!("the key `{key}` is there twice")));
            }
            let item = access.next_value_seed(Strict)?;
            object.insert(key, item);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_named_with_its_place() {
        for (text, key) in [
            (r#"{"a":1,"a":1}"#, "`a`"),
            (r#"{"a":1,"\u0061":2}"#, "`a`"),
            (r#"[{"x":{"b":[],"c":1,"b":2}}]"#, "`b`"),
            ("{\"\\u202e\":1,\"\\u202e\":1}", "`\\u{202e}`"),
            (r#"{"":1,"":1}"#, "``"),
        ] {
            let error = value(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(&format!("the key {key} is there twice at line 1")), "{text}: {error}");
        }
        assert!(value(br#"{"a":{"a":1},"b":{"a":1}}"#).is_ok(), "one for each object");
        assert_eq!(read::<std::collections::BTreeMap<String, u8>>(br#"{"a":1,"b":2}"#).unwrap().len(), 2);
        assert!(read::<std::collections::BTreeMap<String, u8>>(br#"{"a":1,"a":2}"#).is_err());
        for more in [&b"{} {}"[..], b"", b"[", b"\xff", "[".repeat(200).as_bytes()] {
            assert!(value(more).is_err(), "{more:?}");
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
            let object = prop::collection::btree_map(any::<String>(), inner, 0..4);
            prop_oneof![list, object.prop_map(|map| Value::Object(map.into_iter().collect()))]
        })
    }

    proptest! {
        #[test]
        fn it_reads_what_any_reader_reads(it in any_value()) {
            let text = it.to_string();
            let known: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(value(text.as_bytes()).unwrap(), known);
        }

        #[test]
        fn a_key_that_is_said_again_is_an_error_wherever(it in any_value(), key in "[a-z]{1,3}") {
            let text = format!(r#"{{"{key}":{it},"-":[{it}],"{key}":{it}}}"#);
            prop_assert!(value(text.as_bytes()).is_err());
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = value(&bytes);
        }

        #[test]
        fn what_it_takes_any_reader_takes(text in "[\\[\\]{}:,\"ab01.e-]{0,24}") {
            if let Ok(it) = value(text.as_bytes()) {
                prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), it);
            }
        }
    }
}
