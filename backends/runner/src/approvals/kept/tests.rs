use super::*;
use crate::places::Places;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn place() -> (tempfile::TempDir, Place) {
    let top = tempfile::tempdir().unwrap();
    let home = top.path().as_os_str().to_owned();
    let place = Places::with(|name| (name == "HOME").then(|| home.clone())).make_state().unwrap();
    (top, place)
}

fn add(place: &Place, line: &str) -> Result<(), KeptError> {
    change(place, "list", |there| Ok((Some(format!("{}{line}\n", there.unwrap_or_default())), ())))
}

#[test]
fn what_is_written_is_read_and_belongs_to_the_user_alone() {
    let (_top, place) = place();
    assert_eq!(read(&place, "list").unwrap(), None);
    add(&place, "a").unwrap();
    add(&place, "b").unwrap();
    assert_eq!(read(&place, "list").unwrap().as_deref(), Some("a\nb\n"));
    let mode = path(&place, "list").as_path().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    assert_eq!(std::fs::read_dir(&place.path).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn links_special_files_and_loose_ones_are_refused_and_left_alone() {
    let (top, place) = place();
    let there = path(&place, "list");
    let other = top.path().join("other");
    std::fs::write(&other, "kept").unwrap();
    symlink(&other, &there).unwrap();
    assert!(matches!(add(&place, "x"), Err(KeptError::Special(_))));
    std::fs::remove_file(&there).unwrap();
    nix::unistd::mkfifo(there.as_path(), Mode::S_IRWXU).unwrap();
    assert!(matches!(add(&place, "x"), Err(KeptError::Special(_))));
    std::fs::remove_file(&there).unwrap();
    add(&place, "x").unwrap();
    std::fs::set_permissions(&there, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(add(&place, "y"), Err(KeptError::Loose { mode: 0o640, .. })));
    assert_eq!(std::fs::read_to_string(other).unwrap(), "kept");
    assert_eq!(std::fs::read_to_string(there).unwrap(), "x\n");
}

#[test]
fn a_refused_change_and_none_at_all_leave_the_file() {
    let (_top, place) = place();
    add(&place, "a").unwrap();
    let refused: Result<(), KeptError> =
        change(&place, "list", |_| Err(KeptError::Special(path(&place, "list"))));
    assert!(refused.is_err());
    let asked: Result<usize, KeptError> =
        change(&place, "list", |there| Ok((None, there.map_or(0, str::len))));
    assert_eq!(asked.unwrap(), 2);
    assert_eq!(read(&place, "list").unwrap().as_deref(), Some("a\n"));
}

#[test]
fn threads_lose_nothing_either() {
    let (_top, place) = place();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let place = &place;
            scope.spawn(move || (0..10).for_each(|round| add(place, &format!("{thread}-{round}")).unwrap()));
        }
    });
    assert_eq!(read(&place, "list").unwrap().unwrap().lines().count(), 80);
}
