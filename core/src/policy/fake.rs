//! A host in memory, for tests.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::resolve::{Request, ResolveError, Written, resolve};
use super::view::{FileType, Mount, Stat};
use super::{Access, Policy, PolicyFile, Source, View};
use crate::AbsPath;

#[derive(Clone, Debug)]
enum Node {
    Directory,
    File(Vec<u8>),
    Link(PathBuf),
    Other(FileType),
    Locked,
}

/// A tree of files, and the rest of what a [`View`] answers.
#[derive(Clone, Debug)]
pub(crate) struct Fake {
    nodes: BTreeMap<PathBuf, (Node, u32)>,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) listening: Vec<AbsPath>,
    pub(crate) variables: BTreeMap<String, OsString>,
    pub(crate) home: Option<AbsPath>,
    pub(crate) uid: u32,
    pub(crate) late: bool,
    /// The longest file that is read whole.
    pub(crate) longest: u64,
    /// Directories that the user may not search.
    pub(crate) closed: Vec<AbsPath>,
    /// Whether directories tell the types of their entries.
    pub(crate) typed: bool,
    /// How many system calls a real view would have made.
    pub(crate) calls: Cell<usize>,
}

pub(crate) fn abs(path: &str) -> AbsPath {
    AbsPath::new(path).unwrap()
}

/// A host with a home directory, a workspace in it, and the usual top.
pub(crate) fn host() -> Fake {
    let mut fake = Fake {
        nodes: BTreeMap::from([("/".into(), (Node::Directory, 0))]),
        mounts: vec![],
        listening: vec![],
        variables: BTreeMap::new(),
        home: Some(abs("/home/u")),
        uid: 1000,
        late: false,
        longest: u64::MAX,
        closed: vec![],
        typed: true,
        calls: Cell::new(0),
    };
    for path in ["/tmp", "/run", "/etc", "/usr/bin", "/dev", "/proc", "/home/u/ws"] {
        fake.directory(path);
    }
    fake.link("/bin", "usr/bin").link("/var/run", "/run").file("/etc/shadow", "").device("/dev/kvm");
    fake
}

impl Fake {
    fn put(&mut self, path: &str, node: Node) -> &mut Self {
        let path = Path::new(path);
        for above in path.ancestors().skip(1) {
            self.nodes.entry(above.into()).or_insert((Node::Directory, 1000));
        }
        self.nodes.insert(path.into(), (node, 1000));
        self
    }
    pub(crate) fn directory(&mut self, path: &str) -> &mut Self {
        self.put(path, Node::Directory)
    }
    pub(crate) fn file(&mut self, path: &str, text: &str) -> &mut Self {
        self.put(path, Node::File(text.into()))
    }
    pub(crate) fn bytes(&mut self, path: &str, bytes: Vec<u8>) -> &mut Self {
        self.put(path, Node::File(bytes))
    }
    pub(crate) fn link(&mut self, path: &str, target: &str) -> &mut Self {
        self.put(path, Node::Link(target.into()))
    }
    pub(crate) fn socket(&mut self, path: &str) -> &mut Self {
        self.put(path, Node::Other(FileType::Socket))
    }
    pub(crate) fn device(&mut self, path: &str) -> &mut Self {
        self.put(path, Node::Other(FileType::Device))
    }
    /// Something that may not be looked at.
    pub(crate) fn locked(&mut self, path: &str) -> &mut Self {
        self.put(path, Node::Locked)
    }
    pub(crate) fn owned(&mut self, path: &str, uid: u32) -> &mut Self {
        self.nodes.get_mut(Path::new(path)).unwrap().1 = uid;
        self
    }
    pub(crate) fn remove(&mut self, path: &str) -> &mut Self {
        self.nodes.retain(|known, _| !known.starts_with(path));
        self
    }
    /// A repository as `git init` leaves it.
    pub(crate) fn repository(&mut self, tree: &str) -> &mut Self {
        self.git_directory(&format!("{tree}/.git"))
    }
    pub(crate) fn git_directory(&mut self, git: &str) -> &mut Self {
        for name in ["hooks", "objects", "refs", "logs", "info"] {
            self.directory(&format!("{git}/{name}"));
        }
        self.file(&format!("{git}/HEAD"), "ref: refs/heads/main\n").file(&format!("{git}/config"), "")
    }

    /// As the kernel does: links of every parent are followed, the final one is not.
    fn locate(&self, path: &Path, depth: usize) -> io::Result<PathBuf> {
        self.calls.set(self.calls.get() + usize::from(depth == 0));
        if depth > 50 {
            return Err(io::Error::from_raw_os_error(40));
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok("/".into()) };
        let parent = self.locate(parent, depth + 1)?;
        match self.nodes.get(&parent).map(|(node, _)| node) {
            Some(Node::Directory) if name == ".." => Ok(parent.parent().unwrap_or(&parent).into()),
            Some(Node::Directory) => Ok(parent.join(name)),
            Some(Node::Link(target)) => {
                self.locate(&parent.parent().unwrap().join(target).join(name), depth + 1)
            }
            Some(Node::Locked) => Err(ErrorKind::PermissionDenied.into()),
            Some(_) => Err(ErrorKind::NotADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    fn node(&self, path: &AbsPath) -> io::Result<(PathBuf, &Node, u32)> {
        let place = self.locate(path.as_path(), 0)?;
        match self.nodes.get(&place) {
            Some((Node::Locked, _)) => Err(ErrorKind::PermissionDenied.into()),
            Some((node, uid)) => Ok((place, node, *uid)),
            None => Err(ErrorKind::NotFound.into()),
        }
    }
}

impl View for Fake {
    fn stat(&self, path: &AbsPath) -> io::Result<Stat> {
        let (place, node, uid) = self.node(path)?;
        let file = match node {
            Node::Directory => FileType::Directory,
            Node::File(_) => FileType::File,
            Node::Link(_) => FileType::Link,
            Node::Other(other) => *other,
            Node::Locked => unreachable!(),
        };
        // The same file by another mount has the same number.
        let alias = self.mounts.iter().rev().find(|mount| place.starts_with(mount.point.as_path()));
        let place = alias.map_or(place.clone(), |mount| {
            mount.root.join(place.strip_prefix(mount.point.as_path()).unwrap())
        });
        let inode = place
            .as_os_str()
            .as_encoded_bytes()
            .iter()
            .fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        Ok(Stat { file, device: 1, inode, uid })
    }
    fn read_link(&self, path: &AbsPath) -> io::Result<PathBuf> {
        match self.node(path)? {
            (_, Node::Link(target), _) => Ok(target.clone()),
            _ => Err(ErrorKind::InvalidInput.into()),
        }
    }
    fn list(&self, path: &AbsPath) -> io::Result<Vec<OsString>> {
        let (place, node, _) = self.node(path)?;
        if !matches!(node, Node::Directory) {
            return Err(ErrorKind::NotADirectory.into());
        }
        if self.closed.contains(path) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let below = self.nodes.range(place.clone()..).map(|(known, _)| known);
        let below = below.take_while(|known| known.starts_with(&place));
        let inside = below.filter(|known| known.parent() == Some(&place));
        Ok(inside.map(|known| known.file_name().unwrap().to_owned()).collect())
    }
    fn list_types(&self, path: &AbsPath) -> io::Result<Vec<(OsString, Option<FileType>)>> {
        let names = self.list(path)?;
        let file = |name: &OsString| match self.typed {
            true => self.stat(&path.join(name).ok()?).ok().map(|stat| stat.file),
            false => None,
        };
        Ok(names.into_iter().map(|name| (name.clone(), file(&name))).collect())
    }
    fn read(&self, path: &AbsPath) -> io::Result<Vec<u8>> {
        match self.node(path)? {
            (_, Node::File(text), _) => Ok(text.clone()),
            _ => Err(ErrorKind::InvalidInput.into()),
        }
    }
    fn read_whole(&self, path: &AbsPath, bound: u64) -> io::Result<Vec<u8>> {
        let text = self.read(path)?;
        if u64::try_from(text.len()).unwrap() > bound.min(self.longest) {
            Err(ErrorKind::FileTooLarge.into())
        } else {
            Ok(text)
        }
    }
    fn is_reachable(&self, path: &AbsPath) -> bool {
        !self.closed.iter().any(|closed| path != closed && path.is_within(closed))
    }
    fn mounts(&self) -> Vec<Mount> {
        self.mounts.clone()
    }
    fn listening(&self) -> Vec<AbsPath> {
        self.listening.clone()
    }
    fn home(&self) -> Option<AbsPath> {
        self.home.clone()
    }
    fn variable(&self, name: &str) -> Option<OsString> {
        self.variables.get(name).cloned()
    }
    fn uid(&self) -> u32 {
        self.uid
    }
    fn out_of_time(&self) -> bool {
        self.late
    }
}

/// The built-in policy `name` in the workspace `/home/u/ws`.
pub(crate) fn request(name: &str) -> Request {
    let file = PolicyFile::builtin(name).unwrap();
    Request {
        layers: vec![Written { file, base: AbsPath::root(), source: Source::BuiltIn }],
        workspaces: vec![abs("/home/u/ws")],
        workspaces_named: false,
        cwd: abs("/home/u/ws"),
        own_directories: vec![],
        own_files: vec![],
    }
}

pub(crate) fn workspace_write() -> Request {
    request("workspace-write")
}

impl Request {
    /// With a policy file in `/home/u/policies`, without its version.
    pub(crate) fn file(self, text: &str) -> Self {
        self.layer(text, Source::File(abs("/home/u/policies/p.toml")))
    }
    pub(crate) fn command_line(self, text: &str) -> Self {
        self.layer(text, Source::CommandLine)
    }
    pub(crate) fn grant(self, text: &str) -> Self {
        self.layer(text, Source::Grant)
    }
    fn layer(mut self, text: &str, source: Source) -> Self {
        let file = PolicyFile::parse(&format!("version = 1\n{text}"), super::file::Syntax::Toml).unwrap();
        let base = if matches!(source, Source::File(_)) { abs("/home/u/policies") } else { self.cwd.clone() };
        self.layers.push(Written { file, base, source });
        self
    }
    pub(crate) fn workspace(mut self, path: &str) -> Self {
        self.workspaces = vec![abs(path)];
        self.cwd = abs(path);
        self
    }
    pub(crate) fn on(&self, fake: &Fake) -> Result<Policy, ResolveError> {
        resolve(self, fake)
    }
}

impl Policy {
    pub(crate) fn at(&self, path: &str) -> Access {
        self.fs.access_at(&abs(path))
    }
    /// The reasons for which `entry` grants nothing.
    pub(crate) fn ignored(&self, entry: &str) -> String {
        let all = self.fs.not_granted.iter().filter(|one| one.entry == entry.into());
        all.map(|one| one.reason.to_string()).collect::<Vec<_>>().join("; ")
    }
}
