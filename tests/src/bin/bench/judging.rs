//! What judging a failed command costs, by the size of what it printed.

use std::time::{Duration, Instant};

use confine_core::Verdict;
use confine_core::classify::Witness;
use confine_runner::{End, Ended};

use crate::fault::Fault;
use crate::place::Place;
use crate::statistics::{median, milliseconds};

/// A compiler's log, as most failures print one; nothing but refusals; lines that nearly are; and one without an end.
const TEXTS: [(&str, &str); 4] = [
    ("log", "   Compiling example v0.1.0 (/work/example) warning: unused variable: `x` at src/lib.rs:12:9\n"),
    ("refusals", "touch: cannot touch '/etc/confine-bench': Read-only file system\n"),
    ("misfits", "something quite: other Permission denied (as it were)\n"),
    ("line", "Permission denied, open "),
];
const SIZES: [usize; 3] = [64 * 1024, 256 * 1024, 1024 * 1024];

/// One size of one text.
pub(crate) struct Judged {
    /// Which text.
    pub(crate) text: &'static str,
    /// In KiB.
    pub(crate) size: usize,
    /// In milliseconds.
    pub(crate) median: f64,
}

/// Judges each text in each size, `rounds` times.
pub(crate) fn measure(place: &Place, rounds: usize) -> Result<Vec<Judged>, Fault> {
    let mut judged = Vec::new();
    for (text, line) in TEXTS {
        for bytes in SIZES {
            let stderr: Vec<u8> = line.bytes().cycle().take(bytes).collect();
            let costs: Result<Vec<Duration>, Fault> = (0..rounds).map(|_| once(place, &stderr)).collect();
            let median = median(costs?.into_iter().map(milliseconds));
            judged.push(Judged { text, size: bytes / 1024, median });
        }
    }
    Ok(judged)
}

fn once(place: &Place, stderr: &[u8]) -> Result<Duration, Fault> {
    let ended = Ended { end: End::Exited(1), witness: Witness::Record, stdout: b"", stderr };
    let start = Instant::now();
    let judgement = place.bwrap.classify(&ended)?;
    let cost = start.elapsed();
    match judgement.verdict {
        Verdict::Failed | Verdict::Denied => Ok(cost),
        verdict => Err(Fault::Library(format!("a failed command is judged {verdict:?}"))),
    }
}
