//! What a client of `confine serve` says: no bytes panic, and no line is held beyond its bound.
#![no_main]

use confine_core::protocol::{FromClient, Lines};
use libfuzzer_sys::fuzz_target;

const BOUND: usize = 512;

fuzz_target!(|bytes: &[u8]| {
    let mut lines = Lines::new(BOUND);
    for chunk in bytes.chunks(7) {
        let pushed = lines.push(chunk, |line| {
            assert!(line.len() <= BOUND && !line.contains(&b'\n'));
            let _ = FromClient::decode(line);
        });
        if pushed.is_err() {
            return;
        }
        assert!(lines.begun() <= BOUND);
    }
});
