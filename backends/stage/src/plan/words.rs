//! How a plan's values are written as words.

use std::ffi::{OsStr, OsString};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Resource;

/// The words so far.
pub(super) struct Words(pub(super) Vec<OsString>);

impl Words {
    pub(super) fn option<const N: usize>(&mut self, name: &str, values: [impl AsRef<OsStr>; N]) {
        self.0.push(name.into());
        self.0.extend(values.iter().map(|value| value.as_ref().to_owned()));
    }
}

impl Resource {
    /// Every resource with its word.
    pub(super) const WORDS: [(Self, &'static str); 4] = [
        (Self::Cpu, "cpu"),
        (Self::FileSize, "file-size"),
        (Self::OpenFiles, "open-files"),
        (Self::Processes, "processes"),
    ];

    pub(crate) fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(resource, _)| *resource == self).map_or("", |(_, word)| word)
    }
}

pub(super) fn hexadecimal(bits: u64) -> OsString {
    format!("{bits:#x}").into()
}

pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
