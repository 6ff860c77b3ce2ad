//! Dialects: no text panics the parser, and no output panics a dialect or yields an unbounded answer.
#![no_main]

use confine_core::denial::dialect::{LINE_BOUND, SIGHTING_BOUND};
use confine_core::denial::{Dialect, Stream};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &[u8], &[u8], u8)| {
    let (text, output, context, exit) = input;
    let parsed = Dialect::parse(text);
    let builtin = Dialect::names().filter_map(|id| Dialect::builtin(&id));
    for dialect in builtin.chain(parsed.as_ref().ok()) {
        let found = dialect.read_beside(Stream::Stderr, output, context);
        assert!(found.len() <= SIGHTING_BOUND);
        assert!(found.iter().all(|one| one.line.as_os_str().len() <= LINE_BOUND));
        let _ = dialect.launcher_failure(exit, output);
    }
});
