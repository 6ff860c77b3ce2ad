//! `confine --version`.

use confine_backends::foreign::protocol;
use confine_core::protocol as service;
use confine_runner::{guard, lock, quarantine};
use serde::Serialize;

use crate::answer;
use crate::fault::Answer;

/// The version of confine.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version of every JSON format that is read again later or by others, by its own name.
#[derive(Serialize)]
struct Formats {
    policy: u32,
    report: u32,
    plan: u32,
    probe: u32,
    lock: u32,
    backend_protocol: u32,
    serve_protocol: u32,
    quarantine: u32,
    journal: u32,
}

const FORMATS: Formats = Formats {
    policy: 1,
    report: 1,
    plan: 1,
    probe: 1,
    lock: lock::VERSION,
    backend_protocol: protocol::VERSION,
    serve_protocol: service::VERSION,
    quarantine: quarantine::VERSION,
    journal: guard::ENTRY_VERSION,
};

#[derive(Serialize)]
struct Version {
    version: u32,
    confine: &'static str,
    formats: Formats,
}

/// Prints the version; as JSON, that of every format too.
pub(crate) fn version(json: bool) -> Answer {
    if json {
        answer::json(&Version { version: 1, confine: VERSION, formats: FORMATS })?;
    } else {
        answer::text(&format!("confine {VERSION}\n"))?;
    }
    Ok(0)
}
