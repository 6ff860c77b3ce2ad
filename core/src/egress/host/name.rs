//! Names of the domain name system.

use std::fmt;

use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};
use serde::{Deserialize, Serialize};

use super::HostError;

/// The longest name, in bytes: 255 on the wire, less the length of the first label and the root (RFC 1035, 2.3.4).
const LONGEST: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A name in its one form: A-labels, lower case, no dot at the end. Letters, digits, hyphens and underscores; at most 253
/// bytes, 63 a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostName(String);

impl HostName {
    /// From a name in any script and case, with or without the dot at its end.
    ///
    /// # Errors
    /// [`HostError::Name`] and [`HostError::Empty`]. Whether it is an address in truth is [`super::Host::parse`]'s to say.
    pub fn new(text: &str) -> Result<Self, HostError> {
        let labels = Uts46::new()
            .to_ascii(text.as_bytes(), AsciiDenyList::URL, Hyphens::Allow, DnsLength::Ignore)
            .map_err(|_| HostError::Name("it is not what IDNA allows"))?;
        let labels = labels.strip_suffix('.').unwrap_or(&labels);
        if labels.is_empty() {
            return Err(HostError::Empty);
        }
        if labels.len() > LONGEST {
            return Err(HostError::Name("it is longer than 253 bytes"));
        }
        labels.split('.').try_for_each(label)?;
        Ok(Self(labels.to_owned()))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a name below `apex`, which is not below itself.
    pub fn is_below(&self, apex: &Self) -> bool {
        self.0.strip_suffix(&apex.0).is_some_and(|rest| rest.ends_with('.'))
    }
}

fn label(label: &str) -> Result<(), HostError> {
    if label.is_empty() {
        return Err(HostError::Name("a label is empty"));
    }
    if label.len() > LONGEST_LABEL {
        return Err(HostError::Name("a label is longer than 63 bytes"));
    }
    if label.starts_with('-') || label.ends_with('-') {
        return Err(HostError::Name("a label begins or ends with a hyphen"));
    }
    let known = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if label.bytes().all(known) {
        Ok(())
    } else {
        Err(HostError::Name("a label is letters, digits, hyphens and underscores"))
    }
}

impl TryFrom<String> for HostName {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, HostError> {
        Self::new(&text)
    }
}

impl From<HostName> for String {
    fn from(name: HostName) -> Self {
        name.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
