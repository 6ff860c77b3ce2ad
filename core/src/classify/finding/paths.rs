//! Lines about a path: whether the policy blocks it, and whether ordinary permissions would have.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Finding, Findings, NOT_EXECUTABLE, evidence};
use crate::classify::place::{self, Last};
use crate::classify::sandbox::{Block, Ruling, Sandbox};
use crate::classify::{Answer, Because, grant};
use crate::denial::{Attempt, Certainty, Denial, Evidence, Sighting, Target};
use crate::policy::Access;
use crate::policy::fs::Symlinks;
use crate::{AbsPath, Effect, Layer, Outcome};

/// So many names has a path at most that is looked at: no tree of anybody's is deeper, and each of them is asked for.
const DEPTH: usize = 64;

impl Findings<'_> {
    pub(super) fn path(&self, sighting: &Sighting, printed: &OsStr) -> Finding {
        let absolute = [PathBuf::from("/")];
        let is_relative = !Path::new(printed).is_absolute();
        let directories = if is_relative { self.directories.as_slice() } else { &absolute };
        let last = Last::of(sighting.attempt);
        let places = directories.iter().filter_map(|directory| self.place(directory, printed, last));
        let mut found = places.map(|path| self.at(sighting, &path));
        let Some(first) = found.next() else { return Finding::Denied(self.vague(sighting)) };
        let best = found.fold(first, surer);
        match best {
            // Nothing in a write grant is read-only: the program has gone elsewhere.
            Finding::Not(_) if is_relative && sighting.errno == Some("EROFS") => {
                Finding::Denied(self.vague(sighting))
            }
            best => best,
        }
    }

    pub(super) fn place(&self, directory: &Path, printed: &OsStr, last: Last) -> Option<AbsPath> {
        if Path::new(printed).components().nth(DEPTH).is_some() {
            return None;
        }
        let path = directory.join(printed);
        match &self.incident.sandbox {
            Some(sandbox) => place::resolve(&path, last, sandbox, self.permissions),
            None => place::clean(&path),
        }
    }

    fn at(&self, sighting: &Sighting, path: &AbsPath) -> Finding {
        let evidence = evidence(sighting);
        let Some(sandbox) = &self.incident.sandbox else {
            let target = Some(target(sighting.effect, sighting.attempt, path));
            return Finding::Denied(Denial { target, ..self.vague(sighting) });
        };
        let attempt = self.attempt(sandbox, sighting, path);
        match self.ruling(sandbox, sighting, path, attempt) {
            Ruling::Allowed { .. } if attempt == Attempt::Owner => self.owner(sandbox, sighting, path),
            Ruling::Allowed { .. } => self.elsewhere(sighting, path, attempt),
            Ruling::Blocked(mut block) => {
                block.effect = sharper(block.effect, sighting.effect);
                let layer = sighting.layers.iter().find(|layer| block.layers.contains(layer)).copied();
                self.blocked(&block, Tried { path, attempt, layer, evidence })
            }
        }
    }

    /// What an attempt to open was for. A mount refuses writing as a read-only file system does, Landlock as plain
    /// permissions do; what is not there was to be read.
    fn attempt(&self, sandbox: &Sandbox<'_>, sighting: &Sighting, path: &AbsPath) -> Attempt {
        if sighting.attempt != Attempt::Open {
            return sighting.attempt;
        }
        if matches!(self.incident.outcome, Outcome::Exited { code: NOT_EXECUTABLE }) {
            return Attempt::Execute;
        }
        let mounts = sandbox.layers.contains(&Layer::Mount);
        let may_be_writing = match sighting.errno {
            Some("EROFS") => true,
            Some("ENOENT") => false,
            // Without its capabilities root may not read what is somebody else's.
            Some("EACCES") if self.is_others(path) => false,
            _ => !mounts,
        };
        let reads = sandbox.at(path, Attempt::Read);
        let writes = sandbox.at(path, Attempt::Create);
        if may_be_writing && reads.block().is_none() && writes.block().is_some() {
            Attempt::Create
        } else {
            Attempt::Read
        }
    }

    fn is_others(&self, path: &AbsPath) -> bool {
        self.is_shown(path) && self.permissions.exists(path) == Some(true) && self.is_foreign(path)
    }

    /// Of what is out of view nobody may ask.
    fn is_foreign(&self, path: &AbsPath) -> bool {
        self.is_shown(path) && self.permissions.is_foreign(path)
    }

    fn is_shown(&self, path: &AbsPath) -> bool {
        self.incident.sandbox.is_some_and(|sandbox| sandbox.shows(path))
    }

    fn ruling(&self, sandbox: &Sandbox<'_>, sighting: &Sighting, path: &AbsPath, attempt: Attempt) -> Ruling {
        let ruling = sandbox.at(path, attempt);
        if ruling.block().is_some() {
            return ruling;
        }
        let effect = sighting.effect;
        let links = effect == Effect::FsSymlink && sandbox.policy.fs.symlinks == Symlinks::Deny;
        // Of a file of one's own nothing else refuses that.
        let setid = effect == Effect::FsSetid && !self.is_foreign(path);
        if links || setid || matches!(attempt, Attempt::Device | Attempt::Mount) {
            return sandbox.act(effect, attempt);
        }
        match sighting.errno {
            Some("EBUSY" | "EXDEV") => sandbox.pinned(path).map_or(ruling, Ruling::Blocked),
            _ => ruling,
        }
    }

    pub(super) fn blocked(&self, block: &Block, tried: Tried<'_>) -> Finding {
        let Tried { path, attempt, layer, evidence } = tried;
        let Some(sandbox) = &self.incident.sandbox else { return Finding::Not(Because::OwnWords) };
        let answer = self.ordinarily(sandbox, block, path, attempt);
        let certainty = match (answer, layer) {
            (Answer::Allowed, Some(_)) => Certainty::Likely,
            (Answer::Allowed, None) | (Answer::Unknown, _) => Certainty::Possible,
            (Answer::Missing, _) => return missing(evidence.errno.as_deref()),
            (Answer::Refused(errno), _) => return Finding::Not(self.refused(errno, path)),
        };
        Finding::Denied(Denial {
            effect: block.effect,
            target: Some(target(block.effect, attempt, path)),
            layer: layer.or_else(|| block.layers.first().copied()),
            certainty,
            evidence,
            grant: grant::smallest(sandbox, block, path, attempt, self.permissions),
        })
    }

    /// Whether it would have worked outside. Of a hidden place only the place itself is asked about.
    fn ordinarily(&self, sandbox: &Sandbox<'_>, block: &Block, path: &AbsPath, attempt: Attempt) -> Answer {
        let hiding =
            block.rule.as_ref().filter(|rule| rule.access == Access::Hide && rule.path != AbsPath::root());
        match hiding {
            Some(rule) if sandbox.layers.contains(&Layer::Mount) => {
                self.permissions.allows(&rule.path, Attempt::Read)
            }
            _ if sandbox.shows(path) => self.permissions.allows(path, attempt),
            _ => Answer::Unknown,
        }
    }

    /// The policy has nothing against it.
    fn elsewhere(&self, sighting: &Sighting, path: &AbsPath, attempt: Attempt) -> Finding {
        let shown = self.is_shown(path);
        let answer = if shown { self.permissions.allows(path, attempt) } else { Answer::Unknown };
        match answer {
            Answer::Missing => missing(sighting.errno),
            Answer::Refused(errno) => Finding::Not(self.refused(errno, path)),
            Answer::Allowed if is_refusal(sighting.errno) && self.is_foreign(path) => {
                Finding::Not(Because::ForeignOwner)
            }
            Answer::Allowed | Answer::Unknown => Finding::Not(Because::OwnWords),
        }
    }

    /// Giving something away takes a privilege, and a user who exists there.
    fn owner(&self, sandbox: &Sandbox<'_>, sighting: &Sighting, path: &AbsPath) -> Finding {
        let answer =
            if self.is_shown(path) { self.permissions.allows(path, Attempt::Owner) } else { Answer::Unknown };
        let unmapped = sandbox.layers.contains(&Layer::Namespace);
        match answer {
            // Who does not exist there, whoever may give it away outside.
            _ if unmapped && sighting.errno == Some("EINVAL") => Finding::Not(Because::ForeignOwner),
            Answer::Refused(errno) => Finding::Not(self.refused(errno, path)),
            _ if unmapped && self.is_foreign(path) => Finding::Not(Because::ForeignOwner),
            answer => {
                let target = Some(Target::Write(path.clone()));
                match self.act(sighting, answer) {
                    Finding::Denied(denial) => Finding::Denied(Denial { target, ..denial }),
                    other => other,
                }
            }
        }
    }

    fn refused(&self, errno: &str, path: &AbsPath) -> Because {
        let foreign = errno == "EPERM" && self.is_foreign(path);
        if foreign { Because::ForeignOwner } else { Because::PlainPermissions }
    }
}

/// Something that the policy blocks.
pub(super) struct Tried<'p> {
    pub(super) path: &'p AbsPath,
    pub(super) attempt: Attempt,
    pub(super) layer: Option<Layer>,
    pub(super) evidence: Evidence,
}

/// Which of two readings of one line says more.
pub(super) fn surer(one: Finding, other: Finding) -> Finding {
    let weight = |finding: &Finding| match finding {
        Finding::Denied(denial) => 1 + i32::from(denial.certainty >= Certainty::Likely) * 2,
        Finding::Unclear | Finding::Not(Because::OwnWords | Because::MissingFile) => 0,
        Finding::Not(_) => 2,
    };
    if weight(&other) > weight(&one) { other } else { one }
}

/// Where the policy blocks writing, the words tell which kind of writing it was.
const fn sharper(ruled: Effect, sighted: Effect) -> Effect {
    match (ruled, sighted) {
        (Effect::FsWrite | Effect::FsRename, Effect::FsTruncate | Effect::FsRename | Effect::FsMetadata) => {
            sighted
        }
        _ => ruled,
    }
}

fn target(effect: Effect, attempt: Attempt, path: &AbsPath) -> Target {
    let path = path.clone();
    match (effect, attempt) {
        (Effect::NetUnixPath | Effect::NetUnixPathNew, _) | (_, Attempt::Connect | Attempt::Send) => {
            Target::Socket(path)
        }
        (Effect::FsDevice, _) => Target::Device(path),
        (_, Attempt::Open | Attempt::Read | Attempt::Execute | Attempt::Trace) => Target::Read(path),
        _ => Target::Write(path),
    }
}

/// What is not there has nothing to refuse: words of a refusal are about something else then.
fn missing(errno: Option<&str>) -> Finding {
    if is_refusal(errno) || errno == Some("EROFS") {
        Finding::Unclear
    } else {
        Finding::Not(Because::MissingFile)
    }
}

fn is_refusal(errno: Option<&str>) -> bool {
    matches!(errno, Some("EACCES" | "EPERM" | "EINVAL"))
}
