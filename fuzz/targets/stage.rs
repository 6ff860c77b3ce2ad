//! The stage's inputs: plans (NUL-separated words) and messages; what decodes encodes to the same again.
#![no_main]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use confine_stage::{Command, Plan, Record};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(record) = Record::decode(data) {
        assert_eq!(record.encode(), data);
    }
    if let Ok(command) = Command::decode(data) {
        assert_eq!(command.encode(), data);
    }
    let words = data.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec()));
    if let Ok((plan, _)) = Plan::decode(words) {
        let (again, rest) = Plan::decode(plan.encode()).expect("an encoded plan decodes");
        assert_eq!((again, rest.len()), (plan, 0));
    }
});
