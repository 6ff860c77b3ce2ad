//! `confine backend`: programs of others are pinned by hand, looked at without being run, and refused once they change.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::call::{confine, text};

const DESCRIPTION: &str = r#"{"id": "jail", "protocol": 1, "dialect": "id = \"jail\""}"#;

/// A home, and a backend in it that notes what it is asked.
struct Bench {
    home: TempDir,
}

impl Bench {
    fn new(description: &str) -> Self {
        let bench = Self { home: tempfile::tempdir_in("/var/tmp").unwrap() };
        bench.write(description);
        bench
    }

    fn program(&self) -> PathBuf {
        self.home.path().join("confine-backend-jail")
    }

    fn write(&self, description: &str) {
        let noted = self.home.path().join("asked").display().to_string();
        let script = format!("#!/bin/sh\necho $1 >> {noted}\necho '{description}'\n");
        fs::write(self.program(), script).unwrap();
        fs::set_permissions(self.program(), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.home.path().join("asked")).unwrap_or_default()
    }

    fn lock_file(&self) -> PathBuf {
        self.home.path().join(".config/confine/confine.lock")
    }

    /// Exit code, stdout and stderr.
    fn call(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let mut command = confine(self.home.path());
        command.env("HOME", self.home.path()).env("PATH", self.home.path()).args(words);
        let output = command.output().unwrap();
        (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    }

    fn json(&self, words: &[&str]) -> Value {
        let (code, stdout, stderr) = self.call(words);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{words:?}");
        serde_json::from_str(&stdout).unwrap()
    }
}

#[test]
fn a_backend_is_pinned_listed_and_forgotten() {
    let bench = Bench::new(DESCRIPTION);
    assert_eq!(bench.json(&["backend", "list", "--json"])["backends"], Value::Array(Vec::new()));
    assert!(!bench.home.path().join(".config").exists(), "nothing is made by looking");
    let pinned = bench.json(&["backend", "lock", "jail", "--json"]);
    assert_eq!((&pinned["pinned"]["name"], &pinned["before"]), (&"jail".into(), &Value::Null));
    assert_eq!(pinned["pinned"]["path"], bench.program().to_str().unwrap());
    let again = bench.json(&["backend", "lock", "./confine-backend-jail", "--json"]);
    assert_eq!(again["before"], pinned["pinned"], "by its path it is the same");
    assert_eq!(bench.asked(), "describe\ndescribe\n");
    let listed = bench.json(&["backend", "list", "--json"]);
    assert_eq!(listed["backends"][0]["unchanged"], true);
    let written: Value = serde_json::from_slice(&fs::read(bench.lock_file()).unwrap()).unwrap();
    assert_eq!(written["backends"][0], pinned["pinned"]);
    assert_eq!(bench.json(&["backend", "unlock", "jail", "--json"])["forgotten"], pinned["pinned"]);
    let (code, _, stderr) = bench.call(&["backend", "unlock", "jail"]);
    assert_eq!(code, Some(125));
    assert!(stderr.contains("no backend of that name is pinned"), "{stderr}");
    assert_eq!(bench.asked(), "describe\ndescribe\n", "neither listing nor forgetting runs anything");
}

#[test]
fn one_that_changed_is_listed_with_the_reason_and_is_not_run() {
    let bench = Bench::new(DESCRIPTION);
    bench.json(&["backend", "lock", "jail", "--json"]);
    bench.write(r#"{"id": "other"}"#);
    let listed = bench.json(&["backend", "list", "--json"]);
    assert_eq!(listed["backends"][0]["unchanged"], false);
    assert!(listed["backends"][0]["reason"].as_str().unwrap().contains("changed since it was pinned"));
    let (code, stdout, _) = bench.call(&["backend", "list"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("refused") && stdout.contains("remedy: find out who changed it"), "{stdout}");
    let marker = bench.home.path().join("ran");
    let (code, _, stderr) = bench.call(&[
        "run",
        "--backend",
        "jail",
        "--workspace",
        "/usr/share",
        "--",
        "/bin/touch",
        marker.to_str().unwrap(),
    ]);
    assert_eq!(code, Some(125));
    assert!(stderr.contains("changed since it was pinned: its sha256 is "), "{stderr}");
    assert!(stderr.contains("help: find out who changed it"), "{stderr}");
    assert!(!marker.exists());
    assert_eq!(bench.asked(), "describe\n");
}

#[test]
fn what_cannot_be_pinned_is_not() {
    for (description, named) in [
        ("garbage", "answers `describe` with what is no answer"),
        (r#"{"id": "evil", "protocol": 1, "dialect": "id = \"x\""}"#, "calls itself `evil`"),
        (r#"{"id": "jail", "protocol": 7}"#, "it speaks protocol 7, and this confine speaks protocol 1"),
    ] {
        let bench = Bench::new(description);
        let (code, _, stderr) = bench.call(&["backend", "lock", "jail"]);
        assert_eq!(code, Some(125));
        assert!(stderr.contains(named), "{stderr}");
        assert!(stderr.contains("\nhelp: "), "{stderr}");
        assert!(!bench.lock_file().exists());
    }
    let bench = Bench::new(DESCRIPTION);
    for (word, named) in [
        ("other", "there is no `confine-backend-other` on PATH"),
        ("bwrap", "the name `bwrap` is confine's own"),
        ("/bin/sh", "is not called `confine-backend-NAME`"),
    ] {
        let (code, _, stderr) = bench.call(&["backend", "lock", word]);
        assert_eq!(code, Some(125));
        assert!(stderr.contains(named), "{stderr}");
    }
    assert_eq!(bench.asked(), "");
}

#[test]
fn a_lock_that_cannot_be_read_stops_only_who_asks_for_a_backend_of_others() {
    let bench = Bench::new(DESCRIPTION);
    bench.json(&["backend", "lock", "jail", "--json"]);
    fs::write(bench.lock_file(), r#"{"version": 2, "backends": []}"#).unwrap();
    for words in [
        &["backend", "list"][..],
        &["backend", "lock", "jail"],
        &["run", "--workspace", "/usr/share", "--backend", "jail", "--", "true"],
    ] {
        let (code, _, stderr) = bench.call(words);
        assert_eq!(code, Some(125), "{words:?}");
        assert!(stderr.contains("version 2 is unknown: this confine reads version 1"), "{stderr}");
    }
    let words = ["plan", "--workspace", "/usr/share", "--backend", "nope!", "--", "true"];
    assert!(bench.call(&words).2.contains("there is no backend `nope!`"), "ours do not need the lock");
}

#[test]
fn a_workspace_cannot_bring_a_backend_along() {
    let bench = Bench::new(DESCRIPTION);
    bench.json(&["backend", "lock", "jail", "--json"]);
    let workspace = bench.home.path().join("ws");
    fs::create_dir_all(workspace.join(".confine")).unwrap();
    let lock = fs::read_to_string(bench.lock_file()).unwrap().replace("\"jail\"", "\"planted\"");
    for place in ["confine.lock", ".confine/confine.lock"] {
        fs::write(workspace.join(place), &lock).unwrap();
    }
    let mut command = confine(&workspace);
    command.env("HOME", bench.home.path()).args(["run", "--backend", "planted", "--", "true"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("there is no backend `planted`"), "{}", text(&output.stderr));
}

#[test]
fn the_page_has_every_key_of_the_protocol() {
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/backend-protocol.md")).unwrap();
    let output = confine(std::env::temp_dir().as_path()).args(["backend", "schema"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    for name in ["Description", "Governance", "Wrapping", "Unusable"] {
        for key in schema["$defs"][name]["properties"].as_object().unwrap().keys() {
            let shown = [format!("`{key}`"), format!("\"{key}\"")];
            assert!(shown.iter().any(|shown| page.contains(shown.as_str())), "{name}: {key}");
        }
    }
}

#[test]
fn a_lock_in_a_workspace_pins_nothing() {
    let bench = Bench::new(DESCRIPTION);
    bench.json(&["backend", "lock", "jail", "--json"]);
    let asked = bench.asked();
    let home = bench.home.path().to_str().unwrap().to_owned();
    for verb in ["run", "plan"] {
        let (code, _, stderr) = bench.call(&[verb, "--workspace", &home, "--backend", "jail", "--", "true"]);
        assert_eq!(code, Some(125));
        assert!(stderr.contains("use the backend `jail`: what is pinned is kept in"), "{stderr}");
        assert_eq!(bench.asked(), asked, "it is not asked");
        // The control: of another workspace's, it is.
        bench.call(&[verb, "--workspace", "/usr/share", "--backend", "jail", "--", "true"]);
        assert_ne!(bench.asked(), asked);
        fs::write(bench.home.path().join("asked"), &asked).unwrap();
    }
}
