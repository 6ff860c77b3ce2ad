//! `confine-stage [--args FD | OPTION…] -- COMMAND…`: see the library.
//!
//! Entered from the C library: what Rust's own runtime sets up before `main` takes 60 microseconds of each launch.
#![no_main]

use std::ffi::{c_char, c_int};

// SAFETY: the C library looks for this name, with this signature, and nothing else has it.
#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, words: *const *const c_char) -> c_int {
    // SAFETY: these are the C library's own arguments.
    let words = unsafe { confine_stage::words(count, words) };
    confine_stage::run(words).into()
}
