//! Runs that end at any moment leave nothing: `confine` killed, or a run cancelled, while it starts.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use confine_tests::backend::LANDLOCK_LOSSES;
use confine_tests::world::{assert_gone, content, is_there, living, marker, within};
use confine_tests::{Backend, Finished, Running, Scene, User, installation, needs};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;

const ROUNDS: u32 = 300;
/// The latest kill is at least this long after the start.
const SPREAD: Duration = Duration::from_millis(20);
/// A start after a killed run waits that long for its tree, before anything of its own begins.
const RECOVERY: Duration = Duration::from_millis(60);
/// A sandbox whose runner is dead ends by itself, on a busy host not at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// A `/tmp` that only this thread and what it starts can see, so that whatever is left there is ours.
fn private_tmp() {
    unshare(CloneFlags::CLONE_NEWNS).expect("root may have mounts of its own");
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("mounts of its own");
    mount(Some("tmpfs"), "/tmp", Some("tmpfs"), MsFlags::empty(), Some("mode=1777")).expect("an empty /tmp");
}

/// What survives everything short of the end of its sandbox, in three ways.
fn survivors(marker: &str) -> String {
    format!(
        "trap '' TERM INT HUP; echo \"$TMPDIR\" >> started; setsid sleep {marker} & (setsid sleep {marker} &); exec sleep {marker}"
    )
}

/// Every path below `root`, links not followed.
fn everything(root: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            }
            found.insert(entry.path());
        }
    }
    found
}

/// How long `confine` takes until its program runs: the median of some runs.
fn launch(scene: &Scene) -> Duration {
    let ready = scene.workspace().join("ready");
    let mut times: Vec<_> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            let run = scene.confine().start(["sh", "-c", "echo > ready; read word"]);
            assert!(within(Duration::from_secs(20), || is_there(&ready)), "the program does not start");
            let took = begun.elapsed();
            run.signal(Signal::SIGTERM);
            run.wait();
            fs::remove_file(&ready).expect("it is ours");
            took
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// Kills `confine` in every round, each a little later after its start than the one before.
fn kill_at_every_moment(scene: &Scene, latest: Duration, script: &str) {
    for round in 0..ROUNDS {
        let mut run: Running = scene.confine().start(["sh", "-c", script]);
        thread::sleep(latest * round / (ROUNDS - 1));
        // It does not end by itself, but a round that a busy host held up is no failure.
        if !run.is_over() {
            run.signal(Signal::SIGKILL);
        }
        drop(run);
    }
}

/// Makes every file of a directory two minutes old.
fn age(directory: &Path) {
    let past = SystemTime::now() - Duration::from_secs(120);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let file = fs::File::options().write(true).open(entry.path());
        file.and_then(|file| file.set_modified(past)).expect("root may change times");
    }
}

fn quarantined(scene: &Scene) -> String {
    let places = everything(&scene.home().join(".local/state/confine/quarantine"));
    let records = places.iter().filter(|path| path.ends_with("record.json"));
    records.filter_map(|path| content(path)).collect()
}

fn killed_runs_leave_nothing(user: User, backend: Backend) {
    private_tmp();
    let scene = Scene::new(user, backend);
    scene.repository(&scene.workspace());
    let latest = SPREAD.max(launch(&scene) * 2 + RECOVERY);
    scene.confine().run(["true"]).exits(0);
    let before = (everything(&scene.workspace()), everything(&scene.home()), everything(Path::new("/tmp")));

    let marker = marker();
    kill_at_every_moment(&scene, latest, &survivors(&marker));
    assert_gone(&marker, PATIENCE);

    let started = scene.workspace().join("started");
    let temporary = content(&started).unwrap_or_default();
    let reached = temporary.lines().count();
    eprintln!("{reached} of {ROUNDS} programs had started; the latest kill came after {latest:?}");
    assert!(reached > 0, "every run was killed before its program started: the storm tries nothing");
    fs::remove_file(&started).expect("it is ours");

    // The next command pays what is owed. A journal entry that was never finished counts as litter only after a minute.
    age(&scene.home().join(".local/state/confine/runs"));
    scene.confine().run(["true"]).exits(0);
    assert_eq!(quarantined(&scene), "", "nothing that these programs did belongs there");
    let after = (everything(&scene.workspace()), everything(&scene.home()), everything(Path::new("/tmp")));
    assert_eq!(after.0, before.0, "left in the workspace");
    assert_eq!(after.1, before.1, "left in the home directory");
    assert_eq!(after.2, before.2, "left in /tmp");
    assert_eq!(scene.git(&scene.workspace(), &["status", "--porcelain"]).stdout, "");
}

/// Runs the storm of the library, which cancels, as the scene's user.
fn cancelled_runs_leave_nothing(user: User, backend: Backend) {
    // It may lie in the /tmp that goes.
    let program = fs::read(env!("CARGO_BIN_EXE_storm")).expect("the storm");
    private_tmp();
    let scene = Scene::new(user, backend);
    scene.repository(&scene.workspace());
    scene.confine().run(["true"]).exits(0);
    let before = (everything(&scene.workspace()), everything(&scene.home()), everything(Path::new("/tmp")));

    // The checkout may lie where this user cannot go.
    let storm = scene.base().join("storm");
    fs::write(&storm, program).expect("a copy");
    fs::set_permissions(&storm, Permissions::from_mode(0o755)).expect("its mode");
    let marker = marker();
    let mut command: Command = scene.command(&storm);
    command.env("CONFINE_TEST_BIN", installation::directory());
    command.args([backend.id(), &ROUNDS.to_string(), LANDLOCK_LOSSES, &survivors(&marker)]);
    let storm = Finished::of(command, &[]).exits(0);
    eprint!("{}", storm.stderr);
    assert_eq!(living(&marker), Vec::<String>::new(), "a run was waited for, and its tree is not gone");

    let _ = fs::remove_file(scene.workspace().join("started"));
    let after = (everything(&scene.workspace()), everything(&scene.home()), everything(Path::new("/tmp")));
    assert_eq!(after, before);
}

#[test]
fn killed_runs_leave_nothing_with_bwrap_as_root() {
    needs!(root, bwrap, git);
    killed_runs_leave_nothing(User::Root, Backend::Bwrap);
}

#[test]
fn killed_runs_leave_nothing_with_bwrap_as_an_ordinary_user() {
    needs!(root, bwrap, git);
    killed_runs_leave_nothing(User::Ordinary, Backend::Bwrap);
}

#[test]
fn killed_runs_leave_nothing_with_landlock_as_root() {
    needs!(root, landlock = 6, git);
    killed_runs_leave_nothing(User::Root, Backend::Landlock);
}

#[test]
fn killed_runs_leave_nothing_with_landlock_as_an_ordinary_user() {
    needs!(root, landlock = 6, git);
    killed_runs_leave_nothing(User::Ordinary, Backend::Landlock);
}

#[test]
fn cancelled_runs_leave_nothing_with_bwrap_as_root() {
    needs!(root, bwrap, git);
    cancelled_runs_leave_nothing(User::Root, Backend::Bwrap);
}

#[test]
fn cancelled_runs_leave_nothing_with_bwrap_as_an_ordinary_user() {
    needs!(root, bwrap, git);
    cancelled_runs_leave_nothing(User::Ordinary, Backend::Bwrap);
}

#[test]
fn cancelled_runs_leave_nothing_with_landlock_as_root() {
    needs!(root, landlock = 6, git);
    cancelled_runs_leave_nothing(User::Root, Backend::Landlock);
}

#[test]
fn cancelled_runs_leave_nothing_with_landlock_as_an_ordinary_user() {
    needs!(root, landlock = 6, git);
    cancelled_runs_leave_nothing(User::Ordinary, Backend::Landlock);
}
