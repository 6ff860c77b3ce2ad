use super::*;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{PolicyFile, Source};
use nix::unistd::mkfifo;

fn at(path: &Path) -> AbsPath {
    AbsPath::new(path).unwrap()
}

fn directory() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

#[test]
fn each_kind_of_file_is_told_apart_and_only_regular_files_are_read() {
    let (_keep, top) = directory();
    std::fs::write(top.join("file"), "text").unwrap();
    std::fs::create_dir(top.join("directory")).unwrap();
    symlink("file", top.join("link")).unwrap();
    mkfifo(&top.join("fifo"), Mode::S_IRWXU).unwrap();
    let _listener = UnixListener::bind(top.join("socket")).unwrap();
    let view = HostView::with([]);
    let kind = |name: &str| view.stat(&at(&top.join(name))).unwrap().file;
    assert_eq!(
        ["file", "directory", "link", "fifo", "socket"].map(kind),
        [FileType::File, FileType::Directory, FileType::Link, FileType::Fifo, FileType::Socket]
    );
    assert_eq!(kind("/dev/null"), FileType::Device);
    assert_eq!(view.read(&at(&top.join("file"))).unwrap(), b"text");
    for name in ["directory", "link", "fifo", "socket", "/dev/null"] {
        assert!(view.read(&at(&top.join(name))).is_err(), "{name}");
    }
    assert!(view.listening().contains(&at(&top.join("socket"))));
}

#[test]
fn a_listing_has_every_name_and_follows_no_link() {
    let (_keep, top) = directory();
    let odd = OsString::from_vec(vec![b'a', 0xff, b'\n']);
    std::fs::create_dir(top.join("d")).unwrap();
    std::fs::write(top.join("d").join(&odd), "").unwrap();
    symlink("d", top.join("link")).unwrap();
    let view = HostView::with([]);
    assert_eq!(view.list(&at(&top.join("d"))).unwrap(), [odd]);
    assert!(view.list(&at(&top.join("link"))).is_err());
    assert_eq!(view.read_link(&at(&top.join("link"))).unwrap(), Path::new("d"));
}

#[test]
fn a_listing_tells_types_as_a_look_does() {
    let (_keep, top) = directory();
    std::fs::write(top.join("file"), "text").unwrap();
    std::fs::create_dir(top.join("directory")).unwrap();
    symlink("directory", top.join("link")).unwrap();
    mkfifo(&top.join("fifo"), Mode::S_IRWXU).unwrap();
    let _listener = UnixListener::bind(top.join("socket")).unwrap();
    let view = HostView::with([]);
    let listed = view.list_types(&at(&top)).unwrap();
    assert_eq!(listed.len(), 5);
    for (name, file) in listed {
        assert_eq!(file, Some(view.stat(&at(&top.join(&name))).unwrap().file), "{name:?}");
    }
    let devices = view.list_types(&at(Path::new("/dev"))).unwrap();
    assert!(devices.contains(&("null".into(), Some(FileType::Device))));
}

#[test]
fn plain_files_count_towards_no_bound() {
    let (_keep, top) = directory();
    for number in 0..25_000 {
        File::create(top.join(format!("f{number}"))).unwrap();
    }
    let root = at(&top);
    let file = PolicyFile::builtin("workspace-write").unwrap();
    let request = Request {
        layers: vec![Written { file, base: root.clone(), source: Source::BuiltIn }],
        workspaces: vec![root.clone()],
        workspaces_named: true,
        cwd: root,
        own_directories: Vec::new(),
        own_files: Vec::new(),
    };
    assert_eq!(resolve(&request, &HostView::here()).map(drop), Ok(()));
}

#[test]
fn only_the_beginning_of_a_file_is_read() {
    let (_keep, top) = directory();
    std::fs::write(top.join("file"), vec![b'x'; 10_000]).unwrap();
    assert_eq!(HostView::with([]).read(&at(&top.join("file"))).unwrap().len(), 4096);
}

#[test]
fn home_is_the_variable_or_else_the_user_database() {
    let view = HostView::with([("HOME".into(), "/a/b/".into())]);
    assert_eq!(view.home(), Some(AbsPath::new("/a/b").unwrap()));
    let root = home(Some(OsStr::new("relative")), Uid::from_raw(0));
    assert_eq!(root, Some(AbsPath::new("/root").unwrap()), "a relative one says nothing");
}

#[test]
fn missing_and_forbidden_are_different_errors() {
    let view = HostView::with([]);
    let missing = view.stat(&AbsPath::new("/nonexistent/x").unwrap()).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    assert!(view.mounts().iter().any(|mount| mount.point == AbsPath::root()));
    assert!(!view.out_of_time());
}
