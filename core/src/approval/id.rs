//! Names of sessions, turns, requests and rules.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest one.
const LONGEST: usize = 64;

/// A text is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id is 1 to 64 letters, digits, `-` and `_`")]
pub struct BadId;

fn is_id(text: &str) -> bool {
    let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_of_it)
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// 1 to 64 letters, digits, `-` and `_`, so that it may be a file's name.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// # Errors
            /// When `text` is too long, empty, or holds anything else.
            pub fn new(text: impl Into<String>) -> Result<Self, BadId> {
                let text = text.into();
                if is_id(&text) { Ok(Self(text)) } else { Err(BadId) }
            }

            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;

            fn try_from(text: String) -> Result<Self, BadId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

id! {
    /// What a person works in: it has one event log.
    SessionId
}
id! {
    /// One exchange in a session. Requests are made inside an open one only.
    TurnId
}
id! {
    /// One request: fresh for each, never used again.
    ApprovalRequestId
}
id! {
    /// One rule that a person's `always` has written.
    RuleId
}
id! {
    /// A preset of mode and approval policy.
    PresetName
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_be_a_file_name_and_nothing_else() {
        for text in ["a", "01J-x_Y", &"x".repeat(64)] {
            assert_eq!(SessionId::new(text).unwrap().as_str(), text);
            assert!(serde_json::from_value::<TurnId>(text.into()).is_ok());
        }
        for text in ["", ".", "..", "a/b", "a.b", "a b", "é", "a\n", "a\0", &"x".repeat(65)] {
            assert_eq!(SessionId::new(text), Err(BadId), "{text:?}");
            assert!(serde_json::from_value::<ApprovalRequestId>(text.into()).is_err(), "{text:?}");
        }
    }
}
