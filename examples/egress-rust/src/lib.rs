//! Lists where a page links to.

use std::io::Write as _;

use confine_plugin_abi::{Fault, Host, Reply, Tool, egress_plugin};
use serde_json::{Value, json};

struct Links;

impl Tool for Links {
    fn open(_: &Host, _config: &str) -> Result<Self, Fault> {
        Ok(Self)
    }

    fn call(&mut self, host: &Host, input: &str, reply: &mut Reply<'_>) -> Result<(), Fault> {
        let input: Value = serde_json::from_str(input).map_err(Fault::bad_input)?;
        let url = input["url"].as_str().ok_or_else(|| Fault::bad_input("`url` is missing"))?;
        let request = json!({ "method": "GET", "url": url, "headers": [["accept", "text/html"]] });
        let mut page = Vec::new();
        let head: Value = serde_json::from_str(&host.fetch(&request.to_string(), &mut page)?)?;
        let page = String::from_utf8_lossy(&page);
        let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let found = json!({ "status": head["status"], "links": links.collect::<Vec<_>>() });
        Ok(write!(reply, "{found}")?)
    }
}

egress_plugin!(Links, include_bytes!("../manifest.json"));
