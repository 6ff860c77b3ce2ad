//! What judging a failed command costs, by the size of what it printed.

use std::time::{Duration, Instant};

use confine_core::Verdict;
use confine_core::classify::Witness;
use confine_runner::{End, Ended};

use crate::fault::Fault;
use crate::place::Place;
use crate::statistics::{median, milliseconds};

/// A compiler's log, as most failures print one; nothing but refusals; lines that nearly are; one without an end; a refusal
/// below more directories than anybody has, which is not looked up; one whose path may begin at each of its words; and one
/// that another line explains. `#` stands for the number of the line: no two are the same.
const TEXTS: [(&str, &str); 8] = [
    ("log", "   Compiling example v0.1.0 (/work/example) warning: unused variable: `x` at src/lib.rs:12:9\n"),
    ("refusals", "touch: cannot touch '/etc/confine-bench': Read-only file system\n"),
    ("misfits", "something quite: other Permission denied (as it were)\n"),
    ("line", "Permission denied, open "),
    ("paths", "touch: cannot touch '/etc/confine-bench-#': Read-only file system\n"),
    ("deep", DEEP),
    ("colons", COLONS),
    (
        "near",
        "error: failed to write `/etc/confine-bench-#`\n\nCaused by:\n  Read-only file system (os error 30)\n",
    ),
];
const DEEP: &str = concat!(
    "touch: cannot touch '/etc/",
    "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/",
    "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/",
    "#': Read-only file system\n",
);
const COLONS: &str = concat!(
    "a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: ",
    "a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: ",
    "a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: a: ",
    "#: Permission denied\n",
);
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
            let stderr = filled(line, bytes);
            let costs: Result<Vec<Duration>, Fault> = (0..rounds).map(|_| once(place, &stderr)).collect();
            let median = median(costs?.into_iter().map(milliseconds));
            judged.push(Judged { text, size: bytes / 1024, median });
        }
    }
    Ok(judged)
}

fn filled(line: &str, bytes: usize) -> Vec<u8> {
    let lines = (0_usize..).flat_map(|number| line.replace('#', &number.to_string()).into_bytes());
    lines.take(bytes).collect()
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
