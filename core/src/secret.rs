//! What a secret is, and how it is replaced: one definition for every writer that may see bytes a program influenced.
//!
//! It is best effort against whoever encodes a secret on purpose; what keeps one out of a program is that the program
//! never holds it.

#[cfg(test)]
mod cases;
mod forms;
mod redactor;
#[cfg(test)]
mod tests;

use std::fmt;

use zeroize::Zeroizing;

pub use redactor::{Redaction, RedactionError, Redactor};

/// The shortest value that is taken for a secret, in bytes: a shorter one stands in text by chance.
pub const SHORTEST: usize = 8;
/// The longest, in bytes.
pub const LONGEST: usize = 16 * 1024;

/// A value that is shown nowhere: it has no `Display`, its `Debug` does not hold it, and it is wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

/// Why a value is not taken for a secret. It does not hold the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Fewer than [`SHORTEST`] bytes.
    #[error("it is shorter than 8 bytes, which is too short to be secret")]
    Short,
    /// More than [`LONGEST`] bytes.
    #[error("it is longer than 16384 bytes")]
    Long,
    /// The same byte over and over.
    #[error("it is one byte over and over, which is no secret")]
    Plain,
}

impl Secret {
    /// From a value; the bytes are taken over and wiped when the secret is dropped, also where they are refused.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn new(value: impl Into<Vec<u8>>) -> Result<Self, SecretError> {
        let value = Zeroizing::new(value.into());
        if value.len() < SHORTEST {
            return Err(SecretError::Short);
        }
        if value.len() > LONGEST {
            return Err(SecretError::Long);
        }
        let first = value.first();
        if value.iter().all(|byte| Some(byte) == first) {
            return Err(SecretError::Plain);
        }
        Ok(Self(value))
    }

    /// The value, for the one place that sends it.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
