//! The probing side of field cases: what `confine --probe` finds is what a run then does.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use confine_tests::world::{assert_gone, is_there, marker, within};
use confine_tests::{Backend, Scene, Stub, User, needs, program};
use nix::sys::signal::Signal;
use serde_json::Value;

fn probed(scene: &Scene, under: &[&str], path: &str) -> Value {
    let probe = scene.plain().verb(["--probe", "--json"]).under(under.iter().copied()).env("PATH", path);
    let probe = probe.run(Vec::<String>::new());
    serde_json::from_str(&probe.stdout).unwrap_or_else(|error| panic!("{error}: {probe}"))
}

fn here(user: User) -> Value {
    probed(&Scene::new(user, Backend::Bwrap), &[], confine_tests::user::PATH)
}

fn backend<'a>(probe: &'a Value, id: &str) -> &'a Value {
    let found = probe["backends"].as_array().expect("a list").iter().find(|one| one["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {probe:#}"))
}

fn status<'a>(probe: &'a Value, id: &str, effect: &str) -> &'a str {
    backend(probe, id)["effects"][effect]["status"]
        .as_str()
        .unwrap_or_else(|| panic!("no {effect} in {probe:#}"))
}

fn says(backend: &Value, key: &str, words: &[&str]) {
    let text = backend[key].as_str().unwrap_or_default();
    assert!(words.iter().any(|word| text.contains(word)), "no {words:?} in the {key} of {backend:#}");
}

#[test]
fn case_a01_the_probe_names_the_restriction_of_user_namespaces() {
    needs!(root, bwrap, landlock = 6);
    let stub = Stub::failing("bwrap: loopback: Failed RTM_NEWADDR: No child processes");
    let probe = probed(&Scene::new(User::Ordinary, Backend::Bwrap), &[], &stub.path());
    let bwrap = backend(&probe, "bwrap");
    assert_eq!(bwrap["usable"], false);
    says(bwrap, "reason", &["loopback"]);
    says(bwrap, "remedy", &["AppArmor"]);
    assert_eq!(backend(&probe, "landlock")["usable"], true);
}

#[test]
fn case_a02_and_a05_the_probe_takes_no_bwrap_that_fails_and_says_its_version() {
    needs!(root, bwrap, landlock = 6);
    let script = "[ \"$1\" = --version ] && { echo bubblewrap 0.4.0; exit 0; }\n\
                  echo 'bwrap: Unknown option --argv0' >&2\nexit 1\n";
    let stub = Stub::script(script);
    let probe = probed(&Scene::new(User::Root, Backend::Bwrap), &[], &stub.path());
    let bwrap = backend(&probe, "bwrap");
    assert_eq!(bwrap["usable"], false);
    says(bwrap, "reason", &["0.4.0"]);
    says(bwrap, "remedy", &["newer bubblewrap"]);
    assert_eq!(probe["default"], Value::Null);
}

#[test]
fn case_a04_the_probe_names_the_limit_on_user_namespaces() {
    needs!(root, bwrap, landlock = 6, unshare);
    let script = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";
    let scene = Scene::new(User::Root, Backend::Bwrap);
    let probe = probed(&scene, &["unshare", "-Ur", "sh", "-c", script, "sh"], confine_tests::user::PATH);
    let bwrap = backend(&probe, "bwrap");
    says(bwrap, "reason", &["max_user_namespaces"]);
    says(bwrap, "remedy", &["sysctl -w user.max_user_namespaces"]);
    assert_eq!(backend(&probe, "landlock")["usable"], true);
}

#[test]
fn case_a07_where_landlock_is_off_the_probe_says_how_to_switch_it_on() {
    needs!(root, cc, landlock = 6);
    let scene = Scene::new(User::Root, Backend::Landlock);
    let wrapper = program::compile("without_landlock", scene.base());
    let confine =
        scene.plain().verb(["--probe", "--json"]).under([wrapper.to_str().expect("a path of ours")]);
    let probe =
        confine.env("PATH", "/nonexistent").env("LANDLOCK_ERRNO", "95").run(Vec::<String>::new()).exits(125);
    let probe: Value = serde_json::from_str(&probe.stdout).expect("an answer");
    assert!(
        probe["backends"].as_array().expect("a list").iter().all(|one| one["usable"] == false),
        "{probe:#}"
    );
    says(backend(&probe, "landlock"), "remedy", &["lsm="]);
    says(backend(&probe, "bwrap"), "remedy", &["install bubblewrap"]);
}

#[test]
fn case_a08_d08_d13_and_d14_the_probe_says_what_each_backend_does_about_them() {
    needs!(root, bwrap, landlock = 6);
    let probe = here(User::Ordinary);
    // A08: truncate(2) itself, not truncate(1).
    assert_eq!(
        [status(&probe, "bwrap", "fs-truncate"), status(&probe, "landlock", "fs-truncate")],
        ["enforced"; 2]
    );
    // D08: a service's socket, one that appears later, an abstract one.
    assert_eq!(status(&probe, "bwrap", "net-unix-path"), "enforced");
    assert_eq!(
        [status(&probe, "bwrap", "net-unix-abstract"), status(&probe, "landlock", "net-unix-abstract")],
        ["enforced"; 2]
    );
    if probe["host"]["landlock_abi"].as_u64().is_some_and(|abi| abi < 9) {
        assert_eq!(status(&probe, "landlock", "net-unix-path"), "not-governed");
        says(&backend(&probe, "bwrap")["effects"]["net-unix-path-new"], "reason", &["ABI 9"]);
    }
    // D13: mode, times, attributes.
    assert_eq!(status(&probe, "bwrap", "fs-metadata"), "enforced");
    assert_eq!(status(&probe, "landlock", "fs-metadata"), "not-governed");
    says(&backend(&probe, "landlock")["effects"]["fs-metadata"], "remedy", &["--backend bwrap"]);
    // D14: a signal to a process of the harness.
    assert_eq!(
        [status(&probe, "bwrap", "proc-signal"), status(&probe, "landlock", "proc-signal")],
        ["enforced"; 2]
    );
    // Part of a policy is no whole, and nothing was found to be other than it says.
    assert_eq!(backend(&probe, "bwrap")["enforcement"], "full", "{probe:#}");
    assert_eq!(backend(&probe, "landlock")["enforcement"], "partial");
    assert!(
        backend(&probe, "bwrap")["contradicted"].is_null()
            && backend(&probe, "landlock")["contradicted"].is_null()
    );
}

#[test]
fn what_the_probe_keeps_is_private_and_a_launch_that_fails_against_it_drops_it() {
    needs!(root, bwrap, landlock = 6, unshare);
    let scene = Scene::new(User::Root, Backend::Bwrap);
    let kept = scene.home().join(".local/state/confine/probe.json");
    probed(&scene, &[], confine_tests::user::PATH);
    assert_eq!(std::fs::metadata(&kept).expect("it is kept").permissions().mode() & 0o777, 0o600);
    let read = scene.confine().run(["cat", &kept.to_string_lossy()]).fails();
    assert!(!read.stdout.contains("bwrap"), "{read}");
    assert!(is_there(&kept), "a launch that works changes nothing");
    let masked = ["unshare", "-Urm", "sh", "-c", "mount -t tmpfs none /proc/bus; exec \"$@\"", "sh"];
    scene.confine().under(masked).run(["true"]).exits(125);
    assert!(!is_there(&kept), "it said that bwrap works");
}

/// Throwaway directories of the user's, by name.
fn throwaway(user: User) -> BTreeSet<PathBuf> {
    let place = std::fs::read_dir("/var/tmp").expect("/var/tmp").flatten();
    let own = place.filter(|one| {
        let is_ours = one.file_name().to_string_lossy().starts_with("confine-probe-");
        is_ours && one.metadata().is_ok_and(|metadata| metadata.uid() == user.id())
    });
    own.map(|one| one.path()).collect()
}

/// Whether a process that lives holds it.
fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|directory| directory.try_lock().is_err())
}

#[test]
fn what_a_killed_probe_left_is_gone_after_the_next() {
    needs!(root, bwrap, landlock = 6);
    let user = User::Ordinary;
    let scene = Scene::new(user, Backend::Bwrap);
    let before = throwaway(user);
    let running = scene.plain().verb(["--probe", "--json"]).start(Vec::<String>::new());
    let made = || throwaway(user).difference(&before).cloned().collect::<BTreeSet<PathBuf>>();
    assert!(within(Duration::from_secs(10), || made().len() > 2), "it makes its surroundings");
    running.signal(Signal::SIGKILL);
    running.wait();
    let left: Vec<PathBuf> = made().into_iter().filter(|path| !is_held(path)).collect();
    assert!(!left.is_empty());
    here(user);
    for path in left {
        let shared = Path::new("/dev/shm").join(path.file_name().expect("a name"));
        assert!(!path.exists() && !shared.exists(), "`{}` is left", path.display());
    }
}

#[test]
fn a_bwrap_that_hangs_when_it_is_asked_for_its_version_is_not_waited_for() {
    needs!(root, bwrap, landlock = 6);
    let marker = marker();
    let stub =
        Stub::script(&format!("[ \"$1\" = --version ] && {{ sleep {marker} & sleep {marker}; }}\nexit 1\n"));
    let since = Instant::now();
    let probe = probed(&Scene::new(User::Root, Backend::Bwrap), &[], &stub.path());
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    assert_eq!(backend(&probe, "bwrap")["usable"], false);
    assert_eq!(backend(&probe, "landlock")["usable"], true);
    assert_gone(&marker, Duration::from_secs(1));
}

#[test]
fn a_lock_of_backends_that_cannot_be_used_ends_no_probe() {
    needs!(root, bwrap, landlock = 6);
    let scene = Scene::new(User::Root, Backend::Bwrap);
    let lock = scene.write(
        &scene.home().join(".config/confine/confine.lock"),
        r#"{"version": 7, "backends": [{"name": "jail"}, {"name": "../x"}]}"#,
    );
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    for directory in [".config", ".config/confine"] {
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(scene.home().join(directory), private).expect("its mode");
    }
    let probe = probed(&scene, &[], confine_tests::user::PATH);
    assert_eq!(backend(&probe, "bwrap")["usable"], true);
    assert_eq!(probe["default"], "bwrap");
    says(&probe["lock"], "reason", &["version 7 is unknown"]);
    let jail = backend(&probe, "jail");
    assert_eq!(jail["usable"], false);
    says(jail, "reason", &["version 7 is unknown"]);
    assert_eq!(jail["effects"]["fs-write"]["status"], "not-governed");
    assert_eq!(probe["backends"].as_array().map(Vec::len), Some(3), "{probe:#}");
    scene.plain().verb(["probe"]).run(Vec::<String>::new()).exits(0);
}

/// A probe that was made under odd circumstances: who is usable, and nobody does less than it says.
fn odd(user: User, under: &[&str], bwrap: bool, landlock: bool) -> Value {
    let probe = probed(&Scene::new(user, Backend::Bwrap), under, confine_tests::user::PATH);
    for (id, usable) in [("bwrap", bwrap), ("landlock", landlock)] {
        let one = backend(&probe, id);
        assert_eq!(one["usable"], usable, "{user:?} under {under:?}: {one:#}");
        assert!(one["contradicted"].is_null(), "{user:?} under {under:?}: {one:#}");
        assert!(usable || !one["remedy"].is_null(), "{user:?} under {under:?}: {one:#}");
    }
    probe
}

#[test]
fn every_user_is_told_the_truth() {
    needs!(root, bwrap, landlock = 6);
    for user in [User::Root, User::Nobody] {
        let probe = odd(user, &[], true, true);
        assert_eq!(backend(&probe, "bwrap")["enforcement"], "full", "{user:?}: {probe:#}");
        for effect in ["fs-read", "fs-write", "fs-hide", "net-tcp", "proc-signal", "proc-trace", "ipc-sysv"] {
            assert_eq!(status(&probe, "bwrap", effect), "enforced", "{user:?} {effect}: {probe:#}");
        }
    }
}

#[test]
fn in_a_user_namespace_of_its_own_the_probe_tells_the_truth() {
    needs!(root, bwrap, landlock = 6, unshare);
    odd(User::Ordinary, &["unshare", "-Ur"], true, true);
}

#[test]
fn under_a_filter_that_refuses_namespaces_the_probe_says_so() {
    needs!(root, bwrap, landlock = 6, cc);
    let place = confine_tests::scene::Temporary::new("/opt/confine-filter-");
    let filter = program::compile("without_namespaces", place.path());
    let filter = filter.to_str().expect("a path of ours");
    for user in [User::Root, User::Nobody] {
        let probe = odd(user, &[filter], false, true);
        says(backend(&probe, "bwrap"), "remedy", &["seccomp"]);
        assert_eq!(probe["host"]["user_namespaces"], false, "{probe:#}");
    }
}

#[test]
fn inside_confine_the_probe_works_and_says_what_helps() {
    needs!(root, bwrap, landlock = 6);
    let programs = confine_tests::installation::directory();
    for (user, around) in [(User::Ordinary, Backend::Bwrap), (User::Root, Backend::Landlock)] {
        let scene = Scene::new(user, around);
        let confine = scene.confine().options(["--read".as_ref(), programs.as_os_str()]);
        let program = confine_tests::installation::confine();
        let inside = confine.run([program.as_os_str(), "--probe".as_ref(), "--json".as_ref()]).exits(0);
        let probe: Value = serde_json::from_str(&inside.stdout).unwrap_or_else(|e| panic!("{e}: {inside}"));
        let bwrap = backend(&probe, "bwrap");
        assert_eq!(bwrap["usable"], false, "{bwrap:#}");
        says(bwrap, "remedy", &["inside a sandbox of confine's already"]);
        let landlock = backend(&probe, "landlock");
        assert_eq!(
            (&landlock["usable"], &landlock["contradicted"]),
            (&true.into(), &Value::Null),
            "{landlock:#}"
        );
    }
}

#[test]
fn without_proc_everything_says_that_it_is_not_mounted() {
    needs!(root, bwrap, landlock = 6, unshare);
    let scene = Scene::new(User::Root, Backend::Bwrap);
    let unmounted =
        ["unshare", "-m", "sh", "-c", "mount --make-rprivate / && umount -l /proc && exec \"$@\"", "sh"];
    let probe = scene.plain().verb(["--probe", "--json"]).under(unmounted).run(Vec::<String>::new());
    probe.exits(125).says("help: mount -t proc proc /proc");
    let run = scene.plain().under(unmounted).run(["true"]).exits(125);
    run.says("`/proc` is not mounted");
}
