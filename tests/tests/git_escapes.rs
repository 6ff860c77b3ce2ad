//! Ways to have the host's next git command run what a confined program chose: each is tried inside, outside, and
//! where the policy allows it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use confine_tests::world::{content, is_there};
use confine_tests::{Backend, Confine, Finished, Scene, User, each, needs};
use serde_json::Value;

const BWRAP: &[Backend] = &[Backend::Bwrap];

/// What git takes commands, or the place of its settings, from: in a repository with a submodule `sub` and a worktree
/// `tree`. Some of it is missing at the start.
const GIT_RUNS: &[&str] = &[
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/hooks",
    ".git/info/attributes",
    ".git/modules/sub/config",
    ".git/modules/sub/hooks",
    ".git/worktrees/tree/gitdir",
    ".git/worktrees/tree/commondir",
    ".git/worktrees/tree/config.worktree",
    "sub/.git",
    "tree/.git",
];

/// Acts that change one of them. Each succeeds in a shell outside.
const ACTS: &[&str] = &[
    // By name.
    "echo '[alias]' >> .git/config",
    "echo > .git/config",
    "echo '[core]' > .git/config.worktree",
    "echo ../evil > .git/commondir",
    "echo 'touch x' > .git/hooks/pre-commit",
    "echo '* filter=evil' > .git/info/attributes",
    "echo '[core]' >> .git/modules/sub/config",
    "echo 'touch x' > .git/modules/sub/hooks/pre-commit",
    "echo /tmp/evil > .git/worktrees/tree/gitdir",
    "echo /tmp/evil > .git/worktrees/tree/commondir",
    "echo '[core]' > .git/worktrees/tree/config.worktree",
    "echo 'gitdir: /tmp/evil' > sub/.git",
    "echo 'gitdir: /tmp/evil' > tree/.git",
    // By replacing it.
    "cp .git/config new && echo '[alias]' >> new && mv new .git/config",
    "rm .git/config",
    "rm -f .git/config.worktree && ln -s ../evil .git/config.worktree",
    "rm -rf .git/hooks && ln -s ../evil .git/hooks",
    "python3 -c 'import os; os.rename(\"evil\", \".git/hooks/evil\")'",
    // By another name of it.
    "ln .git/config alias && echo '[alias]' >> alias",
    // By its parent.
    "mv .git .git2 && mkdir -p .git/hooks && echo 'touch x' > .git/hooks/pre-commit",
    "mv .git/info .git/info2 && mkdir .git/info && echo '* filter=evil' > .git/info/attributes",
    "mv .git/modules .git/modules2 && mkdir -p .git/modules/sub/hooks && echo > .git/modules/sub/config",
    "mv .git/modules/sub .git/modules/sub2 && mkdir -p .git/modules/sub/hooks",
    "mv .git/worktrees/tree .git/worktrees/tree2 && mkdir -p .git/worktrees/tree && echo /tmp > .git/worktrees/tree/commondir",
    "mv sub sub2 && mkdir sub && echo 'gitdir: /tmp/evil' > sub/.git",
    // By git itself.
    "git config core.fsmonitor ./evil/run",
    "git config core.hooksPath evil",
    "git remote add evil /tmp/evil",
    "git -C sub config core.fsmonitor ../evil/run",
    "git worktree remove --force tree",
];

/// A repository with a submodule, a worktree, and something evil.
fn prepare(scene: &Scene) {
    let (workspace, library) = (scene.workspace(), scene.outside().join("library"));
    scene.repository(&library);
    scene.repository(&workspace);
    let library = library.to_str().expect("a path of ours");
    scene.git(
        &workspace,
        &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "sub"],
    );
    scene.git(&workspace, &["worktree", "add", "-q", "tree"]);
    scene.write(&workspace.join("evil/run"), "#!/bin/sh\ntouch ran\n");
}

/// What [`GIT_RUNS`] holds.
fn settings(scene: &Scene) -> BTreeMap<PathBuf, String> {
    let mut state = BTreeMap::new();
    let mut waiting: Vec<_> = GIT_RUNS.iter().map(|path| scene.workspace().join(path)).collect();
    while let Some(path) = waiting.pop() {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_dir() {
            let below = fs::read_dir(&path).expect("it can be listed").flatten();
            waiting.extend(below.map(|entry| entry.path()));
            state.insert(path, "directory".into());
        } else if metadata.is_symlink() {
            state.insert(path, "link".into());
        } else {
            let content = content(&path).unwrap_or_default();
            state.insert(path, content);
        }
    }
    state
}

/// Copies a directory with all that `cp` can keep.
fn copy(from: &Path, to: &Path) {
    let mut command = Command::new("cp");
    command.arg("-a").args([from, to]);
    Finished::of(command, &[]).exits(0);
}

#[test]
fn settings_cannot_be_written_created_or_reached_by_a_parent() {
    needs!(root, bwrap, git, python3);
    each(User::ALL, BWRAP, |scene| {
        prepare(scene);
        let before = settings(scene);
        let mut failures = Vec::new();
        for act in ACTS {
            let run = scene.confine().run(["sh", "-ec", act]);
            let after = settings(scene);
            if matches!(run.code(), Some(0 | 125..=127)) || after != before {
                let changed: Vec<_> = before
                    .iter()
                    .filter(|(path, content)| after.get(*path) != Some(content))
                    .map(|(path, _)| path)
                    .chain(after.keys().filter(|path| !before.contains_key(*path)))
                    .collect();
                failures.push(format!("{act}: {:?}, {changed:?}: {}", run.code(), run.stderr));
                assert_eq!(after, before, "nothing more can be tried: {failures:#?}");
            }
        }
        assert!(failures.is_empty(), "{failures:#?}");
    });
}

#[test]
fn the_same_acts_change_settings_outside_and_where_git_is_open() {
    needs!(root, bwrap, git, python3);
    each(&[User::Root, User::Ordinary], BWRAP, |scene| {
        prepare(scene);
        let before = settings(scene);
        let kept = scene.base().join("kept");
        copy(&scene.workspace(), &kept);
        for act in ACTS {
            for twin in [false, true] {
                let run = if twin {
                    scene.confine().option("--git", "open").run(["sh", "-ec", act])
                } else {
                    scene.control(["sh", "-ec", act])
                };
                let run = run.exits(0);
                assert_ne!(settings(scene), before, "{act} changes nothing: {run}");
                fs::remove_dir_all(scene.workspace()).expect("it is ours");
                copy(&kept, &scene.workspace());
            }
        }
    });
}

/// Whether the host's next git command runs what was planted: it touches `ran` in the workspace.
fn host_runs(scene: &Scene, git: &[&str]) -> bool {
    let ran = scene.workspace().join("ran");
    let mut words = vec!["git"];
    words.extend(git);
    scene.control(words);
    let found = is_there(&ran);
    let _ = fs::remove_file(ran);
    found
}

/// A scene of its own for each way to run `script`, with the answer of `host_runs`.
fn planted(
    scene: &Scene,
    script: &str,
    git: &[&str],
    how: impl FnOnce(&Scene) -> Finished,
) -> (Finished, bool) {
    let own = Scene::new(scene.user, scene.backend);
    own.repository(&own.workspace());
    own.write(&own.workspace().join("a.txt"), "a\nb\n");
    own.git(&own.workspace(), &["commit", "-qam", "second"]);
    own.write(&own.workspace().join("script"), script);
    let run = how(&own);
    let ran = host_runs(&own, git);
    (run, ran)
}

const SCRIPT: [&str; 2] = ["sh", "script"];

/// The common directory is elsewhere, and has settings of its own.
const COMMONDIR: &str = "
cp -r .git evil
git config -f evil/config core.fsmonitor 'touch ran; false'
echo ../evil > .git/commondir
";

#[test]
fn a_common_directory_with_planted_settings_is_prevented() {
    needs!(root, bwrap, git);
    each(User::ALL, BWRAP, |scene| {
        let status = ["status"];
        let (_, ran) = planted(scene, COMMONDIR, &status, |own| own.control(SCRIPT).exits(0));
        assert!(ran, "the attack does not work outside: this test tries nothing");
        let open = |own: &Scene| own.confine().option("--git", "open").run(SCRIPT).exits(0);
        assert!(planted(scene, COMMONDIR, &status, open).1, "the twin is stopped");
        let (run, ran) = planted(scene, COMMONDIR, &status, |own| own.confine().run(SCRIPT).fails());
        assert!(!ran, "{run}");
    });
}

/// A rebase that stops, with a command still to do.
const REBASE: &str = "git rebase -q -x false -x 'touch ran' HEAD~1 || true";

#[test]
fn a_command_that_waits_in_a_rebase_is_quarantined_and_reported() {
    needs!(root, bwrap, git);
    each(User::ALL, BWRAP, |scene| {
        let next = ["-c", "core.editor=true", "rebase", "--continue"];
        let (_, ran) = planted(scene, REBASE, &next, |own| own.control(SCRIPT).exits(0));
        assert!(ran, "the attack does not work outside: this test tries nothing");
        let open = |own: &Scene| own.confine().option("--git", "open").run(SCRIPT).exits(0);
        assert!(planted(scene, REBASE, &next, open).1, "the twin is stopped");
        let (run, ran) = planted(scene, REBASE, &next, |own| {
            let run = own.confine().with_report().run(SCRIPT).exits(0);
            let list = own.plain().verb(["quarantine", "list"]).run(Vec::<&str>::new()).exits(0);
            assert!(list.stdout.contains("git-rebase-todo"), "{list}");
            run
        });
        assert!(!ran, "{run}");
        let moved =
            list(&run, "quarantined").iter().any(|one| one["path"].to_string().contains("git-rebase-todo"));
        assert!(moved, "it is not reported: {:#}", run.report.as_ref().expect("a report"));
    });
}

/// The same list, written by hand where a rebase of the user's own has stopped.
#[test]
fn a_command_added_to_a_rebase_of_the_users_own_is_quarantined() {
    needs!(root, bwrap, git);
    each(User::ALL, BWRAP, |scene| {
        let next = ["-c", "core.editor=true", "rebase", "--continue"];
        let plant = "echo 'exec touch ran' >> .git/rebase-merge/git-rebase-todo";
        let stopped = |own: &Scene| {
            own.control(["sh", "-c", "git rebase -q -x false HEAD~1"]);
            assert!(is_there(&own.workspace().join(".git/rebase-merge")), "no rebase stopped");
        };
        let outside = |own: &Scene| {
            stopped(own);
            own.control(SCRIPT).exits(0)
        };
        assert!(planted(scene, plant, &next, outside).1, "the attack does not work outside");
        let inside = |confine: fn(Confine<'_>) -> Confine<'_>| {
            planted(scene, plant, &next, |own| {
                stopped(own);
                confine(own.confine().with_report()).run(SCRIPT).exits(0)
            })
        };
        assert!(inside(|confine| confine.option("--git", "open")).1, "the twin is stopped");
        let (run, ran) = inside(|confine| confine);
        assert!(!ran, "{run}");
        assert_eq!(list(&run, "quarantined").len(), 1, "{:#}", run.report.as_ref().expect("a report"));
    });
}

/// A stopped rebase without a command stays, and goes on outside.
#[test]
fn a_rebase_that_stops_without_commands_goes_on_outside() {
    needs!(root, bwrap, git);
    each(User::ALL, BWRAP, |scene| {
        let workspace = scene.workspace();
        scene.repository(&workspace);
        let script = "git checkout -q -b topic && echo t > a.txt && git commit -qam t && git checkout -q main && \
                      echo m > a.txt && git commit -qam m && git checkout -q topic && ! git rebase -q main";
        let run = scene.confine().with_report().run(["sh", "-ec", script]).exits(0);
        assert!(list(&run, "quarantined").is_empty());
        scene
            .control([
                "sh",
                "-ec",
                "echo both > a.txt && git add a.txt && git -c core.editor=true rebase --continue",
            ])
            .exits(0);
        assert_eq!(scene.git(&workspace, &["log", "--format=%s"]).stdout, "t\nm\nfirst\n");
    });
}

/// A rebase that stops before its end, with a merge strategy of the run's own: git runs `git-merge-evil/run` for it.
const STRATEGY: &str = "
mkdir git-merge-evil
printf '#!/bin/sh\\ntouch ran\\nexit 1\\n' > git-merge-evil/run
chmod +x git-merge-evil/run
git checkout -q -b side HEAD~1 && echo s > s.txt && git add s.txt && git commit -qm side
git checkout -q main
GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i side
echo evil/run > .git/rebase-merge/strategy
";

/// A sequence that stops at a conflict, with the same.
const SEQUENCE: &str = "
mkdir git-merge-evil
printf '#!/bin/sh\\ntouch ran\\nexit 1\\n' > git-merge-evil/run
chmod +x git-merge-evil/run
git checkout -q -b side HEAD~1 && echo s > a.txt && git commit -qam side && echo t > t.txt && git add t.txt && git commit -qm more
git checkout -q main
git cherry-pick side~1 side || true
git checkout -q --ours a.txt && git add a.txt
echo s >> s.txt && git add s.txt
printf '[options]\\n\\tstrategy = evil/run\\n' > .git/sequencer/opts
";

#[test]
fn a_strategy_planted_in_a_waiting_operation_is_quarantined_and_reported() {
    needs!(root, bwrap, git);
    each(User::ALL, BWRAP, |scene| {
        for (script, operation, file) in [
            (STRATEGY, "rebase", ".git/rebase-merge/strategy"),
            (SEQUENCE, "cherry-pick", ".git/sequencer/opts"),
        ] {
            let next = ["-c", "core.editor=true", operation, "--continue"];
            let (_, ran) = planted(scene, script, &next, |own| own.control(SCRIPT).exits(0));
            assert!(ran, "the attack by {operation} does not work outside: this test tries nothing");
            let open = |own: &Scene| own.confine().option("--git", "open").run(SCRIPT).exits(0);
            assert!(planted(scene, script, &next, open).1, "the twin is stopped");
            let confined = |own: &Scene| own.confine().with_report().run(SCRIPT).exits(0);
            let (run, ran) = planted(scene, script, &next, confined);
            assert!(!ran, "{run}");
            for (found, kind) in [("quarantined", None), ("violations", Some("git-todo"))] {
                let found = list(&run, found);
                let named = found.iter().any(|one| {
                    one["path"].to_string().contains(file) && kind.is_none_or(|kind| one["kind"] == kind)
                });
                assert!(named, "{found:?}");
            }
        }
    });
}

/// With git's own strategy and options it stays as it is, and goes on outside.
#[test]
fn a_rebase_that_stops_with_a_strategy_of_gits_own_goes_on_outside() {
    needs!(root, bwrap, git);
    each(User::ALL, BWRAP, |scene| {
        let script = STRATEGY
            .replace("rebase -q -i side", "rebase -q -s ort -X theirs -i side")
            .replace("echo evil/run >", "grep -qx ort");
        let next = ["-c", "core.editor=true", "rebase", "--continue"];
        let mut subjects = String::new();
        let (run, ran) = planted(scene, &script, &["--version"], |own| {
            let run = own.confine().with_report().run(SCRIPT).exits(0);
            own.git(&own.workspace(), &next);
            subjects = own.git(&own.workspace(), &["log", "--format=%s"]).stdout;
            run
        });
        assert!(!ran && list(&run, "violations").is_empty() && list(&run, "quarantined").is_empty(), "{run}");
        assert_eq!(subjects, "second\nside\nfirst\n");
    });
}

/// Somebody else's repository, in which the user can create nothing: the run starts, and it cannot be replaced.
#[test]
fn a_repository_of_somebody_elses_is_no_obstacle_and_cannot_be_replaced() {
    needs!(root, bwrap, git);
    each(&[User::Nobody, User::Ordinary], BWRAP, |scene| {
        for mode in ["755", "700"] {
            let own = Scene::new(scene.user, scene.backend);
            let theirs = own.workspace().join("theirs");
            own.repository(&theirs);
            let git = theirs.join(".git");
            let shell = |text: &str| {
                let mut shell = Command::new("sh");
                shell.args(["-ec", text]).arg("sh").arg(&git).arg(mode);
                Finished::of(shell, &[]).exits(0)
            };
            shell("rm -rf \"$1/hooks\" \"$1/info\"; chown -R 0:0 \"$1\"; chmod $2 \"$1\"");
            let run = own.confine().with_report().run(["sh", "-c", "echo new > theirs/b.txt"]).exits(0);
            assert!(list(&run, "violations").is_empty() && is_there(&theirs.join("b.txt")), "{run}");
            for act in [
                "mkdir theirs/.git/hooks",
                "mkdir -p theirs/.git/info && echo > theirs/.git/info/attributes",
                "echo ../evil > theirs/.git/commondir",
                "mv theirs/.git theirs/moved",
                "rm -rf theirs/.git",
            ] {
                let run = own.confine().with_report().run(["sh", "-c", act]);
                assert!(!matches!(run.code(), Some(0 | 125..=127)), "{act}: {run}");
                assert!(is_there(&git.join("HEAD")) && !is_there(&theirs.join("moved")), "{act}: {run}");
            }
            own.control(["mv", "theirs/.git", "theirs/moved"]).exits(0);
        }
    });
}

/// The user's own, closed to its owner: what could be opened up again is protected or refused, and the help is true.
#[test]
fn an_own_repository_without_the_write_bit_is_refused_with_a_help_that_helps() {
    needs!(root, bwrap, git);
    each(&[User::Nobody, User::Ordinary], BWRAP, |scene| {
        let own = Scene::new(scene.user, scene.backend);
        own.repository(&own.workspace());
        own.control(["sh", "-ec", "rm -rf .git/hooks; chmod 555 .git"]).exits(0);
        let refused = own.confine().run(["true"]).exits(125);
        assert!(refused.stderr.contains("let this user write there"), "{refused}");
        assert!(refused.stderr.contains("`--git protect` needs none"), "{refused}");
        own.confine().option("--git", "protect").run(["true"]).exits(0);
        own.control(["chmod", "u+w", ".git"]).exits(0);
        own.confine().run(["true"]).exits(0);
    });
}

/// A bare repository among the files.
const BARE: &str = "
mkdir -p bare/objects bare/refs
echo 'ref: refs/heads/main' > bare/HEAD
printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = ..\\n\\tfsmonitor = \"touch ran; false\"\\n' > bare/config
";

/// The one way that nothing stops: SECURITY.md says so, and names the remedy.
#[test]
fn a_bare_repository_among_the_files_is_documented_and_the_remedy_holds() {
    needs!(root, bwrap, git);
    let security = Path::new(env!("CARGO_MANIFEST_DIR")).join("../SECURITY.md");
    assert!(content(&security).is_some_and(|text| text.contains("safe.bareRepository=explicit")));
    each(User::ALL, BWRAP, |scene| {
        let next = ["-C", "bare", "status"];
        let (_, ran) = planted(scene, BARE, &next, |own| own.control(SCRIPT).exits(0));
        assert!(ran, "the attack does not work outside: this test tries nothing");
        let confined = |own: &Scene| own.confine().run(SCRIPT).exits(0);
        assert!(planted(scene, BARE, &next, confined).1, "it is stopped: SECURITY.md says too little");
        let remedy = ["-c", "safe.bareRepository=explicit", "-C", "bare", "status"];
        let (run, ran) = planted(scene, BARE, &remedy, confined);
        assert!(!ran, "{run}");
    });
}

/// A list of the report.
#[track_caller]
fn list<'a>(run: &'a Finished, name: &str) -> &'a [Value] {
    let report = run.report.as_ref().unwrap_or_else(|| panic!("no report: {run}"));
    report[name].as_array().unwrap_or_else(|| panic!("no `{name}`: {report:#}"))
}
