//! SHA-256 digests with their name in front.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

const PREFIX: &str = "sha256:";
const DIGITS: usize = 64;

/// A text is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 lower-case hexadecimal digits")]
pub struct NotADigest;

impl Digest {
    /// Of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_sha256(&Sha256::digest(bytes).into())
    }

    /// Of the raw 32 bytes that whoever read a file in pieces has.
    pub fn from_sha256(raw: &[u8; 32]) -> Self {
        use std::fmt::Write as _;
        let mut text = String::from(PREFIX);
        for byte in raw {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// Of a value's JSON. Only for values whose JSON tells them apart.
    pub(crate) fn of_value(value: &impl Serialize) -> Self {
        #[expect(clippy::expect_used, reason = "only called with values whose keys are strings")]
        let json = serde_json::to_vec(value).expect("invariant: the value is JSON");
        Self::of(&json)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        let digits = text.strip_prefix(PREFIX).ok_or(NotADigest)?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_whole = digits.len() == DIGITS && digits.bytes().all(is_digit);
        if is_whole { Ok(Self(text)) } else { Err(NotADigest) }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
