//! Reports, as a reader in another language might hand them back: no text panics, and a round trip changes nothing.
#![no_main]

use confine_core::Report;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(report) = serde_json::from_str::<Report>(text) {
        let again = serde_json::to_string(&report).expect("a report has a JSON form");
        assert_eq!(serde_json::from_str::<Report>(&again).expect("its own form parses"), report);
    }
});
