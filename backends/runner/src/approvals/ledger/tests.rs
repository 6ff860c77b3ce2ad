use super::*;
use crate::places::Places;

fn place() -> (tempfile::TempDir, Place) {
    let top = tempfile::tempdir().unwrap();
    let home = top.path().as_os_str().to_owned();
    let place = Places::with(|name| (name == "HOME").then(|| home.clone())).make_state().unwrap();
    (top, place)
}

fn session() -> SessionId {
    SessionId::new("S").unwrap()
}

fn open(place: &Place) -> Ledger {
    Ledger::open(place, &session(), Opening::Write).unwrap().unwrap()
}

fn head(sequence: u64) -> Head {
    Head { sequence, ..Head::start(&session()) }
}

fn lines(ledger: &mut Ledger) -> Result<String, LedgerError> {
    let news = ledger.hold()?.news()?;
    Ok(String::from_utf8(news.lines).unwrap())
}

#[test]
fn what_one_writer_adds_another_sees_once() {
    let (_top, place) = place();
    let (mut one, mut two) = (open(&place), open(&place));
    one.hold().unwrap().append(b"a\n", head(1)).unwrap();
    assert_eq!(lines(&mut two).unwrap(), "a\n");
    let mut held = two.hold().unwrap();
    held.news().unwrap();
    held.append(b"b\nc\n", head(3)).unwrap();
    drop(held);
    assert_eq!(lines(&mut one).unwrap(), "b\nc\n");
    assert_eq!(lines(&mut one).unwrap(), "");
    assert_eq!(one.read_mark().unwrap(), Mark { head: head(3), length: 6 });
    assert_eq!(lines(&mut open(&place)).unwrap(), "a\nb\nc\n");
}

#[test]
fn a_torn_line_past_the_head_gives_way_and_whole_ones_count() {
    let (_top, place) = place();
    open(&place).hold().unwrap().append(b"a\n", head(1)).unwrap();
    let mut file = File::options().append(true).open(kept::path(&place, "S.jsonl")).unwrap();
    file.write_all(b"b\nto").unwrap();
    let mut ledger = open(&place);
    let mut held = ledger.hold().unwrap();
    let news = held.news().unwrap();
    assert_eq!((news.lines.as_slice(), news.torn), (&b"a\nb\n"[..], 2));
    held.append(b"c\n", head(3)).unwrap();
    drop(held);
    assert_eq!(lines(&mut open(&place)).unwrap(), "a\nb\nc\n");
}

#[test]
fn a_cut_a_missing_half_and_a_garbled_head_are_errors_and_stay() {
    let (_top, place) = place();
    let (log, mark) = (kept::path(&place, "S.jsonl"), kept::path(&place, "S.head"));
    open(&place).hold().unwrap().append(b"aaaa\nbbbb\n", head(2)).unwrap();
    for length in [0, 5, 9] {
        let file = File::options().write(true).open(&log).unwrap();
        file.set_len(length).unwrap();
        let refused = lines(&mut open(&place)).unwrap_err();
        assert!(matches!(refused, LedgerError::Shorter { expected: 10, .. }), "{refused}");
        assert_eq!(log.as_path().metadata().unwrap().len(), length, "it stays as it is");
        std::fs::write(&log, "aaaa\nbbbb\n").unwrap();
    }
    std::fs::remove_file(&log).unwrap();
    assert!(
        matches!(Ledger::open(&place, &session(), Opening::Write), Err(LedgerError::Missing(path)) if path == log)
    );
    let record = std::fs::read(&mark).unwrap();
    std::fs::remove_file(&mark).unwrap();
    assert!(Ledger::open(&place, &session(), Opening::Read).unwrap().is_none());
    open(&place);
    std::fs::remove_file(&mark).unwrap();
    assert!(
        matches!(Ledger::open(&place, &session(), Opening::Write), Err(LedgerError::Missing(path)) if path == mark)
    );
    std::fs::write(&mark, &record[..20]).unwrap();
    std::fs::set_permissions(&mark, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert!(matches!(Ledger::open(&place, &session(), Opening::Write), Err(LedgerError::Garbled(_))));
}

#[test]
fn a_full_disk_leaves_the_log_as_it_was() {
    if !nix::unistd::Uid::effective().is_root() {
        return eprintln!(
            "SKIP a_full_disk_leaves_the_log_as_it_was: needs root to mount a small file system"
        );
    }
    let small = Small::mount("64k");
    let home = small.0.path().as_os_str().to_owned();
    let place = Places::with(|name| (name == "HOME").then(|| home.clone())).make_state().unwrap();
    let mut ledger = open(&place);
    let mut line = vec![b'x'; 16 * 1024];
    line.push(b'\n');
    let mut written = 0;
    let refused = loop {
        let mut held = ledger.hold().unwrap();
        held.news().unwrap();
        match held.append(&line, head(written + 1)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(refused.to_string().contains("No space left"), "{refused}");
    assert!(written > 0);
    let length = written * u64::try_from(line.len()).unwrap();
    assert_eq!(ledger.log.metadata().unwrap().len(), length);
    assert_eq!(ledger.read_mark().unwrap().length, length);
    ledger.hold().unwrap().append(b"y\n", head(written + 1)).unwrap();
}

/// A file system of its own, unmounted at the end.
struct Small(tempfile::TempDir);

impl Small {
    fn mount(size: &str) -> Self {
        let top = tempfile::tempdir().unwrap();
        let options = format!("size={size},mode=700");
        nix::mount::mount(
            Some("tmpfs"),
            top.path(),
            Some("tmpfs"),
            nix::mount::MsFlags::empty(),
            Some(options.as_str()),
        )
        .unwrap();
        Self(top)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = nix::mount::umount2(self.0.path(), nix::mount::MntFlags::MNT_DETACH);
    }
}
