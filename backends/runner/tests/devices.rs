//! Root's bwrap is started in a mount namespace around it, which must show what the host shows and keep nothing.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test reports by panicking")]

mod harness;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use confine_core::Verdict;
use harness::scene;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

/// A file system of its own, as long as it lives.
struct Mounted(PathBuf);

impl Mounted {
    fn at(path: &Path) -> Self {
        let nothing: Option<&str> = None;
        mount(Some("confine-test"), path, Some("tmpfs"), MsFlags::empty(), nothing).unwrap();
        Self(path.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

/// Whether any thread of this process still has it.
fn is_kept(path: &Path) -> bool {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let tables = threads.filter_map(|thread| fs::read_to_string(thread.path().join("mountinfo")).ok());
    tables.into_iter().any(|table| table.contains(path.to_str().unwrap()))
}

#[tokio::test(flavor = "current_thread")]
async fn what_the_host_mounts_is_shown_and_what_it_takes_away_is_let_go() {
    if !harness::is_root("what_the_host_mounts_is_shown_and_what_it_takes_away_is_let_go") {
        return;
    }
    let scene = scene("bwrap");
    let place = scene.path().join("mounted");
    fs::create_dir(&place).unwrap();
    let place = place.canonicalize().unwrap();
    let look = ["cat", "mounted/file"];
    assert_eq!(scene.run(&look).await.report.verdict, Verdict::Failed, "nothing is there yet");

    let mounted = Mounted::at(&place);
    fs::write(place.join("file"), "here").unwrap();
    let ended = scene.run(&look).await;
    assert_eq!(
        harness::stdout(&ended.report),
        "here",
        "mounted after the first run: {:?}",
        ended.report.launch_fault
    );
    assert!(is_kept(&place), "the control: it is there");

    umount2(&mounted.0, MntFlags::empty()).expect("nothing of ours keeps it busy");
    let until = Instant::now() + Duration::from_secs(5);
    while is_kept(&place) && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(!is_kept(&place), "a thread keeps what the host has taken away");
    assert_eq!(scene.run(&look).await.report.verdict, Verdict::Failed);
}

#[tokio::test(flavor = "current_thread")]
async fn a_later_run_of_the_same_library_finds_roots_devices_read_only_too() {
    if !harness::is_root("a_later_run_of_the_same_library_finds_roots_devices_read_only_too") {
        return;
    }
    let scene = scene("bwrap");
    for _ in 0..3 {
        let ended = scene.run(&["sh", "-c", "chmod 666 /dev/null; echo $?; echo x > /dev/null"]).await;
        assert_eq!(harness::stdout(&ended.report), "1\n", "{:?}", ended.report.launch_fault);
    }
}
