//! Policies as written: no text panics, and what parses as JSON parses again after a round trip.
#![no_main]

use confine_core::policy::PolicyFile;
use confine_core::policy::file::Syntax;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = PolicyFile::parse(text, Syntax::Toml);
    if let Ok(policy) = PolicyFile::parse(text, Syntax::Json) {
        let again = serde_json::to_string(&policy).expect("a policy has a JSON form");
        assert_eq!(PolicyFile::parse(&again, Syntax::Json).as_ref(), Ok(&policy), "{again}");
    }
});
