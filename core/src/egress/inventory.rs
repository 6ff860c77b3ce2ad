//! The list of every tool that reaches the network, as text that a test compares with what was reviewed.
//!
//! The list is a boundary: a tool that is new, or reaches further, changes it, and stays out until somebody changes the
//! reviewed text on purpose.

use std::fmt::Write as _;

use super::Manifest;
use super::manifest::{Channel, Credential};

/// One tool's part of the list, each line with its newline:
///
/// ```text
/// fetch 0.1.0
///   manifest sha256:…
///   http GET,HEAD *.crates.io:443
///   credential CRATES_TOKEN header:authorization crates.io:443
/// ```
///
/// A tool without egress says `nothing` in the place of its channels.
pub fn entry(manifest: &Manifest) -> String {
    let mut text = format!("{} {}\n  manifest {}\n", manifest.name, manifest.version, manifest.digest());
    if manifest.egress.is_empty() {
        text.push_str("  nothing\n");
    }
    for channel in &manifest.egress {
        lines(&mut text, channel);
    }
    for credential in &manifest.credentials {
        credentials(&mut text, credential);
    }
    text
}

/// The whole list, by name, then version.
pub fn text<'m>(manifests: impl IntoIterator<Item = &'m Manifest>) -> String {
    let mut manifests: Vec<&Manifest> = manifests.into_iter().collect();
    manifests.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    manifests.into_iter().map(entry).collect()
}

fn lines(text: &mut String, channel: &Channel) {
    let methods: Vec<&str> = channel.methods.iter().map(|method| method.name()).collect();
    let how = if methods.is_empty() { String::new() } else { format!("{} ", methods.join(",")) };
    for host in &channel.hosts {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {} {how}{host}", channel.kind);
    }
}

fn credentials(text: &mut String, credential: &Credential) {
    for host in &credential.hosts {
        let _ = writeln!(text, "  credential {} {} {host}", credential.name, credential.placement);
    }
}
