use super::*;
use crate::facts;
use crate::find::Find;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn places(top: &Path) -> Places {
    let top = top.to_owned();
    Places::with(move |name| (name == "HOME").then(|| OsString::from(&top)))
}

fn entry(probe: &Probe) -> Entry {
    let refused = Word {
        launch: Err(Unusable::new("it fails", "mend it")),
        program: None,
        contradicted: BTreeMap::new(),
    };
    let wrong = BTreeMap::from([(Effect::FsWrite, Reason::new("the attempt succeeded"))]);
    let contradicted = Word { launch: Ok(()), program: None, contradicted: wrong };
    let backends = BTreeMap::from([("bwrap".to_owned(), refused), ("landlock".to_owned(), contradicted)]);
    Entry { version: VERSION, key: Key::here(probe), backends }
}

fn recalled(places: &Places, probe: &Probe) -> Recalled {
    Recalled::here(places, probe, &Registry::default())
}

fn kept(top: &Path, entry: &Entry) -> Places {
    let places = places(top);
    write(&places.make_state().unwrap(), entry).unwrap();
    places
}

#[test]
fn what_was_found_is_recalled_on_the_same_host_only() {
    let top = tempfile::tempdir().unwrap();
    let probe = facts::probe(&Find::here());
    let places = kept(top.path(), &entry(&probe));
    let found = recalled(&places, &probe);
    assert!(found.doubts());
    let noted = found.noted(probe.clone());
    let unusable = noted.launches.get("bwrap").unwrap().as_ref().unwrap_err();
    assert_eq!(unusable.remedy.as_ref().unwrap().to_string(), format!("mend it; {AGAIN}"));
    let other = Probe { kernel: "1.0".into(), ..probe.clone() };
    assert_eq!(recalled(&places, &other), Recalled::default());
    let mut moved = entry(&probe);
    moved.key.programs.iter_mut().flatten().for_each(|program| program.inode += 1);
    if moved != entry(&probe) {
        assert_eq!(recalled(&kept(top.path(), &moved), &probe), Recalled::default());
    }
}

#[test]
fn the_file_is_private_and_one_that_is_not_does_not_count() {
    let top = tempfile::tempdir().unwrap();
    let probe = facts::probe(&Find::here());
    let places = kept(top.path(), &entry(&probe));
    let file = top.path().join(".local/state/confine").join(FILE);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(recalled(&places, &probe), Recalled::default());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_ne!(recalled(&places, &probe), Recalled::default(), "the twin");
    if Uid::effective().is_root() {
        std::os::unix::fs::chown(&file, Some(12345), None).unwrap();
        assert_eq!(recalled(&places, &probe), Recalled::default(), "somebody else's");
    }
}

#[test]
fn a_launch_that_fails_against_the_word_drops_the_entry() {
    let top = tempfile::tempdir().unwrap();
    let probe = facts::probe(&Find::here());
    let places = kept(top.path(), &entry(&probe));
    let report = |backend: &str, stage| {
        let report = crate::unstarted(&[], None, None, LaunchFault::new(stage, ""));
        Report { backend: Some(BackendId::new(backend)), ..report }
    };
    let there = || top.path().join(".local/state/confine").join(FILE).exists();
    doubt(&places, &report("bwrap", LaunchStage::Namespace));
    assert!(there(), "it said so");
    doubt(&places, &report("landlock", LaunchStage::Policy));
    assert!(there(), "the call was wrong");
    doubt(&places, &report("landlock", LaunchStage::Landlock));
    assert!(!there());
}

proptest::proptest! {
    #[test]
    fn no_file_panics(bytes: Vec<u8>) {
        let top = tempfile::tempdir().unwrap();
        let places = places(top.path());
        let state = places.make_state().unwrap();
        std::fs::write(state.path.join(FILE).unwrap(), bytes).unwrap();
        read(&state);
    }
}

#[test]
fn what_is_no_file_of_that_one_name_does_not_count_and_is_not_waited_for() {
    let top = tempfile::tempdir().unwrap();
    let probe = facts::probe(&Find::here());
    let places = kept(top.path(), &entry(&probe));
    let state = top.path().join(".local/state/confine");
    let (file, other) = (state.join(FILE), state.join("other"));
    assert_ne!(recalled(&places, &probe), Recalled::default(), "the twin");
    std::fs::hard_link(&file, &other).unwrap();
    assert_eq!(recalled(&places, &probe), Recalled::default(), "it has another name");
    std::fs::remove_file(&file).unwrap();
    nix::unistd::mkfifo(&file, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    assert_eq!(recalled(&places, &probe), Recalled::default(), "a FIFO");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(recalled(&places, &probe), Recalled::default(), "a directory");
}

#[test]
fn a_word_about_a_program_of_others_is_about_that_program() {
    let top = tempfile::tempdir().unwrap();
    let probe = facts::probe(&Find::here());
    let pinned = |digit: &str| {
        let pin = crate::lock::Pin {
            name: crate::lock::BackendName::new("other").unwrap(),
            path: confine_core::AbsPath::new("/usr/bin/confine-backend-other").unwrap(),
            sha256: crate::lock::Digest::new(digit.repeat(64)).unwrap(),
        };
        let other: Box<dyn Backend> = Box::new(crate::foreign::Foreign::new(pin));
        Registry::default().with_named([other])
    };
    let word = Word {
        launch: Err(Unusable::new("it fails", "mend it")),
        program: Some("a".repeat(64)),
        contradicted: BTreeMap::new(),
    };
    let backends = BTreeMap::from([("other".to_owned(), word)]);
    let places = kept(top.path(), &Entry { backends, ..entry(&probe) });
    let recalled = |registry: &Registry| Recalled::here(&places, &probe, registry);
    assert!(recalled(&pinned("a")).launches.contains_key("other"), "the twin");
    assert_eq!(recalled(&pinned("b")), Recalled::default(), "another program is pinned by that name");
    assert_eq!(recalled(&Registry::default()), Recalled::default(), "none is");
}
