//! The file of a session's events, and its head: bytes only, what they mean is the core's.
//!
//! Lines are only ever added, under flock(2), each synced before anybody acts on it. Beside the log lies its head: how long
//! the log is, and the number and hash of its last event. It exists before the first event does, is written in place after
//! each sync (a record of fixed length, in one write), and so tells what a chain of hashes alone cannot: that the end was cut
//! off. What a kill leaves is a log that is longer than its head says: whole lines more, which count, and at most one torn
//! line, which nobody has acted on and which the next writer removes. A log that is shorter was tampered with.
//!
//! Neither is a signature: who can write both files as this user can make up another history.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;

use confine_core::AbsPath;
use confine_core::approval::SessionId;
use confine_core::audit::Head;
use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

use super::kept::{self, KeptError};
use crate::places::Place;

const LOG: &str = "jsonl";
const HEAD: &str = "head";
/// Bytes of a head: one write, within one page.
const RECORD: usize = 256;
/// The longest log that is read, in bytes.
const LONGEST: u64 = 1024 * 1024 * 1024;

/// Where the log ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Its last event.
    #[serde(flatten)]
    pub(super) head: Head,
    /// How long it is with that, in bytes.
    pub(super) length: u64,
}

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// One of its files.
    #[error("{0}")]
    File(#[from] KeptError),
    /// It is shorter than it was.
    #[error("`{path}` was cut off: it has {length} bytes and had {expected}")]
    Shorter {
        /// Which.
        path: AbsPath,
        /// Its length.
        length: u64,
        /// What its head says.
        expected: u64,
    },
    /// One of the two is missing.
    #[error("`{0}` is missing, beside the other file of its session")]
    Missing(AbsPath),
    /// The head cannot be understood.
    #[error("`{0}` is not the head of a log")]
    Garbled(AbsPath),
}

/// A session's log, open.
#[derive(Debug)]
pub(super) struct Ledger {
    log: File,
    head: File,
    path: AbsPath,
    head_path: AbsPath,
    /// How much of it was read or written by us.
    seen: u64,
}

/// What is new in a log.
#[derive(Debug)]
pub(super) struct News {
    /// Whole lines.
    pub(super) lines: Vec<u8>,
    /// Where its head says that it ends.
    pub(super) mark: Mark,
    /// Bytes of a line that a kill cut off, after the lines.
    pub(super) torn: u64,
}

/// May it be made?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Made where it is missing, to be added to.
    Write,
    /// Only looked at.
    Read,
}

impl Ledger {
    /// Opens the log of a session; `None` where there is none and none is to be made.
    ///
    /// # Errors
    /// Where a file is not the user's alone, or one of the two is missing.
    pub(super) fn open(
        place: &Place,
        session: &SessionId,
        opening: Opening,
    ) -> Result<Option<Self>, LedgerError> {
        let (log, head) = (format!("{session}.{LOG}"), format!("{session}.{HEAD}"));
        let access = if opening == Opening::Write { OFlag::O_RDWR } else { OFlag::O_RDONLY };
        if opening == Opening::Write {
            make(place, session, &log, &head)?;
        }
        let (path, head_path) = (kept::path(place, &log), kept::path(place, &head));
        match (kept::open(place, &log, access)?, kept::open(place, &head, access)?) {
            (Some(log), Some(head)) => Ok(Some(Self { log, head, path, head_path, seen: 0 })),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(LedgerError::Missing(path)),
            (Some(_), None) => Err(LedgerError::Missing(head_path)),
        }
    }

    /// Where the log is.
    pub(super) fn path(&self) -> &AbsPath {
        &self.path
    }

    /// Keeps every other writer out until it is dropped.
    ///
    /// # Errors
    /// `TimedOut` after 10 s, and as flock(2).
    pub(super) fn hold(&mut self) -> Result<Held<'_>, LedgerError> {
        kept::lock(&self.log).map_err(|error| unusable(&self.path, error))?;
        Ok(Held { ledger: self })
    }

    fn read_mark(&self) -> Result<Mark, LedgerError> {
        let mut record = [0; RECORD];
        let garbled = || LedgerError::Garbled(self.head_path.clone());
        self.head.read_exact_at(&mut record, 0).map_err(|_| garbled())?;
        serde_json::from_slice(&record).map_err(|_| garbled())
    }

    fn write_mark(&self, mark: &Mark) -> io::Result<()> {
        self.head.write_all_at(&mark.record()?, 0)
    }

    fn write_log(&mut self, lines: &[u8]) -> io::Result<()> {
        self.log.seek(SeekFrom::Start(self.seen))?;
        self.log.write_all(lines)?;
        self.log.sync_data()
    }
}

/// A log that nobody else adds to.
#[derive(Debug)]
pub(super) struct Held<'a> {
    ledger: &'a mut Ledger,
}

impl Held<'_> {
    /// What others added since the last look; all that there is at the first.
    ///
    /// # Errors
    /// A log that is shorter than its head or than what we saw, and a head that is none.
    pub(super) fn news(&mut self) -> Result<News, LedgerError> {
        let mark = self.ledger.read_mark()?;
        let Ledger { log, path, seen, .. } = &mut *self.ledger;
        let failed = |error| unusable(path, error);
        let expected = mark.length.max(*seen);
        let shorter = |length| LedgerError::Shorter { path: path.clone(), length, expected };
        let length = log.metadata().map_err(failed)?.len();
        let more = length.checked_sub(*seen).ok_or_else(|| shorter(length))?;
        if more > LONGEST {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        log.seek(SeekFrom::Start(*seen)).map_err(failed)?;
        let mut lines = Vec::new();
        log.take(more).read_to_end(&mut lines).map_err(failed)?;
        let whole = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let torn = count(lines.len().saturating_sub(whole));
        lines.truncate(whole);
        *seen += count(whole);
        if *seen < expected { Err(shorter(*seen)) } else { Ok(News { lines, mark, torn }) }
    }

    /// Adds whole lines, after [`news`](Self::news), and answers once they are on the disk. What a kill left of a torn line
    /// gives way to them.
    ///
    /// # Errors
    /// As write(2) and fdatasync(2). Nothing is added then: what was written of it is taken back.
    pub(super) fn append(&mut self, lines: &[u8], head: Head) -> Result<(), LedgerError> {
        let ledger = &mut *self.ledger;
        let length = ledger.seen.saturating_add(count(lines.len()));
        let mark = Mark { head, length };
        let cut = ledger.log.set_len(ledger.seen);
        let written = cut.and_then(|()| ledger.write_log(lines)).and_then(|()| ledger.write_mark(&mark));
        if let Err(error) = written {
            // What cannot be taken back is a torn line, or lines past the head.
            let _ = ledger.log.set_len(ledger.seen);
            return Err(unusable(&ledger.path, error));
        }
        ledger.seen = length;
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Closing the file would do it too.
        let _ = self.ledger.log.unlock();
    }
}

impl Mark {
    fn record(&self) -> io::Result<Vec<u8>> {
        let mut record = serde_json::to_vec(self)?;
        if record.len() >= RECORD {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        record.resize(RECORD - 1, b' ');
        record.push(b'\n');
        Ok(record)
    }
}

/// The head first: a log without one was tampered with.
fn make(place: &Place, session: &SessionId, log: &str, head: &str) -> Result<(), LedgerError> {
    let failed = |error| unusable(&kept::path(place, head), error);
    kept::change(place, head, |there| {
        let has_log = kept::open(place, log, OFlag::O_RDONLY)?.is_some();
        match there.map(serde_json::from_str::<Mark>) {
            None if has_log => return Err(LedgerError::Missing(kept::path(place, head))),
            Some(Err(_)) => return Err(LedgerError::Garbled(kept::path(place, head))),
            Some(Ok(mark)) if !has_log && mark.length > 0 => {
                return Err(LedgerError::Missing(kept::path(place, log)));
            }
            Some(Ok(_)) => return Ok((None, ())),
            None => {}
        }
        let start = Mark { head: Head::start(session), length: 0 }.record().map_err(failed)?;
        Ok((Some(String::from_utf8_lossy(&start).into_owned()), ()))
    })?;
    kept::open(place, log, OFlag::O_RDWR | OFlag::O_CREAT)?;
    let directory = File::from(place.fd.try_clone().map_err(failed)?);
    directory.sync_all().map_err(failed)
}

fn unusable(path: &AbsPath, source: io::Error) -> LedgerError {
    LedgerError::File(KeptError::Unusable { path: path.clone(), source })
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
