use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

struct Top(tempfile::TempDir);

impl Top {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    fn at(&self, name: &str) -> AbsPath {
        AbsPath::new(self.0.path().canonicalize().unwrap().join(name)).unwrap()
    }
    fn file(&self, name: &str, mode: u32) -> AbsPath {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap().as_path()).unwrap();
        fs::write(path.as_path(), "").unwrap();
        fs::set_permissions(path.as_path(), fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

fn here() -> HostPermissions {
    HostPermissions::here(true)
}

#[test]
fn what_is_there_is_asked_and_what_is_not_is_missing_or_could_be_made() {
    let top = Top::new();
    let file = top.file("a/file", 0o644);
    let new = top.at("a/new");
    let far = top.at("none/new");
    let rows = [
        (&file, Attempt::Read, Answer::Allowed),
        (&file, Attempt::Write, Answer::Allowed),
        (&file, Attempt::Metadata, Answer::Allowed),
        (&file, Attempt::Remove, Answer::Allowed),
        (&file, Attempt::Execute, Answer::Refused("EACCES")),
        (&new, Attempt::Read, Answer::Missing),
        (&new, Attempt::Remove, Answer::Missing),
        (&new, Attempt::Create, Answer::Allowed),
        (&new, Attempt::MakeDirectory, Answer::Allowed),
        (&far, Attempt::Create, Answer::Missing),
        (&far, Attempt::Read, Answer::Missing),
    ];
    for (path, attempt, answer) in rows {
        assert_eq!(here().allows(path, attempt), answer, "{attempt:?} {path}");
    }
    assert_eq!(here().exists(&file), Some(true));
    assert_eq!(here().exists(&far), Some(false));
    assert_eq!(here().exists(&AbsPath::root()), Some(true));
}

#[test]
fn links_are_followed_where_the_program_sees_them_and_nowhere_else() {
    let top = Top::new();
    top.file("seen/real/file", 0o644);
    top.file("secret/key", 0o644);
    symlink("real", top.at("seen/link").as_path()).unwrap();
    symlink(top.at("secret").as_path(), top.at("seen/out").as_path()).unwrap();
    symlink("../seen/./link/..", top.at("seen/back").as_path()).unwrap();
    symlink("loop", top.at("seen/loop").as_path()).unwrap();
    symlink("key", top.at("secret/inner").as_path()).unwrap();
    let shown = |path: &AbsPath| !path.is_within(&top.at("secret"));
    let located = |name: &str| here().located(&top.at(name), &shown);
    assert_eq!(located("seen/link/file"), top.at("seen/real/file"));
    assert_eq!(located("seen/back/real/file"), top.at("seen/real/file"));
    assert_eq!(located("seen/nothing/x"), top.at("seen/nothing/x"));
    assert_eq!(located("seen/loop/x"), top.at("seen/loop/x"), "as written");
    // Into what is hidden the words go on, and no look does: `inner` is a link there.
    assert_eq!(located("seen/out/inner"), top.at("secret/inner"));
}

#[test]
fn a_link_on_the_way_is_never_followed_by_a_question() {
    let top = Top::new();
    top.file("real/file", 0o644);
    symlink("real", top.at("link").as_path()).unwrap();
    assert_eq!(here().allows(&top.at("link/file"), Attempt::Read), Answer::Unknown);
    assert_eq!(here().exists(&top.at("link/file")), Some(false));
}

#[test]
fn processes_are_asked_with_no_signal() {
    let own = i32::try_from(std::process::id()).unwrap();
    assert_eq!(here().acts(Attempt::Signal, &Object::Process(own)), Answer::Allowed);
    assert_eq!(here().acts(Attempt::Signal, &Object::Process(i32::MAX)), Answer::Missing);
}
