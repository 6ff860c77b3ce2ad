//! The lock of backends: no text panics, and what is read is written alike.
#![no_main]

use confine_runner::lock::Lock;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(lock) = Lock::parse(text) {
        let again = lock.encode();
        assert_eq!(Lock::parse(&again).as_ref().ok(), Some(&lock), "{again}");
    }
});
