//! What third-party backends answer: no bytes panic, and what is read keeps the rules.
#![no_main]

use confine_backends::foreign::protocol::{Confined, Description, Governance, VERSION};
use confine_core::Governed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(description) = Description::decode(bytes) {
        assert_eq!(description.protocol, VERSION);
    }
    if let Ok(Governance { effects }) = Governance::decode(bytes) {
        let nothing = |governed: &Governed| *governed == Governed::Enforced { layers: Vec::new() };
        assert!(!effects.values().any(nothing));
    }
    if let Ok(Confined::Launch(wrapping)) = Confined::decode(bytes) {
        assert!(!wrapping.layers.is_empty());
    }
});
