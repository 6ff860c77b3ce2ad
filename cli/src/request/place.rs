//! Directories that the caller names, as the caller spells them.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use confine_core::{AbsPath, LaunchFault, LaunchStage, Text};

use crate::fault;

/// The current directory: as `$PWD` spells it where that is true, so that a program sees the name its user knows.
///
/// # Errors
/// Where there is none any more.
pub(crate) fn here() -> Result<AbsPath, LaunchFault> {
    let canonical = std::env::current_dir().map_err(|error| {
        fault::system(LaunchStage::Usage, "tell the current directory", &error)
            .help("change to a directory that exists")
    })?;
    let spelt = std::env::var_os("PWD").map(PathBuf::from).filter(|spelt| is_same(spelt, &canonical));
    let spelt = spelt.and_then(|spelt| AbsPath::new(spelt).ok());
    spelt.map_or_else(|| clean("the current directory", canonical), Ok)
}

/// The directory that the value of `option` names. Links stay, except where `..` makes their meaning count.
///
/// # Errors
/// A path that is missing or no directory.
pub(crate) fn named(option: &str, here: &AbsPath, path: &Path) -> Result<AbsPath, LaunchFault> {
    let mut place = here.as_path().join(path);
    let unusable = |error: io::Error| {
        let doing = format!("use `{option} {}`", Text::from(path.as_os_str()));
        fault::system(LaunchStage::Usage, &doing, &error).help("name a directory that exists")
    };
    if !place.metadata().map_err(unusable)?.is_dir() {
        return Err(unusable(io::ErrorKind::NotADirectory.into()));
    }
    if place.components().any(|component| component == Component::ParentDir) {
        place = place.canonicalize().map_err(unusable)?;
    }
    clean(option, place)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok();
    one.is_absolute() && identity(one).is_some() && identity(one) == identity(other)
}

fn clean(what: &str, path: PathBuf) -> Result<AbsPath, LaunchFault> {
    AbsPath::new(path)
        .map_err(|error| fault::usage(format!("use {what}: {error}"), "name a directory that exists"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_as_spelt_and_dots_do_not() {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().canonicalize().unwrap().join("real");
        std::fs::create_dir_all(real.join("sub")).unwrap();
        std::os::unix::fs::symlink(&real, top.path().join("link")).unwrap();
        let here = AbsPath::new(top.path()).unwrap();
        let spelt = |path: &str| named("--cwd", &here, Path::new(path)).unwrap();
        assert_eq!(spelt("link"), here.join("link").unwrap());
        assert_eq!(spelt("link/sub/.."), AbsPath::new(&real).unwrap());
    }

    #[test]
    fn what_is_no_directory_is_named_with_its_option() {
        let here = AbsPath::new("/").unwrap();
        for path in ["/nope/x", "/etc/passwd"] {
            let fault = named("--workspace", &here, Path::new(path)).unwrap_err();
            assert!(fault.text.starts_with(&format!("use `--workspace {path}`: ")), "{}", fault.text);
            assert!(fault.help.is_some());
        }
    }
}
