//! Byte strings in JSON: a string where the bytes are UTF-8, else `{"base64": "…"}`.
//!
//! File names, arguments and environment values on Linux are bytes (path_resolution(7)); they must survive a JSON
//! round trip whatever they hold.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An operating-system string with a lossless JSON form.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(OsString);

impl Text {
    /// The bytes as an operating-system string.
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    /// Gives the bytes back.
    pub fn into_os_string(self) -> OsString {
        self.0
    }
}

impl From<OsString> for Text {
    fn from(value: OsString) -> Self {
        Self(value)
    }
}

impl From<&OsStr> for Text {
    fn from(value: &OsStr) -> Self {
        Self(value.to_owned())
    }
}

impl From<&str> for Text {
    fn from(value: &str) -> Self {
        Self(value.into())
    }
}

impl From<Vec<u8>> for Text {
    fn from(value: Vec<u8>) -> Self {
        Self(OsString::from_vec(value))
    }
}

/// For people: control characters and invalid bytes are shown escaped, so a hostile name cannot move the cursor.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.as_bytes().utf8_chunks() {
            for c in chunk.valid().chars() {
                if c.is_control() { write!(f, "{}", c.escape_default())? } else { write!(f, "{c}")? }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
struct Encoded {
    base64: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Wire {
    Plain(String),
    Encoded(Encoded),
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(plain) => serializer.serialize_str(plain),
            None => Encoded { base64: STANDARD.encode(self.0.as_bytes()) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Wire::deserialize(deserializer)? {
            Wire::Plain(plain) => Ok(Self(plain.into())),
            Wire::Encoded(Encoded { base64 }) => {
                STANDARD.decode(base64).map(Self::from).map_err(serde::de::Error::custom)
            }
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Bytes: a string where they are UTF-8, else an object with their base64.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": { "base64": { "type": "string", "contentEncoding": "base64" } },
                    "required": ["base64"],
                },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_survive_a_json_round_trip(bytes: Vec<u8>) {
            let text = Text::from(bytes);
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<Text>(&json).unwrap(), text);
        }

        #[test]
        fn display_never_holds_a_control_character(bytes: Vec<u8>) {
            prop_assert!(!Text::from(bytes).to_string().chars().any(char::is_control));
        }
    }

    #[test]
    fn utf8_is_a_plain_string_and_the_rest_is_base64() {
        assert_eq!(serde_json::to_string(&Text::from("a b")).unwrap(), r#""a b""#);
        assert_eq!(serde_json::to_string(&Text::from(vec![0xff])).unwrap(), r#"{"base64":"/w=="}"#);
    }
}
