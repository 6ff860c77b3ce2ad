//! Hosts that lack something, simulated: what the probe says is what a run then does, for every user.
//!
//! That root's answers equal golden tables is tested beside the command line; here the same tables must hold for
//! ordinary users, but for what only root loses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use confine_tests::world::{content, is_there};
use confine_tests::{Backend, Confine, Finished, Scene, Stub, User, each, needs, program};
use serde_json::Value;

/// What an ordinary user's table has instead of root's lines: root's reach is longer than its rights, and what an ordinary
/// user cannot do outside either (write a setting; become root where the simulation itself says no_new_privs) is untestable.
const ONLY_ROOTS: &[&str] = &["fs-device", "fd-stdio", "proc-privilege", "proc-sysctl", "limit-processes"];

/// A host that lacks something.
struct Simulation {
    /// Of the golden table.
    table: &'static str,
    path: Option<String>,
    under: Vec<String>,
    variables: &'static [(&'static str, &'static str)],
    /// Which backends work there.
    usable: &'static [Backend],
    /// Whether that shows without a launch, which is how `run` chooses.
    shows: bool,
}

impl Simulation {
    fn of(table: &'static str, usable: &'static [Backend]) -> Self {
        Self { table, path: None, under: Vec::new(), variables: &[], usable, shows: true }
    }

    fn apply<'a>(&self, confine: Confine<'a>) -> Confine<'a> {
        let confine = confine.under(self.under.clone());
        let confine = self.variables.iter().fold(confine, |confine, (name, value)| confine.env(name, value));
        match &self.path {
            Some(path) => confine.env("PATH", path),
            None => confine,
        }
    }
}

const BWRAP: &[Backend] = &[Backend::Bwrap];
const LANDLOCK: &[Backend] = &[Backend::Landlock];

fn bwrap_missing() -> Simulation {
    Simulation { path: Some("/nonexistent".into()), ..Simulation::of("bwrap-missing", LANDLOCK) }
}

fn bwrap_a_stub(stub: &Stub) -> Simulation {
    Simulation { path: Some(stub.path()), shows: false, ..Simulation::of("bwrap-stub", LANDLOCK) }
}

fn namespaces_exhausted() -> Simulation {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";
    let under = ["unshare", "-Ur", "sh", "-c", script, "sh"].map(str::to_owned).to_vec();
    Simulation { under, ..Simulation::of("namespaces-exhausted", LANDLOCK) }
}

fn landlock_refused(scene: &Scene) -> Simulation {
    let wrapper = program::compile("without_landlock", scene.base());
    let under = vec![wrapper.to_str().expect("a path of ours").to_owned()];
    Simulation { under, ..Simulation::of("landlock-refused", BWRAP) }
}

/// As `landlock_refused`, by a kernel that has it and was started without it (EOPNOTSUPP).
fn landlock_disabled(scene: &Scene) -> Simulation {
    Simulation { variables: &[("LANDLOCK_ERRNO", "95")], ..landlock_refused(scene) }
}

fn probed(scene: &Scene, simulation: &Simulation) -> Value {
    let confine = simulation.apply(scene.plain().verb(["--probe", "--json"]));
    let probe = confine.run(Vec::<String>::new()).exits(0);
    serde_json::from_str(&probe.stdout).unwrap_or_else(|error| panic!("{error}: {probe}"))
}

/// The lines of the golden table's form, by backend and effect; a backend's own line has no effect.
fn table(answer: &Value) -> BTreeMap<(String, String), String> {
    let mut lines = BTreeMap::new();
    for backend in answer["backends"].as_array().expect("a list") {
        let id = backend["id"].as_str().expect("an id").to_owned();
        let reason = backend["reason"].as_str().unwrap_or("-");
        let line =
            format!("usable={} enforcement={} reason: {reason}", backend["usable"], backend["enforcement"]);
        lines.insert((id.clone(), String::new()), line);
        for (effect, governed) in backend["effects"].as_object().expect("effects") {
            let status = governed["status"].as_str().expect("a status");
            let reason = governed["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
            lines.insert((id.clone(), effect.clone()), format!("{status}{reason}"));
        }
    }
    lines
}

fn golden(name: &str) -> BTreeMap<(String, String), String> {
    let path: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../cli/tests/golden/probe-{name}.txt"));
    let text = content(&path).unwrap_or_else(|| panic!("`{}` is missing", path.display()));
    let mut backend = String::new();
    let mut lines = BTreeMap::new();
    for line in text.lines() {
        let (word, rest) = line.trim_start().split_once(' ').expect("two words");
        if line.starts_with(' ') {
            lines.insert((backend.clone(), word.to_owned()), rest.to_owned());
        } else {
            word.clone_into(&mut backend);
            lines.insert((backend.clone(), String::new()), rest.to_owned());
        }
    }
    lines
}

/// What differs from root's table, as text.
fn differences(scene: &Scene, simulation: &Simulation, answer: &Value) -> Vec<String> {
    let (found, expected) = (table(answer), golden(simulation.table));
    let known =
        |(_, effect): &(String, String)| scene.user != User::Root && ONLY_ROOTS.contains(&effect.as_str());
    let keys = found.keys().chain(expected.keys().filter(|key| !found.contains_key(*key)));
    keys.filter(|key| found.get(*key) != expected.get(*key) && !known(key))
        .map(|key| format!("{key:?}: {:?}, and in the table {:?}", found.get(key), expected.get(key)))
        .collect()
}

/// A usable backend runs; another is a 125 and nothing runs; without `--backend` the probe's default is taken.
fn assert_runs_agree(scene: &Scene, simulation: &Simulation, answer: &Value) {
    let ran = scene.workspace().join("ran");
    for backend in Backend::ALL {
        let usable = simulation.usable.contains(backend);
        let own = answer["backends"].as_array().expect("a list").iter().find(|one| one["id"] == backend.id());
        assert_eq!(own.map(|one| one["usable"] == true), Some(usable), "{}: {answer:#}", simulation.table);
        let confine = scene.plain().options(backend.options()).with_report();
        let run = simulation.apply(confine).run(["/usr/bin/touch", "ran"]);
        assert_eq!(run.code(), Some(if usable { 0 } else { 125 }), "{}: {run}", simulation.table);
        assert_eq!(is_there(&ran), usable, "{}: {run}", simulation.table);
        if usable {
            std::fs::remove_file(&ran).expect("it is there");
        }
    }
    let chosen = simulation.usable[0];
    // The default policy hides and protects, which Landlock alone cannot.
    let default = if chosen == Backend::Bwrap { Value::from(chosen.id()) } else { Value::Null };
    assert_eq!(answer["default"], default);
    // What the probe found is kept, so that a run takes what works also where that does not show.
    unchosen(scene, simulation).exits(0).reports("/backend", chosen.id());
    assert!(is_there(&ran));
}

/// A run without `--backend`, of a policy that every backend enforces.
fn unchosen(scene: &Scene, simulation: &Simulation) -> Finished {
    let accepting = Backend::Landlock.options().split_off(2);
    simulation.apply(scene.plain().options(accepting).with_report()).run(["/usr/bin/touch", "ran"])
}

fn check(scene: &Scene, simulation: &Simulation) {
    if !simulation.shows {
        // Before any probe: no second backend is tried in the same call, but it is named.
        unchosen(scene, simulation).exits(125).says(&format!("--backend {}", simulation.usable[0].id()));
        assert!(!is_there(&scene.workspace().join("ran")));
    }
    let answer = probed(scene, simulation);
    let differences = differences(scene, simulation, &answer);
    assert!(differences.is_empty(), "{}: {differences:#?}", simulation.table);
    assert_runs_agree(scene, simulation, &answer);
}

#[test]
fn without_bwrap_the_table_holds_and_runs_agree() {
    needs!(root, landlock = 7);
    each(User::ALL, LANDLOCK, |scene| check(scene, &bwrap_missing()));
}

#[test]
fn with_a_bwrap_that_fails_the_table_holds_and_runs_agree() {
    needs!(root, bwrap, landlock = 7);
    let stub = Stub::script(
        "[ \"$1\" = --version ] && { echo bubblewrap 0.4.0; exit 0; }\n\
         echo 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n",
    );
    each(User::ALL, LANDLOCK, |scene| check(scene, &bwrap_a_stub(&stub)));
}

#[test]
fn without_user_namespaces_the_table_holds_and_runs_agree() {
    needs!(root, bwrap, landlock = 7, unshare);
    each(User::ALL, LANDLOCK, |scene| check(scene, &namespaces_exhausted()));
}

#[test]
fn where_landlock_is_refused_the_table_holds_and_runs_agree() {
    needs!(root, bwrap, landlock = 7, cc);
    each(User::ALL, BWRAP, |scene| check(scene, &landlock_refused(scene)));
}

#[test]
fn where_landlock_is_switched_off_the_probe_says_so_and_runs_agree() {
    needs!(root, bwrap, landlock = 7, cc);
    each(User::ALL, BWRAP, |scene| {
        let simulation = landlock_disabled(scene);
        let answer = probed(scene, &simulation);
        let refused =
            answer["backends"].as_array().expect("a list").iter().find(|one| one["id"] == "landlock");
        let reason = refused.and_then(|one| one["reason"].as_str()).unwrap_or_default();
        assert_ne!(reason, "the kernel has no Landlock", "it has, and it is off");
        assert!(reason.contains("Landlock"), "{answer:#}");
        assert_runs_agree(scene, &simulation, &answer);
    });
}
