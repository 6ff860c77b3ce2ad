use super::*;
use crate::places::Places;
use proptest::prelude::*;
use std::os::unix::ffi::OsStringExt as _;

proptest! {
    #[test]
    fn no_text_panics(text: Vec<u8>) {
        parse(&text);
    }

    #[test]
    fn a_cut_entry_is_read_up_to_the_cut(cut in 0usize..400) {
        let entry = Entry { precreated: vec![AbsPath::root()], ..Entry::of("r") };
        let mut text = serde_json::to_vec(&entry).unwrap();
        let length = text.len();
        text.extend_from_slice(b"\n{\"path\":\"/a\",\"identity\":{\"device\":1,\"inode\":2}}\n");
        let account = parse(&text[..cut.min(text.len())]);
        prop_assert_eq!(account.is_some(), cut >= length);
        if let Some(account) = account {
            prop_assert_eq!(account.entry, entry);
        }
    }
}

#[test]
fn names_that_are_not_utf8_survive() {
    let path =
        AbsPath::new(std::path::PathBuf::from(std::ffi::OsString::from_vec(b"/a\xff".to_vec()))).unwrap();
    let entry = Entry { precreated: vec![path], ..Entry::of("r") };
    let text = serde_json::to_vec(&entry).unwrap();
    assert_eq!(parse(&text).unwrap().entry, entry);
}

/// A state directory, and the names in it.
fn state(top: &tempfile::TempDir) -> Place {
    open(&AbsPath::new(top.path().canonicalize().unwrap().join("state")).unwrap())
}

fn open(path: &AbsPath) -> Place {
    Places { state: Some(path.clone()), ..Places::default() }.make_state().unwrap()
}

fn inode(journal: &Journal) -> u64 {
    fstat(&journal.file).unwrap().st_ino
}

#[test]
fn a_struck_file_is_the_next_entry_and_nothing_else() {
    let top = tempfile::tempdir().unwrap();
    let state = state(&top);
    let mut long = Entry::of("long");
    long.precreated = (0..100).map(|number| AbsPath::new(format!("/ws/{number}")).unwrap()).collect();
    let first = Journal::write(&state, &long).unwrap();
    let file = inode(&first);
    first.strike();
    assert!(all(&state).is_empty() && dead(&state).is_empty(), "a spare file is no entry");

    let second = Journal::write(&state, &Entry::of("short")).unwrap();
    assert_eq!(inode(&second), file, "it is used again");
    let accounts = alive(&state, "");
    assert_eq!(accounts.len(), 1);
    assert_eq!(accounts[0].entry, Entry::of("short"), "and holds nothing of what it held");
    assert!(accounts[0].made.is_empty());
}

#[test]
fn a_spare_file_that_somebody_holds_is_left_to_him() {
    let top = tempfile::tempdir().unwrap();
    let state = state(&top);
    let first = Journal::write(&state, &Entry::of("one")).unwrap();
    let file = inode(&first);
    first.strike();
    let held = File::open(state.path.as_path().join("runs/spare")).unwrap();
    held.lock().unwrap();
    let second = Journal::write(&state, &Entry::of("two")).unwrap();
    assert_ne!(inode(&second), file);
    drop(held);
    let third = Journal::write(&state, &Entry::of("three")).unwrap();
    assert_eq!(inode(&third), file, "the twin: free again");
    assert_eq!(alive(&state, "").len(), 2);
}

#[test]
fn many_writers_at_once_never_share_a_file() {
    let top = tempfile::tempdir().unwrap();
    let path = state(&top).path;
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = path.clone();
            scope.spawn(move || {
                for round in 0..100 {
                    let state = open(&path);
                    let run = format!("{writer}-{round}");
                    let journal = Journal::write(&state, &Entry::of(&run)).unwrap();
                    let text = std::fs::read(path.as_path().join(format!("runs/{run}.jsonl"))).unwrap();
                    assert_eq!(parse(&text).unwrap().entry.run, run);
                    assert!(is_named(&journal.runs, &journal.name, &journal.file));
                    journal.strike();
                    // What a sweeper sees in between.
                    let dead = dead(&state);
                    assert!(dead.is_empty(), "{dead:?}");
                }
            });
        }
    });
}

#[test]
fn what_is_called_spare_and_is_no_file_of_ours_alone_is_left_and_nothing_stays_owed() {
    let top = tempfile::tempdir().unwrap();
    let state = state(&top);
    let runs = state.make_below(RUNS).unwrap().path.as_path().to_owned();
    let (spare, kept) = (runs.join(SPARE), top.path().join("kept"));
    std::fs::write(&kept, "kept").unwrap();
    let fifo = |path: &std::path::Path| nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let kinds: [(&str, &dyn Fn()); 3] = [
        ("a FIFO", &|| fifo(&spare)),
        ("a hard link", &|| std::fs::hard_link(&kept, &spare).unwrap()),
        ("a directory", &|| std::fs::create_dir(&spare).unwrap()),
    ];
    for (kind, make) in kinds {
        make();
        let before = spare.symlink_metadata().unwrap().ino();
        let journal = Journal::write(&state, &Entry::of("run")).unwrap();
        assert_ne!(inode(&journal), before, "{kind}");
        assert_eq!(spare.symlink_metadata().unwrap().ino(), before, "{kind}: it stays");
        journal.strike();
        assert!(all(&state).is_empty(), "{kind}: the entry is gone");
        assert!(!runs.join("run.jsonl").exists(), "{kind}");
        let _ = std::fs::remove_file(&spare).or_else(|_| std::fs::remove_dir(&spare));
    }
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept");
}
