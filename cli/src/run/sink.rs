//! Where `--report` leads: a file that appears whole or not at all, or an open descriptor.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use confine_core::policy::{Access, Policy};
use confine_core::{AbsPath, LaunchFault, LaunchStage, Report, Text};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fcntl_getfl, linkat, open};
use tempfile::NamedTempFile;

use crate::{answer, fault};

/// An open destination.
pub(crate) enum Sink {
    /// What becomes the file, and its canonical path.
    File(Draft, AbsPath),
    /// A descriptor of the caller's: the same open file, by a number of our own.
    Descriptor(File),
}

/// A file (0600) in the destination's directory that is not the destination yet.
pub(crate) enum Draft {
    /// Without a name (Linux 3.11, not every file system): a kill leaves nothing.
    Unnamed(File),
    /// With a temporary one.
    Named(NamedTempFile),
}

const PREFIX: &str = ".confine-report-";

impl Draft {
    fn beside(place: &Path) -> io::Result<Self> {
        let directory = parent(place);
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match open(directory, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(Self::Unnamed(file.into())),
            Err(_) => tempfile::Builder::new().prefix(PREFIX).tempfile_in(directory).map(Self::Named),
        }
    }

    /// Writes it, and makes it appear at `path`.
    fn finish(self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let named = match self {
            Self::Named(mut file) => {
                file.write_all(bytes)?;
                file.into_temp_path()
            }
            Self::Unnamed(mut file) => {
                file.write_all(bytes)?;
                if link(&file, path).is_ok() {
                    return Ok(());
                }
                // Something is there, and only a rename replaces it.
                let link = |name: &Path| link(&file, name);
                tempfile::Builder::new().prefix(PREFIX).make_in(parent(path), link)?.into_temp_path()
            }
        };
        named.persist(path).map_err(|failed| failed.error)
    }
}

fn link(file: &File, name: &Path) -> io::Result<()> {
    let itself = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, itself, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

fn parent(place: &Path) -> &Path {
    place.parent().unwrap_or(Path::new("/"))
}

impl Sink {
    /// Understands and opens the value of `--report`.
    ///
    /// # Errors
    /// A descriptor that is not open for writing; a directory that is missing or not writable.
    pub(crate) fn open(word: &OsStr) -> Result<Self, LaunchFault> {
        match word.as_bytes().strip_prefix(b"fd:") {
            Some(number) => descriptor(number),
            None => file(Path::new(word)),
        }
    }

    /// Whether the program could write, replace or plant the file itself.
    ///
    /// # Errors
    /// When the file lies in a write grant.
    pub(crate) fn check(&self, policy: &Policy) -> Result<(), LaunchFault> {
        self.path().map_or(Ok(()), |path| out_of_reach(path, policy))
    }

    /// Its canonical path, where it is a file.
    pub(crate) const fn path(&self) -> Option<&AbsPath> {
        match self {
            Self::File(_, path) => Some(path),
            Self::Descriptor(_) => None,
        }
    }

    /// Writes `report`, and makes the file appear.
    ///
    /// # Errors
    /// Those of writing and renaming.
    pub(crate) fn write(self, report: &Report) -> Result<(), LaunchFault> {
        let bytes = answer::json_bytes(report)?;
        let (written, help) = match self {
            Self::File(draft, path) => (draft.finish(path.as_path(), &bytes), KEEP_DIRECTORY),
            Self::Descriptor(file) => (write_to(&file, &bytes), KEEP_READER),
        };
        written.map_err(|error| fault::system(LaunchStage::Usage, "write the report", &error).help(help))
    }
}

/// Whether the report at `path` is safe from a program under `policy`.
///
/// # Errors
/// Where the program may write there.
pub(crate) fn out_of_reach(path: &AbsPath, policy: &Policy) -> Result<(), LaunchFault> {
    let writable =
        |at: &AbsPath| policy.fs.access_at(at) == Access::Write || policy.fs.precreate.contains(at);
    if !writable(path) && !path.parent().is_some_and(|parent| writable(&parent)) {
        return Ok(());
    }
    Err(LaunchFault {
        path: Some(path.clone()),
        ..fault::usage(
            format!("write the report to `{path}`: the confined program may write there"),
            "name a file outside the workspace and every other write grant, or use `--report fd:N`",
        )
    })
}

fn descriptor(number: &[u8]) -> Result<Sink, LaunchFault> {
    let text = Text::from(OsStr::from_bytes(number));
    let parsed = std::str::from_utf8(number).ok().filter(|digits| !digits.starts_with('+'));
    let Some(number) = parsed.and_then(|digits| digits.parse::<i32>().ok()).filter(|number| *number >= 0)
    else {
        return Err(fault::usage(
            format!("write the report to `fd:{text}`: that is no descriptor number"),
            "write for example `--report fd:3`",
        ));
    };
    match confine_runner::adopt(number) {
        Ok(adopted) if is_open_for_writing(&adopted) => Ok(Sink::Descriptor(adopted.into())),
        _ => Err(fault::usage(
            format!("write the report to `fd:{number}`: it is not open for writing"),
            "open it before confine starts, for example with `3>report.json` in a shell",
        )),
    }
}

fn is_open_for_writing(descriptor: &OwnedFd) -> bool {
    fcntl_getfl(descriptor).is_ok_and(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR))
}

fn file(word: &Path) -> Result<Sink, LaunchFault> {
    let place = place(word).map_err(|error| unwritable(word, &error))?;
    let draft = Draft::beside(&place).map_err(|error| unwritable(word, &error))?;
    let path =
        AbsPath::new(place).map_err(|error| fault::usage(format!("write the report: {error}"), HELP))?;
    Ok(Sink::File(draft, path))
}

/// What a report that was understood and could not be delivered needs.
const KEEP_READER: &str = "there is no report of this run; what the descriptor leads to has to have room, and a reader that stays until confine ends";
const KEEP_DIRECTORY: &str =
    "there is no report of this run; its directory has to stay writable, with room, until confine ends";
const HELP: &str = "name a file in an existing directory that you may write to, outside every write grant";

/// The directory is resolved once, so that no link on the way can be turned later; the file itself is replaced.
fn place(word: &Path) -> io::Result<PathBuf> {
    let name = word.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let parent = word.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = parent.canonicalize()?.join(name);
    match place.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(place),
    }
}

fn unwritable(word: &Path, error: &io::Error) -> LaunchFault {
    let doing = format!("write the report to `{}`", Text::from(word.as_os_str()));
    fault::system(LaunchStage::Usage, &doing, error).help(HELP)
}

/// Waits for room where the caller made the open file non-blocking.
fn write_to(mut file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for_room(file)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait_for_room(file: &File) -> io::Result<()> {
    match poll(&mut [PollFd::new(file.as_fd(), PollFlags::POLLOUT)], PollTimeout::NONE) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn both_kinds_of_draft_appear_whole_and_replace_what_is_there() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("report");
        let unnamed = || Draft::beside(&path).unwrap();
        let named = || Draft::Named(NamedTempFile::new_in(top.path()).unwrap());
        let drafts: [&dyn Fn() -> Draft; 3] = [&unnamed, &unnamed, &named];
        for (draft, text) in drafts.into_iter().zip(["1", "2", "3"]) {
            draft().finish(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
        }
    }
}
