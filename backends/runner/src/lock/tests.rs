use super::*;
use crate::places::Places;
use proptest::prelude::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};

const SHA: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn pin(name: &str) -> Pin {
    Pin {
        name: BackendName::new(name).unwrap(),
        path: AbsPath::new(format!("/opt/confine-backend-{name}")).unwrap(),
        sha256: Digest::new(SHA).unwrap(),
    }
}

fn text(version: &str, backends: &str, rest: &str) -> String {
    format!(r#"{{"version": {version}, "backends": [{backends}], "plugins": []{rest}}}"#)
}

fn entry(name: &str, path: &str, sha: &str) -> String {
    format!(r#"{{"name": "{name}", "path": "{path}", "sha256": "{sha}"}}"#)
}

#[test]
fn a_lock_is_read_and_written_alike() {
    let lock = Lock::parse(&text("1", &entry("jail", "/opt/confine-backend-jail", SHA), "")).unwrap();
    assert_eq!(lock.backends(), [pin("jail")]);
    assert_eq!(Lock::parse(&lock.encode()).unwrap(), lock);
    assert_eq!(Lock::parse(&text("1", "", "")).unwrap(), Lock::default());
}

#[test]
fn whatever_is_wrong_is_named() {
    let good = entry("jail", "/opt/x", SHA);
    for (wrong, named) in [
        (text("2", "", r#", "more": 1"#), "version 2 is unknown: this confine reads version 1"),
        (text("1.0", "", ""), "version 1.0 is unknown"),
        (text(r#""1""#, "", ""), "invalid type"),
        (text("1", &good, r#", "more": 1"#), "unknown field `more`"),
        (text("1", &good.replace("\"name\"", "\"id\""), ""), "unknown field `id`"),
        (text("1", &format!("{good}, {good}"), ""), "the backend `jail` is there twice"),
        (text("1", &entry("jail", "opt/x", SHA), ""), "`opt/x` is not an absolute path"),
        (text("1", &entry("jail", "/opt/../x", SHA), ""), "`/opt/../x` holds `..`"),
        (text("1", &entry("Jail", "/opt/x", SHA), ""), "`Jail` is no backend's name"),
        (text("1", &entry("../x", "/opt/x", SHA), ""), "`../x` is no backend's name"),
        (text("1", &entry("bwrap", "/opt/x", SHA), ""), "the name `bwrap` is confine's own"),
        (text("1", &entry("auto", "/opt/x", SHA), ""), "the name `auto` is confine's own"),
        (text("1", &entry("jail", "/opt/x", "00"), ""), "64 lower-case hexadecimal digits"),
        (text("1", &entry("jail", "/opt/x", &SHA.to_uppercase()), ""), "64 lower-case"),
        (r#"{"version": 1, "backends": []}"#.into(), "missing field `plugins`"),
        (r#"{"version": 1, "backends": [], "plugins": [{}]}"#.into(), "egress tools"),
        (r#"{"version": 1, "version": 1, "backends": [], "plugins": []}"#.into(), "duplicate field"),
        (r#"{"backends": [], "plugins": []}"#.into(), "missing field `version`"),
        (text("1", &good, "") + "{}", "trailing characters"),
        (String::new(), "EOF"),
    ] {
        let error = Lock::parse(&wrong).unwrap_err().to_string();
        assert!(error.contains(named), "{wrong}: {error}");
    }
}

#[test]
fn backends_stay_in_the_order_of_their_names_and_each_has_one_pin() {
    let mut lock = Lock::default();
    for name in ["podman", "nsjail", "z", "a", "nsjail"] {
        lock.insert(pin(name));
    }
    let names: Vec<String> = lock.backends().iter().map(|pin| pin.name.to_string()).collect();
    assert_eq!(names, ["a", "nsjail", "podman", "z"]);
    let name = BackendName::new("nsjail").unwrap();
    assert_eq!(lock.remove(&name), Some(pin("nsjail")));
    assert_eq!((lock.remove(&name), lock.backend(&name)), (None, None));
}

#[test]
fn a_backend_s_name_is_that_of_its_file() {
    assert_eq!(BackendName::of_file("confine-backend-jail".as_ref()), BackendName::new("jail"));
    assert_eq!(BackendName::new("jail").unwrap().file(), "confine-backend-jail");
    for wrong in
        ["jail", "confine-backend-", "confine-backend-J", "confine-backend-jail.py", "confine-backend-auto"]
    {
        assert!(BackendName::of_file(wrong.as_ref()).is_err(), "{wrong}");
    }
}

fn places() -> (tempfile::TempDir, Places) {
    let top = tempfile::tempdir().unwrap();
    let home = top.path().as_os_str().to_owned();
    let places = Places::with(move |name| (name == "HOME").then(|| home.clone()));
    (top, places)
}

#[test]
fn nothing_is_made_by_reading_and_what_is_written_is_private_and_whole() {
    let (top, places) = places();
    assert_eq!(Lock::read(&places).unwrap(), Lock::default());
    assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0);
    assert_eq!(Lock::change(&places, |lock| lock.insert(pin("jail"))).unwrap(), None);
    assert_eq!(Lock::change(&places, |lock| lock.insert(pin("other"))).unwrap(), None);
    assert_eq!(Lock::read(&places).unwrap().backends(), [pin("jail"), pin("other")]);
    let directory = top.path().join(".config/confine");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&directory), mode(&directory.join(FILE))), (0o700, 0o600));
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn changes_at_the_same_time_are_all_kept() {
    let (_top, places) = places();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let places = &places;
            scope
                .spawn(move || Lock::change(places, |lock| lock.insert(pin(&format!("b{number}")))).unwrap());
        }
    });
    assert_eq!(Lock::read(&places).unwrap().backends().len(), 8);
}

#[test]
fn a_lock_that_others_may_write_a_link_and_garbage_are_refused_and_left_as_they_are() {
    let (top, places) = places();
    Lock::change(&places, |lock| lock.insert(pin("jail"))).unwrap();
    let file = top.path().join(".config/confine").join(FILE);
    let written = std::fs::read_to_string(&file).unwrap();
    let mode = |bits| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(bits)).unwrap();
    mode(0o620);
    assert!(matches!(Lock::read(&places), Err(LockFileError::Loose(_))));
    mode(0o600);
    std::fs::write(&file, "{").unwrap();
    assert!(matches!(Lock::change(&places, |lock| lock.insert(pin("x"))), Err(LockFileError::Parse { .. })));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
    let moved = file.with_extension("moved");
    std::fs::write(&moved, written).unwrap();
    std::fs::remove_file(&file).unwrap();
    symlink(&moved, &file).unwrap();
    assert!(matches!(Lock::read(&places), Err(LockFileError::Special(_))));
}

#[test]
fn a_stranger_s_lock_is_refused() {
    if !nix::unistd::Uid::effective().is_root() {
        return eprintln!("SKIP a_stranger_s_lock_is_refused: needs root to give files away");
    }
    let (top, places) = places();
    Lock::change(&places, |lock| lock.insert(pin("jail"))).unwrap();
    let file = top.path().join(".config/confine").join(FILE);
    std::os::unix::fs::chown(file, Some(12345), None).unwrap();
    assert!(matches!(Lock::read(&places), Err(LockFileError::Owner { owner: 12345, .. })));
}

proptest! {
    #[test]
    fn no_text_panics_and_what_is_read_is_written_alike(
        noise: String,
        at in 0_usize..200,
        byte: char,
    ) {
        let mut spoilt = text("1", &entry("jail", "/opt/x", SHA), "");
        let at = at.min(spoilt.len() - 1);
        spoilt.replace_range(at..=at, byte.encode_utf8(&mut [0; 4]));
        for text in [noise, spoilt] {
            if let Ok(lock) = Lock::parse(&text) {
                prop_assert_eq!(Lock::parse(&lock.encode()).unwrap(), lock);
            }
        }
    }

    #[test]
    fn a_name_is_a_safe_file_name(word: String) {
        if let Ok(name) = BackendName::new(word) {
            let file = name.file();
            prop_assert!(file.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
            prop_assert_eq!(BackendName::of_file(file.as_ref()), Ok(name));
        }
    }
}
