//! Event logs: no bytes panic, and what was read can be written again.
#![no_main]

use confine_core::approval::SessionId;
use confine_core::audit::{Head, Trail};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|log: &[u8]| {
    let session = SessionId::new("fuzz").expect("it is an id");
    let trail = Trail::read(&session, log);
    assert!(trail.length <= log.len());
    // Few bytes have a hash of their own, so their form is read by itself too.
    if let Ok(entry) = serde_json::from_slice::<confine_core::audit::Entry>(log) {
        let (line, head) = Head::start(&session).next(&entry.event, &entry.utc, entry.at());
        let trail = head.verify(&session, line.as_bytes());
        assert!(trail.faults.is_empty(), "{line}: {:?}", trail.faults);
        assert_eq!(trail.entries.len(), 1);
    }
});
