//! Gitlinks: the host's `git status` at the top runs git in every repository that the index names. One that was there
//! is protected at any depth; one that the run made is reported.

use std::fs;
use std::path::PathBuf;

use confine_tests::world::is_there;
use confine_tests::{Backend, Finished, Scene, User, each, needs};
use serde_json::Value;

const BWRAP: &[Backend] = &[Backend::Bwrap];

/// A repository below another one, that the index of that one names.
const PLANT: &str = "mkdir -p d/e && git init -q d/e/x && cd d/e/x && echo 1 > f && git add f && git commit -qm q \
                     && git config core.fsmonitor \"$1\" && cd ../../.. && git add d/e/x 2> add.log \
                     && git commit -qm link";
/// The same with a git directory of another name.
const POINT: &str = "mkdir -p h && git init -q h/w && cd h/w && echo 1 > f && git add f && git commit -qm q \
                     && git config core.fsmonitor \"$1\" && mv .git ../gd && echo 'gitdir: ../gd' > .git \
                     && cd ../.. && git add h/w 2> add.log && git commit -qm link";
/// A deep submodule's pointer becomes a repository.
const REPLACE: &str = "cd third/a/b/c/sub && rm .git && git init -q && git config core.fsmonitor \"$1\"";
/// The same by what is above it.
const ABOVE: &str = "mv third third2 && mkdir -p third/a/b/c && cp -r third2/a/b/c/sub third/a/b/c/sub \
                     && cd third/a/b/c/sub && rm -f .git && git init -q && git config core.fsmonitor \"$1\"";
/// A submodule that is not checked out becomes a repository; the index stays as it is.
const FILL: &str =
    "rm -rf third/a/b/c/sub/a.txt && cd third/a/b/c/sub && git init -q && git config core.fsmonitor \"$1\"";

/// What the planted settings run, and what it leaves.
fn trap(scene: &Scene) -> (String, PathBuf) {
    let ran = scene.outside().join("ran");
    (format!("touch {}; false", ran.display()), ran)
}

/// Whether the host's next `git status` at the top falls into the trap.
fn bites(scene: &Scene) -> bool {
    let (_, ran) = trap(scene);
    let _ = fs::remove_file(&ran);
    scene.git(&scene.workspace(), &["status", "--porcelain"]);
    is_there(&ran)
}

fn submodule(scene: &Scene) {
    let library = scene.outside().join("library");
    scene.repository(&library);
    let library = library.to_str().expect("a path of ours");
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "third/a/b/c/sub"];
    scene.git(&scene.workspace(), &add);
    scene.git(&scene.workspace(), &["commit", "-qm", "submodule"]);
}

fn act(scene: &Scene, script: &str) -> Finished {
    let (command, _) = trap(scene);
    scene.confine().with_report().run(["sh", "-ec", script, "sh", &command])
}

/// The same without a sandbox.
fn control(scene: &Scene, script: &str) {
    let (command, _) = trap(scene);
    scene.control(["sh", "-ec", script, "sh", &command]).exits(0);
}

/// Whether the report and stderr name it.
fn tells(run: &Finished, scene: &Scene, dot_git: &str) -> bool {
    let path = scene.workspace().join(dot_git);
    let path = path.to_str().expect("a path of ours");
    let made = &run.report.as_ref().expect("a report")["new_repositories"];
    made.as_array().expect("a list").contains(&Value::from(path)) && run.stderr.contains(path)
}

#[test]
fn a_repository_that_the_run_made_and_linked_is_told() {
    needs!(root, bwrap, git);
    for (script, dot_git) in [(PLANT, "d/e/x/.git"), (POINT, "h/w/.git")] {
        each(User::ALL, BWRAP, |scene| {
            scene.repository(&scene.workspace());
            let run = act(scene, script).exits(0);
            assert!(bites(scene), "what is told is dangerous");
            assert!(tells(&run, scene, dot_git), "{run}");
            let again = scene.confine().with_report().run(["true"]).exits(0);
            assert!(!tells(&again, scene, dot_git), "it is known now: {again}");
        });
        each(&[User::Ordinary], BWRAP, |scene| {
            scene.repository(&scene.workspace());
            control(scene, script);
            assert!(bites(scene));
            // What is there is protected.
            let config = if dot_git == "h/w/.git" { "h/gd/config" } else { "d/e/x/.git/config" };
            scene.confine().run(["sh", "-c", &format!("echo '[a]' >> {config}")]).fails();
        });
    }
}

#[test]
fn a_deep_submodule_cannot_be_made_another_repository() {
    needs!(root, bwrap, git);
    for script in [REPLACE, ABOVE] {
        each(User::ALL, BWRAP, |scene| {
            scene.repository(&scene.workspace());
            submodule(scene);
            act(scene, script).fails();
            assert!(!bites(scene));
            // Twin: where git's rules do not hold.
            let (command, _) = trap(scene);
            let open = scene.confine().option("--git", "open");
            open.run(["sh", "-ec", script, "sh", &command]).exits(0);
            assert!(bites(scene));
        });
    }
}

#[test]
fn a_submodule_that_the_run_checked_out_is_told_under_every_rule() {
    needs!(root, bwrap, git);
    for git in ["work", "protect"] {
        each(User::ALL, BWRAP, |scene| {
            scene.repository(&scene.workspace());
            submodule(scene);
            scene.git(&scene.workspace(), &["submodule", "--quiet", "deinit", "-f", "third/a/b/c/sub"]);
            let (command, _) = trap(scene);
            let run = scene.confine().option("--git", git).with_report();
            let run = run.run(["sh", "-ec", FILL, "sh", &command]).exits(0);
            assert!(bites(scene), "what is told is dangerous");
            assert!(tells(&run, scene, "third/a/b/c/sub/.git"), "{git}: {run}");
        });
    }
}

#[test]
fn what_security_md_advises_avoids_what_is_planted() {
    needs!(root, bwrap, git);
    each(&[User::Ordinary], BWRAP, |scene| {
        scene.repository(&scene.workspace());
        act(scene, PLANT).exits(0);
        let (_, ran) = trap(scene);
        for words in [
            &["status", "--porcelain", "--ignore-submodules=all"][..],
            &["-c", "core.fsmonitor=false", "status"],
        ] {
            scene.git(&scene.workspace(), words);
            assert!(!is_there(&ran), "{words:?}");
        }
        let bare = &["-c", "safe.bareRepository=explicit", "status", "--porcelain"];
        scene.git(&scene.workspace(), bare);
        assert!(is_there(&ran), "this one does not help");
    });
}
