//! `confine plugin-host`: becomes the program that loads an egress plugin. No command for people: the broker starts that
//! program itself, in the sandbox of a manifest.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use confine_core::{LaunchFault, LaunchStage};
use confine_runner::find::Find;

use crate::fault;

/// The word.
const WORD: &str = "plugin-host";

/// Where the words ask for it: whatever comes back is why not.
pub(crate) fn become_it(words: &[OsString]) -> Option<LaunchFault> {
    let [_, word] = words else { return None };
    (word == WORD).then(|| match replaced() {
        Ok(never) => match never {},
        Err(fault) => fault,
    })
}

fn replaced() -> Result<Infallible, LaunchFault> {
    let unusable = |reason: &str| LaunchFault::new(LaunchStage::Choose, format!("load a plugin: {reason}"));
    let program = Find::here().plugin_host().map_err(|error| {
        let fault = unusable(&error.reason.to_string());
        match &error.remedy {
            Some(remedy) => fault.help(remedy.to_string()),
            None => fault,
        }
    })?;
    Err(fault::system(
        LaunchStage::Spawn,
        "become `confine-plugin-host`",
        &Command::new(program.path.as_path()).exec(),
    ))
}
