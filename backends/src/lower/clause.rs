//! What a Seatbelt profile says about one place.

use confine_core::AbsPath;
use confine_core::policy::{Access, Kind};

use crate::access::{Verdict, row};

/// What a profile says about a place and what lies below it. Only [`lower`](super::lower) makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    at: AbsPath,
    access: Access,
    kind: Kind,
}

impl Clause {
    pub(super) const fn new(at: AbsPath, access: Access, kind: Kind) -> Self {
        Self { at, access, kind }
    }

    /// Where, by the path that the kernel has for it.
    pub const fn at(&self) -> &AbsPath {
        &self.at
    }

    /// What is there.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether it may be read and executed.
    pub const fn reading(&self) -> Verdict {
        row(self.access).reading
    }

    /// Whether it may be created, changed and deleted.
    pub const fn writing(&self) -> Verdict {
        row(self.access).writing
    }
}
