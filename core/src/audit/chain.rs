//! Lines and their chain.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Event;
use crate::approval::{Digest, SessionId};

/// The version of a line.
const VERSION: u32 = 1;

/// One line: an event, when, and its place in the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// 1.
    pub version: u32,
    /// 1 for the first line, and one more for each.
    pub sequence: u64,
    /// RFC 3339, in UTC with milliseconds.
    pub utc: String,
    /// By the machine's clock that never goes back, in nanoseconds since its boot.
    pub monotonic_ns: u64,
    /// The hash of the line before; of the session's name for the first.
    pub previous: Digest,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl Entry {
    /// When, by the machine's clock that never goes back.
    pub fn at(&self) -> Duration {
        Duration::from_nanos(self.monotonic_ns)
    }
}

/// Where a chain ends. Kept beside the log, it shows what is missing at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The last line's; 0 before the first.
    pub sequence: u64,
    /// The last line's.
    pub hash: Digest,
}

/// What is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A line is none of this form.
    #[error("line {line} cannot be read: {reason}")]
    Malformed {
        /// Where, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// A line does not have its own hash.
    #[error("line {line} was changed")]
    Edited {
        /// Where, from 1.
        line: usize,
    },
    /// A line does not follow the one before.
    #[error(
        "line {line} has the number {found} where {expected} would follow: lines are missing, moved or put in"
    )]
    Broken {
        /// Where, from 1.
        line: usize,
        /// The number that would follow.
        expected: u64,
        /// The number that is there.
        found: u64,
    },
    /// The last line has no end: whoever wrote it was ended.
    #[error("line {line}, the last, is not whole")]
    Torn {
        /// Where, from 1.
        line: usize,
    },
    /// The log ends before its head.
    #[error("the log ends at number {found}, and its head says {expected}: lines are missing at the end")]
    Truncated {
        /// The number of the head.
        expected: u64,
        /// The number of the last line.
        found: u64,
    },
    /// The line of the head's number has another hash.
    #[error("line {sequence} is not the one that the head says")]
    OtherHead {
        /// Its number.
        sequence: u64,
    },
}

/// A log that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Trail {
    /// The lines before the first that is wrong.
    pub entries: Vec<Entry>,
    /// Where the chain of these ends.
    pub head: Head,
    /// How many bytes they are: what follows is not part of the chain.
    pub length: usize,
    /// Everything that is wrong.
    pub faults: Vec<Fault>,
}

const SEAL: &str = ",\"hash\":\"";
const END: &str = "\"}";

impl Head {
    /// Before the first line of a session.
    pub fn start(session: &SessionId) -> Self {
        Self { sequence: 0, hash: Digest::of(format!("confine session {session}").as_bytes()) }
    }

    /// The line of the next event, with its newline, and the head with it.
    pub fn next(&self, event: &Event, utc: &str, at: Duration) -> (String, Self) {
        let sequence = self.sequence.saturating_add(1);
        let monotonic_ns = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        let (previous, event) = (self.hash.clone(), event.clone());
        let entry = Entry { version: VERSION, sequence, utc: utc.to_owned(), monotonic_ns, previous, event };
        #[expect(clippy::expect_used, reason = "every key of an entry is a string, so JSON can hold it")]
        let body = serde_json::to_string(&entry).expect("invariant: an entry is JSON");
        let body = body.strip_suffix('}').unwrap_or(&body);
        let hash = Digest::of(body.as_bytes());
        (format!("{body}{SEAL}{hash}{END}\n"), Self { sequence, hash })
    }

    /// Reads a log that is to end here, or after here: a head is written after its line.
    pub fn verify(&self, session: &SessionId, log: &[u8]) -> Trail {
        let mut trail = Trail::read(session, log);
        let found = trail.entries.get(usize::try_from(self.sequence).unwrap_or(usize::MAX).saturating_sub(1));
        let is_start = self.sequence == 0;
        match found {
            _ if is_start && *self == Self::start(session) => {}
            Some(entry) if !is_start && hash_after(&trail, entry) == Some(&self.hash) => {}
            Some(_) => trail.faults.push(Fault::OtherHead { sequence: self.sequence }),
            None if is_start => trail.faults.push(Fault::OtherHead { sequence: 0 }),
            None => {
                trail.faults.push(Fault::Truncated { expected: self.sequence, found: trail.head.sequence })
            }
        }
        trail
    }
}

/// The hash of `entry` by what follows it.
fn hash_after<'t>(trail: &'t Trail, entry: &Entry) -> Option<&'t Digest> {
    if entry.sequence == trail.head.sequence {
        return Some(&trail.head.hash);
    }
    let next = trail.entries.get(usize::try_from(entry.sequence).ok()?)?;
    Some(&next.previous)
}

impl Trail {
    /// Reads a log without its head: what is missing at its end does not show.
    pub fn read(session: &SessionId, log: &[u8]) -> Self {
        Self::after(Head::start(session), log)
    }

    /// Reads what was added to a log that ended at `head`. Lines are counted from there.
    pub fn after(head: Head, added: &[u8]) -> Self {
        let mut trail = Self { entries: Vec::new(), head, length: 0, faults: Vec::new() };
        for (index, line) in added.split_inclusive(|byte| *byte == b'\n').enumerate() {
            if let Some(fault) = trail.add(index + 1, line) {
                trail.faults.push(fault);
            }
        }
        trail
    }

    fn add(&mut self, line: usize, bytes: &[u8]) -> Option<Fault> {
        let Some(body) = bytes.strip_suffix(b"\n") else { return Some(Fault::Torn { line }) };
        let (entry, hash) = match parse(body) {
            Ok(parsed) => parsed,
            Err(Unreadable::Form(reason)) => return Some(Fault::Malformed { line, reason }),
            Err(Unreadable::Hash) => return Some(Fault::Edited { line }),
        };
        if !self.faults.is_empty() {
            return None;
        }
        let expected = self.head.sequence.saturating_add(1);
        if entry.sequence != expected || entry.previous != self.head.hash {
            return Some(Fault::Broken { line, expected, found: entry.sequence });
        }
        self.head = Head { sequence: entry.sequence, hash };
        self.length = self.length.saturating_add(bytes.len());
        self.entries.push(entry);
        None
    }
}

enum Unreadable {
    Form(String),
    Hash,
}

/// One line without its newline. The hash is that of the bytes before it, whatever they say.
fn parse(line: &[u8]) -> Result<(Entry, Digest), Unreadable> {
    let form = |reason: &str| Unreadable::Form(reason.to_owned());
    let text = std::str::from_utf8(line).map_err(|_| form("it is not UTF-8"))?;
    let sealed = text.strip_suffix(END).and_then(|text| text.rsplit_once(SEAL));
    let (body, hash) = sealed.ok_or_else(|| form("it has no hash at its end"))?;
    let hash = Digest::try_from(hash.to_owned()).map_err(|error| form(&error.to_string()))?;
    if Digest::of(body.as_bytes()) != hash {
        return Err(Unreadable::Hash);
    }
    let entry: Entry = serde_json::from_str(text).map_err(|error| Unreadable::Form(error.to_string()))?;
    if entry.version == VERSION { Ok((entry, hash)) } else { Err(form("its version is not known")) }
}

#[cfg(test)]
mod tests;
