//! Answers on stdout.

use std::io::{ErrorKind, Write as _};

use confine_core::{LaunchFault, LaunchStage};
use serde::Serialize;

use crate::fault;

/// Prints `bytes` as they are. A reader that has gone away is no error: it has seen enough.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), LaunchFault> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(fault::system(LaunchStage::Usage, "write to stdout", &error)
                .help("look at where stdout leads"))
        }
        _ => Ok(()),
    }
}

/// Prints `text`.
pub(crate) fn text(text: &str) -> Result<(), LaunchFault> {
    bytes(text.as_bytes())
}

/// Prints `value` as indented JSON and a newline.
pub(crate) fn json(value: &impl Serialize) -> Result<(), LaunchFault> {
    bytes(&json_bytes(value)?)
}

/// `value` as indented JSON and a newline.
pub(crate) fn json_bytes(value: &impl Serialize) -> Result<Vec<u8>, LaunchFault> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| LaunchFault::new(LaunchStage::Usage, format!("write JSON: {error}")))?;
    bytes.push(b'\n');
    Ok(bytes)
}
