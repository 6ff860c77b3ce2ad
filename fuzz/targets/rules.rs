//! Rules that `always` wrote: no text panics, and a rule that is added is there, after every byte that was.
#![no_main]

use confine_core::approval::{Digest, Memory, Rule, RuleId};
use confine_core::{AbsPath, Text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if Memory::parse(text).is_err() {
        return;
    }
    let id = RuleId::new("fuzz").expect("it is an id");
    let rule = Rule { id, argv: vec![Text::from("a")], cwd: AbsPath::root(), rest: Digest::of(b"") };
    if let Ok(more) = Memory::with(text, &rule) {
        assert!(text.trim().is_empty() || more.starts_with(text), "{more}");
        assert!(Memory::parse(&more).is_ok_and(|memory| !memory.rules().is_empty()), "{more}");
    }
});
