//! An egress plugin: fetches a page as text, or an answer of an API as JSON.
//!
//! Trust domain: a plugin, in the sandbox that its manifest makes; what it reads is a stranger's. The hosts that it may
//! reach are those of `manifest.json`: whoever wants others builds it with a manifest of their own.

#![deny(unsafe_code)]

mod media;
mod page;
mod taken;
mod text;

use std::io::Write as _;

use confine_plugin_abi::{Code, Fault, Host, Reply, Tool};
use serde_json::{Value, json};

use taken::Taken;

/// How much of a body is read where the input does not say, in bytes.
const BYTES: usize = 65_536;
/// The most, whatever the input says, in bytes.
const MOST: usize = 262_144;
const ACCEPT: &str = "application/json, text/html;q=0.9, text/*;q=0.8, application/xml;q=0.7";

/// See the module.
#[derive(Debug)]
pub struct Fetch;

impl Tool for Fetch {
    fn open(_: &Host, _config: &str) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn call(&mut self, host: &Host, input: &str, reply: &mut Reply<'_>) -> Result<(), Fault> {
        let input: Value = serde_json::from_str(input).map_err(Fault::bad_input)?;
        let url = input.get("url").and_then(Value::as_str);
        let url = url.ok_or_else(|| Fault::bad_input("`url` has to be a string"))?;
        let request = json!({ "method": "GET", "url": url, "headers": [["accept", ACCEPT]] });
        let mut taken = Taken::new(room(&input)?);
        let outcome = host.fetch(&request.to_string(), &mut taken);
        let answer = taken.answer();
        match (outcome, answer) {
            (Ok(_), Some(answer)) => Ok(write!(reply, "{}", answer?)?),
            // It was stopped here, with as much as was wanted.
            (Err(fault), Some(answer)) if fault.code() == Code::Cancelled && !host.cancelled() => {
                Ok(write!(reply, "{}", answer?)?)
            }
            (Ok(_), None) => Err(Fault::failed("the answer has no head")),
            (Err(fault), _) => Err(fault),
        }
    }
}

fn room(input: &Value) -> Result<usize, Fault> {
    let Some(bytes) = input.get("bytes") else { return Ok(BYTES) };
    let bytes = bytes.as_u64().and_then(|bytes| usize::try_from(bytes).ok());
    let is_right = |bytes: &usize| (1..=MOST).contains(bytes);
    bytes.filter(is_right).ok_or_else(|| Fault::bad_input(format!("`bytes` has to be 1 to {MOST}")))
}

mod export {
    #![allow(unsafe_code, reason = "the exported table")]

    confine_plugin_abi::egress_plugin!(super::Fetch, include_bytes!("../manifest.json"));
}
