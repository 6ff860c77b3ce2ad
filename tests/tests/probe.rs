//! The probing side of field cases: what `confine --probe` finds is what a run then does.

use std::os::unix::fs::PermissionsExt as _;

use confine_tests::world::is_there;
use confine_tests::{Backend, Scene, Stub, User, needs, program};
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
