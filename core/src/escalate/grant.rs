//! What a command would get beyond the policy in force.

use serde::{Deserialize, Serialize};

use crate::denial::Target;
use crate::policy::git::Git;
use crate::policy::resolve::Written;
use crate::policy::{Access, FsPlan, Kind, Mode, PolicyFile, Source};
use crate::visible::visible;
use crate::{AbsPath, Text};

/// A wider mode, or single grants: `{"mode": …}` or `{"grants": [{"write": PATH}, …]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grant {
    /// Another mode. Full access is none.
    Mode(Mode),
    /// Single ones, each as a denial names it.
    Grants(Vec<Target>),
}

/// The most single grants of one request: more than a person reads is not asked.
const MOST: usize = 16;

/// Why something is no grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadGrant {
    /// It grants nothing.
    #[error("it grants nothing")]
    Empty,
    /// More than a person reads.
    #[error("it holds more than {MOST} single grants")]
    TooMany,
    /// No policy has it.
    #[error("{0} cannot be granted")]
    Ungrantable(&'static str),
    /// It names a link: what a person would read is not what would be opened.
    #[error("`{0}` leads to another place; that one is to be named")]
    Elsewhere(AbsPath),
    /// git has no such setting.
    #[error("`{0}` is no word for git: `work`, `protect` or `open`")]
    Git(String),
}

impl Grant {
    /// One single grant, as a denial names it.
    pub fn one(target: Target) -> Self {
        Self::Grants(vec![target])
    }

    /// As words for a person, one line each, with everything that others chose made visible. `directories` are those of its
    /// places that are some.
    pub fn words(&self, directories: &[AbsPath]) -> Vec<String> {
        match self {
            Self::Mode(Mode::ReadOnly) => vec!["the mode read-only".to_owned()],
            Self::Mode(Mode::WorkspaceWrite) => {
                vec!["the mode workspace-write: write below every workspace".to_owned()]
            }
            Self::Grants(targets) => targets.iter().map(|target| words(target, directories)).collect(),
        }
    }

    /// Those of its places that are directories in `fs`, which is resolved with it.
    pub(super) fn directories(&self, fs: &FsPlan) -> Vec<AbsPath> {
        let is_directory = |path: &&AbsPath| kind(fs, path) == Some(Kind::Directory);
        self.places().filter(is_directory).cloned().collect()
    }

    /// Whether each place that it names is in `now` what it is in `then`: of the same kind, and open in the same way.
    pub(super) fn opens_the_same(&self, then: &FsPlan, now: &FsPlan) -> bool {
        self.places().all(|path| {
            kind(then, path) == kind(now, path)
                && then.access_at(path) == now.access_at(path)
                && then.precreate.contains(path) == now.precreate.contains(path)
        })
    }

    /// The places that it names.
    fn places(&self) -> impl Iterator<Item = &AbsPath> {
        let targets = match self {
            Self::Mode(_) => &[][..],
            Self::Grants(targets) => targets,
        };
        targets.iter().filter_map(|target| match target {
            Target::Read(path)
            | Target::Write(path)
            | Target::Precreate(path)
            | Target::Socket(path)
            | Target::Device(path) => Some(path),
            Target::Git(_) | Target::Connect(_) | Target::Process(_) | Target::Syscall(_) => None,
        })
    }

    /// Whether every place that it names is itself what `fs`, resolved with it, opens.
    ///
    /// # Errors
    /// The first that is not.
    pub(super) fn is_at_home(&self, fs: &FsPlan) -> Result<(), BadGrant> {
        let Self::Grants(targets) = self else { return Ok(()) };
        let away = targets.iter().find_map(|target| match target {
            Target::Read(path) => (!fs.access_at(path).shows_host()).then_some(path),
            Target::Write(path) | Target::Precreate(path) | Target::Socket(path) | Target::Device(path) => {
                (fs.access_at(path) != Access::Write).then_some(path)
            }
            Target::Git(_) | Target::Connect(_) | Target::Process(_) | Target::Syscall(_) => None,
        });
        away.map_or(Ok(()), |path| Err(BadGrant::Elsewhere(path.clone())))
    }

    /// A layer of a policy that grants all of `grants`, with literal paths.
    ///
    /// # Errors
    /// When one of them grants nothing, or what no policy grants.
    pub fn layer(grants: &[Self]) -> Result<Written, BadGrant> {
        let mut file = PolicyFile::default();
        for grant in grants {
            match grant {
                Self::Mode(mode) => file.mode = file.mode.max(Some(*mode)),
                Self::Grants(targets) => add_all(&mut file, targets)?,
            }
        }
        Ok(Written { file, base: AbsPath::root(), source: Source::Grant })
    }
}

fn add_all(file: &mut PolicyFile, targets: &[Target]) -> Result<(), BadGrant> {
    match targets.len() {
        0 => Err(BadGrant::Empty),
        1..=MOST => targets.iter().try_for_each(|target| add(file, target)),
        _ => Err(BadGrant::TooMany),
    }
}

fn add(file: &mut PolicyFile, target: &Target) -> Result<(), BadGrant> {
    let fs = &mut file.filesystem;
    let text = |path: &AbsPath| Text::from(path.to_os_string());
    let changes =
        matches!(target, Target::Write(_) | Target::Precreate(_) | Target::Socket(_) | Target::Device(_));
    match target {
        Target::Write(path) | Target::Precreate(path) | Target::Socket(path) | Target::Device(path)
            if changes && *path == AbsPath::root() =>
        {
            return Err(BadGrant::Ungrantable("everything"));
        }
        Target::Read(path) => fs.read.get_or_insert_default().push(text(path)),
        Target::Write(path) => fs.write.push(text(path)),
        Target::Precreate(path) => fs.precreate.push(text(path)),
        Target::Socket(path) => fs.sockets.push(text(path)),
        Target::Device(path) => fs.devices.push(text(path)),
        Target::Git(word) => fs.git = Some(git(word)?),
        Target::Connect(_) => return Err(BadGrant::Ungrantable("a single connection")),
        Target::Process(_) => return Err(BadGrant::Ungrantable("access to a process")),
        Target::Syscall(_) => return Err(BadGrant::Ungrantable("a system call")),
    }
    Ok(())
}

fn git(word: &str) -> Result<Git, BadGrant> {
    match word {
        "work" => Ok(Git::Work),
        "protect" => Ok(Git::Protect),
        "open" => Ok(Git::Open),
        _ => Err(BadGrant::Git(word.to_owned())),
    }
}

fn kind(fs: &FsPlan, path: &AbsPath) -> Option<Kind> {
    fs.entries.get(path).map(|entry| entry.kind)
}

fn words(target: &Target, directories: &[AbsPath]) -> String {
    let path = |act: &str, path: &AbsPath| {
        let below = if directories.contains(path) { " and all below" } else { "" };
        format!("{act} {}{below}", visible(path.as_path().as_os_str()))
    };
    match target {
        Target::Read(at) => path("read", at),
        Target::Write(at) => path("write", at),
        Target::Precreate(at) => path("create and write", at),
        Target::Socket(at) => path("connect to the socket", at),
        Target::Device(at) => path("use the device", at),
        Target::Connect(host) => format!("connect to {}", visible(host.as_ref())),
        Target::Git(word) if word == "open" => {
            "change git's hooks and settings in every repository here, which your own git then runs"
                .to_owned()
        }
        Target::Git(word) => format!("treat git as `{}`", visible(word.as_ref())),
        Target::Process(pid) => format!("reach process {pid}"),
        Target::Syscall(name) => format!("call {}", visible(name.as_ref())),
    }
}
