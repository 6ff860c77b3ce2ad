//! The list of losses that a refusal prints: exactly enough, for whoever runs, and inside a run too.

use std::path::Path;
use std::process::{Command, Output};

use crate::call::{confine, text};
use crate::exits::{needs_a_sandbox, needs_root};

/// A home and a workspace of one user.
struct Scene {
    top: tempfile::TempDir,
    uid: u32,
}

impl Scene {
    fn of(uid: u32) -> Self {
        let top = tempfile::Builder::new().prefix("confine-accept-").tempdir_in("/var/tmp").unwrap();
        for directory in [".", "home", "ws"].map(|name| top.path().join(name)) {
            std::fs::create_dir_all(&directory).unwrap();
            std::os::unix::fs::chown(directory, Some(uid), Some(uid)).unwrap();
        }
        Self { top, uid }
    }

    fn run(&self, words: &[&str]) -> Output {
        let confine = confine(&self.top.path().join("ws"));
        let uid = self.uid.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &uid, "--regid", &uid, "--clear-groups"]).arg(confine.get_program());
        command.current_dir(confine.get_current_dir().unwrap()).env_clear().env("PATH", "/usr/bin:/bin");
        command.env("HOME", self.top.path().join("home"));
        command.args(["run", "--backend", "landlock"]).args(words).output().unwrap()
    }

    fn list(&self) -> String {
        let refused = self.run(&["--", "touch", "ran"]);
        let stderr = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(125), "{stderr}");
        assert!(!self.top.path().join("ws/ran").exists());
        let (_, list) = stderr.split_once("--accept-missing ").unwrap();
        list.split(|end: char| end != '-' && end != ',' && !end.is_ascii_lowercase())
            .next()
            .unwrap()
            .to_owned()
    }
}

#[test]
fn the_list_that_a_refusal_prints_is_exactly_enough() {
    let test = "the_list_that_a_refusal_prints_is_exactly_enough";
    if !needs_a_sandbox(test) || !needs_root(test) {
        return;
    }
    for uid in [0, 12345] {
        let scene = Scene::of(uid);
        let list = scene.list();
        let done = scene.run(&["--accept-missing", &list, "--", "touch", "ran"]);
        assert_eq!(done.status.code(), Some(0), "{uid}: {}", text(&done.stderr));
        assert!(scene.top.path().join("ws/ran").exists());
        let effects: Vec<&str> = list.split(',').collect();
        for left_out in &effects {
            let shorter: Vec<&str> = effects.iter().filter(|effect| *effect != left_out).copied().collect();
            let refused = scene.run(&["--accept-missing", &shorter.join(","), "--", "true"]);
            assert_eq!(refused.status.code(), Some(125), "{uid} without {left_out}");
            assert!(
                text(&refused.stderr).contains(&format!("--accept-missing {left_out}`")),
                "{uid} {left_out}"
            );
        }
    }
}

#[test]
fn a_run_inside_a_run_has_a_temporary_directory_of_its_own() {
    let test = "a_run_inside_a_run_has_a_temporary_directory_of_its_own";
    if !needs_a_sandbox(test) || !needs_root(test) {
        return;
    }
    for (uid, policy) in [(0, "read-only"), (0, "workspace-write"), (12345, "workspace-write")] {
        let scene = Scene::of(uid);
        let list = scene.list();
        let confined = ["--policy", policy, "--accept-missing", &list, "--"];
        let inner = [env!("CARGO_BIN_EXE_confine"), "run", "--backend", "landlock"];
        let script = ["sh", "-c", "touch $TMPDIR/file && echo $TMPDIR"];
        let done = scene.run(&[&confined[..], &inner, &confined, &script].concat());
        let stdout = text(&done.stdout);
        assert_eq!(done.status.code(), Some(0), "{uid} {policy}: {}", text(&done.stderr));
        assert_eq!(stdout.matches("/confine-").count(), 2, "{stdout}");
        assert!(!Path::new(stdout.trim()).exists());
    }
}
