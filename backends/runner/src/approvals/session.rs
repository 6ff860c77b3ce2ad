//! Sessions as they lie on the disk, for whoever looks at them.

use std::ffi::OsString;

use confine_core::approval::{Desk, Permissions, SessionId};
use confine_core::audit::{Entry, Fault};
use confine_core::{AbsPath, Text};

use super::SESSIONS;
use super::error::ApprovalsError;
use super::kept;
use super::ledger::{Ledger, LedgerError, News, Opening};
use crate::places::{Place, Places};
use crate::stamp;

const LOG: &str = ".jsonl";

/// A session on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub id: SessionId,
    /// Its log.
    pub path: AbsPath,
}

/// What a log says, and what is wrong with it.
#[derive(Debug)]
pub struct SessionLog {
    /// Which session.
    pub session: Session,
    /// The events up to the first thing that is wrong.
    pub entries: Vec<Entry>,
    /// Everything that is wrong with the lines.
    pub faults: Vec<Fault>,
    /// What is wrong with the files, where they can be read: they were cut off, or one is missing.
    pub broken: Option<LedgerError>,
    /// Bytes at the end of a line that a kill cut off, which nobody acted on. No fault.
    pub torn: u64,
}

impl SessionLog {
    /// Reads and checks the log of a session; `None` where there is none.
    ///
    /// # Errors
    /// A directory or a file that cannot be read, or is not the user's alone.
    pub fn read(places: &Places, session: &SessionId) -> Result<Option<Self>, ApprovalsError> {
        let Some(place) = open(places)? else { return Ok(None) };
        let path = kept::path(&place, &format!("{session}{LOG}"));
        let session = Session { id: session.clone(), path };
        let broken = |error| {
            let (entries, faults) = (Vec::new(), Vec::new());
            Self { session: session.clone(), entries, faults, broken: Some(error), torn: 0 }
        };
        let mut ledger = match Ledger::open(&place, &session.id, Opening::Read) {
            Ok(None) => return Ok(None),
            Ok(Some(ledger)) => ledger,
            Err(LedgerError::File(error)) => return Err(LedgerError::File(error).into()),
            Err(error) => return Ok(Some(broken(error))),
        };
        match ledger.hold()?.news() {
            Ok(News { lines, mark, torn }) => {
                let trail = mark.head.verify(&session.id, &lines);
                Ok(Some(Self { session, entries: trail.entries, faults: trail.faults, broken: None, torn }))
            }
            Err(LedgerError::File(error)) => Err(LedgerError::File(error).into()),
            Err(error) => Ok(Some(broken(error))),
        }
    }

    /// What the session has set for itself, by its events.
    pub fn permissions(&self) -> Permissions {
        let mut desk = Desk::new(self.session.id.clone(), Default::default());
        self.entries.iter().for_each(|entry| desk.apply(&entry.event, entry.at()));
        desk.permissions().clone()
    }

    /// Whether nothing is wrong with it.
    pub fn is_whole(&self) -> bool {
        self.faults.is_empty() && self.broken.is_none()
    }
}

/// Every session on the disk, by name.
///
/// # Errors
/// A directory that cannot be read, or is not the user's alone.
pub fn sessions(places: &Places) -> Result<Vec<Session>, ApprovalsError> {
    let Some(place) = open(places)? else { return Ok(Vec::new()) };
    let unusable = |source| crate::places::PlaceError::Unusable { path: place.path.clone(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&place.path).map_err(unusable)? {
        let name = entry.map_err(unusable)?.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(LOG).or_else(|| name.strip_suffix(".head")));
        let Some(id) = id.and_then(|id| SessionId::new(id).ok()) else { continue };
        let path = kept::path(&place, &format!("{id}{LOG}"));
        found.push(Session { id, path });
    }
    found.sort_by(|one, two| one.id.cmp(&two.id));
    found.dedup();
    Ok(found)
}

/// See [`session_named`](super::session_named).
pub(super) fn named(variable: Option<OsString>) -> Result<SessionId, ApprovalsError> {
    let Some(value) = variable else {
        let fresh = stamp::fresh().map_err(ApprovalsError::Random)?;
        return SessionId::new(fresh).map_err(|_| ApprovalsError::Ended);
    };
    let text = value.to_str().and_then(|text| SessionId::new(text).ok());
    text.ok_or_else(|| ApprovalsError::Session(Text::from(value)))
}

fn open(places: &Places) -> Result<Option<Place>, ApprovalsError> {
    match places.open_state()? {
        Some(state) => Ok(state.open_below(SESSIONS)?),
        None => Ok(None),
    }
}
