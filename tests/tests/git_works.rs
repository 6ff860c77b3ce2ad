//! git in a work tree works as it does outside, and its placeholders are seen by nobody.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use confine_tests::world::{content, is_there, within};
use confine_tests::{Backend, Finished, Running, Scene, User, each, needs};
use nix::sys::signal::Signal;

const BWRAP: &[Backend] = &[Backend::Bwrap];

/// Equal dates make equal objects.
const DATES: &[&str] = &["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"];
const DATE: &str = "2026-01-01T00:00:00Z";

/// What must work, one after the other, in a clone of `../out/remote` with a submodule `sub`.
const WORKS: &[(&str, &str)] = &[
    ("commit", "echo b >> a.txt && git add . && git commit -qm second"),
    ("fetch", "git fetch -q origin && git log --format=%s origin/main"),
    (
        "rebase",
        "git checkout -q -b topic HEAD~1 && echo t > t.txt && git add t.txt && git commit -qm topic && git rebase -q main",
    ),
    (
        "stash",
        "echo dirty >> a.txt && git stash -q && git diff --quiet && git stash pop -q && git diff --stat && git checkout -q a.txt",
    ),
    (
        "bisect",
        "git bisect start HEAD HEAD~2 && git bisect run sh -c '! grep -q b a.txt' && git bisect reset",
    ),
    ("cherry-pick", "git checkout -q -b picked main && git cherry-pick topic && git checkout -q topic"),
    ("merge", "git checkout -q main && git merge -q --no-edit origin/main"),
    ("tag", "git tag one && git tag -a -m two two && git tag -d one"),
    (
        "worktree",
        "git worktree add -q tree && (cd tree && echo w > w.txt && git add w.txt && git commit -qm tree) && git worktree remove tree && git worktree list | wc -l",
    ),
    ("commit in a submodule", "cd sub && echo b >> a.txt && git commit -qam inner"),
    ("commit of a submodule", "git commit -qam outer"),
    (
        "nested init",
        "git init -q nested && cd nested && echo n > n.txt && git add n.txt && git commit -qm nested",
    ),
    ("clone", "git clone -q ../out/remote copy && git -C copy log --format=%s"),
    ("reset", "git reset -q --hard HEAD~1 && git reset -q --hard HEAD@{1}"),
    ("gc", "git -c pack.threads=1 gc -q && git fsck --strict"),
];

/// Makes the repository, with what it fetches from.
fn clone(scene: &Scene, repository: &Path) {
    let (remote, library) = (scene.outside().join("remote"), scene.outside().join("library"));
    if !is_there(&remote) {
        scene.repository(&library);
        scene.repository(&remote);
    }
    let local = ["-c", "protocol.file.allow=always"];
    let words = |rest: &[&str]| [&local, rest].concat().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let git = |directory: &Path, rest: &[&str]| {
        let words = words(rest);
        dated(scene, "git", directory, words.iter().map(String::as_str)).exits(0);
    };
    git(&scene.workspace(), &["clone", "-q", text(&remote), text(repository)]);
    git(repository, &["submodule", "--quiet", "add", text(&library), "sub"]);
    git(repository, &["commit", "-q", "-m", "sub"]);
}

/// A program on the host, as the user, at a fixed date.
fn dated<'a>(
    scene: &Scene,
    program: &str,
    directory: &Path,
    words: impl IntoIterator<Item = &'a str>,
) -> Finished {
    let mut command: Command = scene.command(program);
    command.args(words).current_dir(directory).envs(DATES.iter().map(|name| (name, DATE)));
    Finished::of(command, &[])
}

/// Every path below `root` but git's temporary ones, with what it is: a kind, or the content of a file that git reads
/// settings or references from.
fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).expect("it can be listed").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
            let name = path.strip_prefix(root).expect("it is below").to_owned();
            if kind.is_dir() {
                waiting.push(path);
                found.insert(name, "directory".into());
            } else if kind.is_symlink() {
                found.insert(name, "link".into());
            } else {
                found.insert(
                    name,
                    String::from_utf8_lossy(&fs::read(&path).expect("it can be read")).into_owned(),
                );
            }
        }
    }
    found
}

/// What of a tree must be equal in two places: all names, and the content of all but what holds a time or a place.
fn comparable(root: &Path) -> BTreeMap<PathBuf, String> {
    let own = text(root).to_owned();
    let mut tree = tree(root);
    tree.retain(|path, _| !path.to_string_lossy().contains(".git/objects/pack"));
    for (path, content) in &mut tree {
        *content = content.replace(&own, "HERE");
        if path.ends_with("index") {
            content.clear();
        }
    }
    tree
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of ours")
}

fn status(scene: &Scene, repository: &Path) -> String {
    scene.git(repository, &["status", "--porcelain"]).stdout
}

#[test]
fn what_works_outside_works_inside_and_leaves_the_same() {
    needs!(root, bwrap, landlock = 6, git);
    each(User::ALL, Backend::ALL, |scene| {
        let (inside, outside) = (scene.base().join("inside"), scene.base().join("outside"));
        for repository in [&inside, &outside] {
            scene.directory(repository);
            clone(scene, repository);
        }
        scene.write(&scene.outside().join("remote/r.txt"), "r\n");
        scene.git(&scene.outside().join("remote"), &["add", "r.txt"]);
        dated(scene, "git", &scene.outside().join("remote"), ["commit", "-q", "-m", "remote"]).exits(0);
        for (what, script) in WORKS {
            let control = dated(scene, "sh", &outside, ["-ec", script]).exits(0);
            let confine = DATES.iter().fold(scene.confine().in_directory(&inside), |confine, name| {
                confine.option("--env", format!("{name}={DATE}"))
            });
            let run = confine.run(["sh", "-ec", script]);
            assert_eq!(run.code(), Some(0), "{what}: {run}");
            assert_eq!(run.stdout, control.stdout.replace(text(&outside), text(&inside)), "{what}: {run}");
            assert_eq!(status(scene, &inside), status(scene, &outside), "{what}");
            assert_eq!(comparable(&inside), comparable(&outside), "{what}");
        }
    });
}

#[test]
fn what_works_in_a_linked_worktree_leaves_its_repository_clean() {
    needs!(root, bwrap, git);
    each(User::ALL, BWRAP, |scene| {
        let (repository, worktree) = (scene.base().join("main"), scene.base().join("linked"));
        scene.repository(&repository);
        scene.directory(&worktree);
        scene.git(&repository, &["worktree", "add", "-q", "-b", "linked", text(&worktree)]);
        let acts = [
            ("commit", "echo b >> a.txt && git commit -qam second"),
            ("stash", "echo c >> a.txt && git stash -q && git stash pop -q && git checkout -q a.txt"),
            (
                "rebase",
                "git checkout -q -b topic HEAD~1 && git commit -q --allow-empty -m t && git rebase -q linked",
            ),
            ("fetch", "git fetch -q ../main main && git rev-parse -q --verify FETCH_HEAD"),
        ];
        for (what, script) in acts {
            let run = scene.confine().in_directory(&worktree).run(["sh", "-ec", script]);
            assert_eq!(run.code(), Some(0), "{what}: {run}");
            assert_eq!((status(scene, &worktree), status(scene, &repository)), Default::default(), "{what}");
        }
        let placeholder = |path: &&str| is_there(&repository.join(".git").join(path));
        let left: Vec<_> =
            ["commondir", "config.worktree", "info/attributes"].into_iter().filter(placeholder).collect();
        assert_eq!(left, Vec::<&str>::new());
        scene.git(&repository, &["fsck", "--strict"]);
    });
}

/// A repository that lacks everything which a placeholder stands for, and a program in it that waits for its input.
struct Waiting {
    before: BTreeMap<PathBuf, String>,
    run: Running,
}

impl Waiting {
    fn start(scene: &Scene) -> Self {
        let workspace = scene.workspace();
        scene.repository(&workspace);
        fs::remove_dir_all(workspace.join(".git/hooks")).expect("hooks of the template");
        fs::remove_dir_all(workspace.join(".git/info")).expect("and its exclude file");
        scene.write(&workspace.join("ready"), "no\n");
        scene.git(&workspace, &["status"]);
        let before = tree(&workspace);
        let run = scene.confine().with_report().start(["sh", "-c", "echo yes > ready; read word"]);
        let ready = || content(&workspace.join("ready")).as_deref() == Some("yes\n");
        assert!(within(Duration::from_secs(20), ready), "the program does not start");
        scene.write(&workspace.join("ready"), "no\n");
        Self { before, run }
    }
}

#[test]
fn git_status_is_the_same_before_during_and_after() {
    needs!(root, bwrap, landlock = 6, git);
    each(User::ALL, Backend::ALL, |scene| {
        let workspace = scene.workspace();
        let Waiting { before, run } = Waiting::start(scene);
        assert_eq!(status(scene, &workspace), "?? ready\n");
        if scene.backend == Backend::Bwrap {
            let during = tree(&workspace);
            assert!(during.len() > before.len(), "there are no placeholders: this test sees nothing");
        }
        scene.git(&workspace, &["fsck", "--strict"]);
        run.signal(Signal::SIGTERM);
        run.wait().exits(143);
        assert_eq!(tree(&workspace), before);
        assert_eq!(status(scene, &workspace), "?? ready\n");
    });
}

#[test]
fn the_host_can_commit_while_a_run_lasts() {
    needs!(root, bwrap, git);
    each(User::ALL, BWRAP, |scene| {
        let workspace = scene.workspace();
        let Waiting { run, .. } = Waiting::start(scene);
        scene.git(&workspace, &["add", "ready"]);
        scene.git(&workspace, &["commit", "-q", "-m", "meanwhile"]);
        scene.git(&workspace, &["gc", "-q"]);
        run.signal(Signal::SIGTERM);
        run.wait().exits(143).reports("/violations", serde_json::json!([]));
        assert_eq!(scene.git(&workspace, &["log", "--format=%s"]).stdout, "meanwhile\nfirst\n");
        assert_eq!(status(scene, &workspace), "");
    });
}

#[test]
fn a_killed_run_leaves_only_inert_placeholders_and_the_next_start_removes_them() {
    needs!(root, bwrap, landlock = 6, git);
    each(User::ALL, Backend::ALL, |scene| {
        let workspace = scene.workspace();
        let Waiting { before, run } = Waiting::start(scene);
        run.signal(Signal::SIGKILL);
        assert_eq!(run.wait().signal(), Some(9));

        let left: BTreeMap<_, _> =
            tree(&workspace).into_iter().filter(|(path, _)| !before.contains_key(path)).collect();
        let inert = |(path, content): (&PathBuf, &String)| match path.strip_prefix(".git").map(text) {
            Ok("commondir") => content == ".\n",
            Ok("config.worktree" | "info/attributes") => content.is_empty(),
            Ok("hooks" | "info") => content == "directory",
            _ => false,
        };
        assert!(left.iter().all(inert), "{left:?}");
        assert!(!left.is_empty() || scene.backend == Backend::Landlock, "this test sees nothing");
        // They are in nobody's way.
        assert_eq!(status(scene, &workspace), "?? ready\n");
        scene.git(&workspace, &["fsck", "--strict"]);
        scene.git(&workspace, &["stash", "-q", "-u"]);
        scene.git(&workspace, &["stash", "drop", "-q"]);

        scene.confine().run(["true"]).exits(0);
        let after = tree(&workspace);
        let still: Vec<_> = left.keys().filter(|path| after.contains_key(*path)).collect();
        assert_eq!(still, Vec::<&PathBuf>::new());
    });
}

#[test]
fn a_placeholder_that_somebody_filled_meanwhile_is_not_lost() {
    needs!(root, bwrap, git);
    each(User::ALL, BWRAP, |scene| {
        let workspace = scene.workspace();
        let Waiting { run, .. } = Waiting::start(scene);
        run.signal(Signal::SIGKILL);
        run.wait();
        let hook = scene.write(&workspace.join(".git/hooks/pre-commit"), "#!/bin/sh\n");
        scene.confine().run(["true"]).exits(0);
        // Who made it is not known, so it is moved away, where the user finds it.
        let list = scene.plain().verb(["quarantine", "list", "--json"]).run(Vec::<&str>::new()).exits(0);
        let kept = content(&hook).is_some() || list.stdout.contains(".git/hooks");
        assert!(kept, "{list}");
    });
}
