//! What is remembered of one plan is never part of another.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test reports by panicking")]

mod harness;

use confine_core::policy::NetPlan;
use confine_core::{AbsPath, ConfinedArgv, Policy};
use harness::{BACKENDS, Scene, scene};

fn plan(scene: &Scene, words: &[&str], cwd: &str, policy: &Policy) -> ConfinedArgv {
    let cwd = AbsPath::new(scene.path().join(cwd)).unwrap();
    scene.command(words).cwd(cwd).policy(policy).confined().unwrap()
}

#[test]
fn a_plan_that_is_remembered_is_the_plan_that_would_be_made() {
    for backend in BACKENDS {
        let scene = scene(backend);
        std::fs::create_dir(scene.path().join("below")).unwrap();
        let mut open = scene.policy.clone();
        open.net = NetPlan::Open;
        // The same identity, and yet another policy: what the file lists has more matches now.
        let mut later = scene.policy.clone();
        later.fs.entries.pop_last();
        let commands: [&[&str]; 2] = [&["true"], &["echo", "a b"]];
        let mut differing = Vec::new();
        for policy in [&scene.policy, &open, &later, &scene.policy] {
            for cwd in [".", "below"] {
                for words in commands.iter().cycle().take(5) {
                    let fresh = self::scene(backend);
                    let anew = fresh.command(words).cwd(AbsPath::new(scene.path().join(cwd)).unwrap());
                    let anew = anew.policy(policy).confined().unwrap();
                    assert_eq!(plan(&scene, words, cwd, policy), anew, "{backend} {words:?} {cwd}");
                    differing.push(anew.plan);
                }
            }
        }
        differing.sort_by(|one, other| one.0.cmp(&other.0));
        differing.dedup();
        assert_eq!(differing.len(), 6, "three policies in two directories");
    }
}
