//! Field cases C: git.

use std::path::Path;

use confine_tests::world::{content, is_there, names};
use confine_tests::{Backend, Scene, User, each, needs};

const EVERYBODY: &[User] = User::ALL;
const BWRAP: &[Backend] = &[Backend::Bwrap];

fn commits(scene: &Scene, repository: &Path) -> usize {
    scene.git(repository, &["log", "--oneline"]).stdout.lines().count()
}

/// Tries to append to each path inside, and expects every one to stay as it is.
fn assert_unwritable(scene: &Scene, root: &Path, paths: &[&str]) {
    for path in paths {
        let place = root.join(path);
        let before = content(&place);
        let script = format!("mkdir -p \"$(dirname {0})\" 2>/dev/null; echo evil >> {0}", place.display());
        scene.confine().shell(&script).fails();
        assert_eq!(content(&place), before, "{path} was written");
    }
}

#[test]
fn case_c01_a_commit_works_and_what_git_runs_stays_as_it_is() {
    needs!(root, bwrap, git);
    each(EVERYBODY, BWRAP, |scene| {
        let workspace = scene.workspace();
        scene.repository(&workspace);
        scene.write(&workspace.join(".git/modules/sub/config"), "[core]\n");
        scene.write(&workspace.join(".git/modules/sub/hooks/sample"), "");
        scene.confine().shell("echo b >> a.txt && git commit -qam x").exits(0);
        assert_eq!(commits(scene, &workspace), 2);
        assert_eq!(scene.git(&workspace, &["status", "--porcelain"]).stdout, "");
        let git_runs = [
            ".git/config",
            ".git/config.worktree",
            ".git/commondir",
            ".git/hooks/pre-commit",
            ".git/info/attributes",
            ".git/modules/sub/config",
            ".git/modules/sub/hooks/pre-commit",
        ];
        assert_unwritable(scene, &workspace, &git_runs);
        // The twin: a place in .git that no command comes from.
        scene.confine().shell("echo note >> .git/description").exits(0);
        scene.git(&workspace, &["fsck", "--strict"]);
    });
}

#[test]
fn case_c01_under_protect_a_commit_fails_and_changes_nothing() {
    needs!(root, bwrap, git);
    each(EVERYBODY, BWRAP, |scene| {
        let workspace = scene.workspace();
        scene.repository(&workspace);
        let run = scene.confine().option("--git", "protect").shell("echo b >> a.txt && git commit -qam x");
        run.exits(128).says("index.lock");
        assert_eq!(commits(scene, &workspace), 1);
        assert_eq!(content(&workspace.join("a.txt")).as_deref(), Some("a\nb\n"));
        assert!(!is_there(&workspace.join(".git/index.lock")));
        scene.confine().option("--git", "open").run(["git", "commit", "-qam", "x"]).exits(0);
        assert_eq!(commits(scene, &workspace), 2);
    });
}

#[test]
fn case_c02_a_commit_in_a_linked_worktree_works_and_its_repository_is_protected() {
    needs!(root, bwrap, git);
    each(EVERYBODY, BWRAP, |scene| {
        let (repository, worktree) = (scene.base().join("main"), scene.base().join("linked"));
        scene.repository(&repository);
        scene.directory(&worktree);
        scene.git(&repository, &["worktree", "add", "-q", "-b", "linked", worktree.to_str().unwrap()]);
        let other = scene.directory(&scene.base().join("other"));
        scene.git(&repository, &["worktree", "add", "-q", "-b", "other", other.to_str().unwrap()]);

        let confine = || scene.confine().in_directory(&worktree);
        confine().shell("echo b >> a.txt && git commit -qam x").exits(0);
        assert_eq!(commits(scene, &worktree), 2);
        assert_eq!(commits(scene, &repository), 1);
        let kept = [
            ".git/config",
            ".git/hooks/pre-commit",
            ".git/commondir",
            ".git/index",
            ".git/worktrees/other/HEAD",
            ".git/worktrees/other/gitdir",
            ".git/worktrees/linked/gitdir",
            ".git/worktrees/linked/commondir",
            "a.txt",
        ];
        for path in kept {
            let place = repository.join(path);
            let before = content(&place);
            confine().shell(&format!("echo evil >> {}", place.display())).fails();
            assert_eq!(content(&place), before, "{path} was written");
        }
        confine().shell("echo 'gitdir: /tmp/evil' > .git").fails();
        // An explicit grant of the user's is not overridden.
        let granted = confine().options(["--write".into(), repository.join("a.txt")]);
        granted.shell(&format!("echo granted >> {}", repository.join("a.txt").display())).exits(0);
        assert_eq!(content(&repository.join("a.txt")).as_deref(), Some("a\ngranted\n"));
    });
}

#[test]
fn case_c04_settings_of_submodules_are_protected_too() {
    needs!(root, bwrap, git);
    each(EVERYBODY, BWRAP, |scene| {
        let workspace = scene.workspace();
        let library = scene.base().join("library");
        scene.repository(&library);
        scene.repository(&workspace);
        let add = [
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            library.to_str().unwrap(),
            "sub",
        ];
        scene.git(&workspace, &add);
        scene.git(&workspace, &["commit", "-qm", "sub"]);

        let paths =
            [".git/modules/sub/config", ".git/modules/sub/hooks/pre-commit", "sub/.git", ".gitmodules"];
        assert_unwritable(scene, &workspace, &paths);
        let pointer = content(&workspace.join("sub/.git"));
        scene.confine().shell("mv sub sub2 && mkdir sub && echo 'gitdir: /tmp/evil' > sub/.git").fails();
        scene.confine().shell("rm sub/.git && echo 'gitdir: /tmp/evil' > sub/.git").fails();
        scene.confine().shell("mv .git/modules/sub .git/modules/sub2").fails();
        assert_eq!(content(&workspace.join("sub/.git")), pointer);
        assert_eq!(names(&workspace.join(".git/modules")), ["sub"]);
        // The twin: a commit inside the submodule.
        scene.confine().shell("cd sub && echo b >> a.txt && git commit -qam x").exits(0);
        assert_eq!(commits(scene, &workspace.join("sub")), 2);
    });
}

#[test]
fn case_c04_a_closed_directory_of_submodules_cannot_be_opened_again() {
    needs!(root, bwrap, git);
    // Root may list any directory of its own.
    each(&[User::Nobody, User::Ordinary], BWRAP, |scene| {
        scene.repository(&scene.workspace());
        let modules = scene.workspace().join(".git/modules");
        let config = scene.write(&modules.join("sub/config"), "[core]\n");
        for path in [modules.clone(), modules.join("sub")] {
            scene.own(&path);
        }
        let attack = "chmod 755 .git/modules && echo evil >> .git/modules/sub/config";
        let close = || scene.control(["chmod", "0", modules.to_str().unwrap()]).exits(0);
        close();
        scene.confine().shell(attack).fails();
        assert_eq!(content(&config).as_deref(), Some("[core]\n"));
        scene.confine().option("--git", "open").shell(attack).exits(0);
        assert_eq!(content(&config).as_deref(), Some("[core]\nevil\n"));
        close();
        scene.control(["sh", "-c", attack]).exits(0);
        assert_eq!(content(&config).as_deref(), Some("[core]\nevil\nevil\n"));
    });
}
