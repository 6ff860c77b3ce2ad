//! git's index: no bytes panic, and only decent paths are answered.
#![no_main]

use confine_core::policy::git::index;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let paths = index::of(|_| Ok(bytes.to_vec())).expect("nothing failed to be read");
    assert!(
        paths.iter().all(|path| path.is_relative() && path.iter().all(|name| name != ".." && name != ".git"))
    );
});
