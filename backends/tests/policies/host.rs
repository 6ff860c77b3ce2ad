//! A host in memory, and the built-in policy resolved on it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use confine_core::AbsPath;
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::view::{FileType, Mount, Stat};
use confine_core::policy::{Policy, PolicyFile, Source, View};

struct Host(BTreeMap<AbsPath, FileType>);

/// A home directory with secrets, and a workspace with a repository in it.
const FILES: &[&str] = &[
    "/etc/shadow",
    "/home/u/.netrc",
    "/home/u/.ssh/id",
    "/home/u/ws/.envrc",
    "/home/u/ws/.git/HEAD",
    "/home/u/ws/.git/config",
    "/home/u/ws/.git/hooks/pre-commit",
    "/home/u/ws/.git/objects/x",
    "/home/u/ws/.git/refs/x",
    "/home/u/ws/src/main.rs",
    "/run/user/x",
    "/tmp/x",
    "/usr/libexec/confine/confine-stage",
];

fn path(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

impl Host {
    fn new() -> Self {
        let mut files = BTreeMap::new();
        for file in FILES.iter().map(|file| path(file)) {
            files.extend(file.ancestors().skip(1).map(|above| (above, FileType::Directory)));
            files.insert(file, FileType::File);
        }
        files.insert(path("/run/bus"), FileType::Socket);
        files.insert(path("/var/service"), FileType::Socket);
        files.insert(path("/var"), FileType::Directory);
        Self(files)
    }

    fn file(&self, path: &AbsPath) -> io::Result<FileType> {
        self.0.get(path).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl View for Host {
    fn stat(&self, path: &AbsPath) -> io::Result<Stat> {
        let inode = self.0.keys().position(|known| known == path).and_then(|n| u64::try_from(n).ok());
        Ok(Stat { file: self.file(path)?, device: 1, inode: inode.unwrap_or(0), uid: 1000 })
    }

    fn read_link(&self, _: &AbsPath) -> io::Result<PathBuf> {
        Err(ErrorKind::InvalidInput.into())
    }

    fn list(&self, path: &AbsPath) -> io::Result<Vec<OsString>> {
        self.file(path)?;
        let below = self.0.keys().filter(|known| known.parent().as_ref() == Some(path));
        Ok(below.filter_map(|known| Some(known.as_path().file_name()?.to_owned())).collect())
    }

    fn read(&self, path: &AbsPath) -> io::Result<Vec<u8>> {
        self.file(path).map(|_| Vec::new())
    }

    fn mounts(&self) -> Vec<Mount> {
        Vec::new()
    }

    fn listening(&self) -> Vec<AbsPath> {
        vec![path("/run/bus"), path("/var/service")]
    }

    fn home(&self) -> Option<AbsPath> {
        Some(path("/home/u"))
    }

    fn variable(&self, _: &str) -> Option<OsString> {
        None
    }

    fn uid(&self) -> u32 {
        1000
    }

    fn out_of_time(&self) -> bool {
        false
    }
}

/// `workspace-write`, in the workspace.
pub(crate) fn built_in() -> Policy {
    let file = PolicyFile::builtin("workspace-write").unwrap();
    let request = Request {
        layers: vec![Written { file, base: path("/home/u/ws"), source: Source::BuiltIn }],
        workspaces: vec![path("/home/u/ws")],
        workspaces_named: false,
        cwd: path("/home/u/ws"),
        own_directories: Vec::new(),
        own_files: Vec::new(),
    };
    resolve(&request, &Host::new()).unwrap()
}
