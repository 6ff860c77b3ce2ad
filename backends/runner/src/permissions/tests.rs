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
fn a_link_is_read_and_not_followed() {
    let top = Top::new();
    top.file("seen/real/file", 0o644);
    top.file("secret/key", 0o644);
    symlink("real", top.at("seen/link").as_path()).unwrap();
    symlink(top.at("secret").as_path(), top.at("seen/out").as_path()).unwrap();
    symlink("../seen/./link/..", top.at("seen/back").as_path()).unwrap();
    symlink("loop", top.at("seen/loop").as_path()).unwrap();
    symlink("key", top.at("secret/inner").as_path()).unwrap();
    let link = |name: &str| here().link(&top.at(name));
    assert_eq!(link("seen/link"), Some("real".into()));
    assert_eq!(link("seen/out"), Some(top.at("secret").as_path().to_owned()));
    assert_eq!(link("seen/back"), Some("../seen/./link/..".into()));
    assert_eq!(link("seen/loop"), Some("loop".into()));
    assert_eq!([link("seen/real/file"), link("seen/nothing"), link("seen")], [None, None, None]);
    assert_eq!(link("seen/out/inner"), None, "no link on the way is followed");
}

#[test]
fn a_directory_is_not_executed_and_a_file_is_given_away_by_root_alone() {
    let top = Top::new();
    let file = top.file("d/file", 0o755);
    assert_eq!(here().allows(&top.at("d"), Attempt::Execute), Answer::Refused("EACCES"));
    assert_eq!(here().allows(&file, Attempt::Execute), Answer::Allowed);
    let ordinary = HostPermissions { user: Uid::from_raw(12345), ..here() };
    assert_eq!(ordinary.allows(&file, Attempt::Owner), Answer::Refused("EPERM"));
}

#[test]
fn without_capabilities_the_mode_counts_for_root_too() {
    if !Uid::effective().is_root() {
        return;
    }
    let top = Top::new();
    let (open, closed) = (top.file("open", 0o666), top.file("closed", 0o644));
    for path in [&open, &closed] {
        assert!(here().needs_no_privilege(path, Attempt::Write), "one's own");
        std::os::unix::fs::chown(path.as_path(), Some(12345), Some(12345)).unwrap();
    }
    assert!(here().needs_no_privilege(&open, Attempt::Write));
    assert!(!here().needs_no_privilege(&closed, Attempt::Write));
    assert!(here().needs_no_privilege(&closed, Attempt::Read));
    assert!(!here().needs_no_privilege(&open, Attempt::Metadata));
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
