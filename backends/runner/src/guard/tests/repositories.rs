//! What is owed in and about git repositories.

use super::*;

fn status(bench: &Bench) -> String {
    let mut git = std::process::Command::new("git");
    git.args(["status", "--porcelain"]).current_dir(bench.ws("")).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = git.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn placeholders_stand_during_the_run_do_not_show_and_go_after_it() {
    let bench = Bench::git();
    let policy = bench.policy("");
    let names: Vec<AbsPath> = policy.fs.placeholders.keys().cloned().collect();
    assert!(
        names.contains(&bench.ws(".git/hooks")) && names.contains(&bench.ws(".git/commondir")),
        "{names:?}"
    );
    let guard = bench.begin(&policy, "r1");
    assert!(names.iter().all(exists));
    assert_eq!(std::fs::read_to_string(bench.ws(".git/commondir")).unwrap(), ".\n");
    assert_eq!(status(&bench), "");
    let after = guard.finish();
    assert!(after.violations.is_empty(), "{:?}", after.violations);
    assert!(!names.iter().any(exists));
    assert_eq!(status(&bench), "");
}

#[test]
fn what_took_the_place_of_a_placeholder_is_moved_away() {
    let bench = Bench::git();
    let guard = bench.begin(&bench.policy(""), "r1");
    write(&bench.ws(".git/hooks/pre-commit"), "evil");
    std::fs::remove_file(bench.ws(".git/commondir")).unwrap();
    write(&bench.ws(".git/commondir"), "../evil\n");
    let after = guard.finish();
    assert_eq!(after.violations, [appeared(&bench.ws(".git/hooks")), appeared(&bench.ws(".git/commondir"))]);
    assert!(!exists(&bench.ws(".git/hooks")) && !exists(&bench.ws(".git/commondir")));
}

#[test]
fn a_directory_made_for_another_placeholder_stays_if_git_used_it() {
    let bench = Bench::git();
    let guard = bench.begin(&bench.policy(""), "r1");
    write(&bench.ws(".git/info/exclude"), "*.o\n");
    let after = guard.finish();
    assert!(after.violations.is_empty(), "{:?}", after.violations);
    assert!(exists(&bench.ws(".git/info/exclude")) && !exists(&bench.ws(".git/info/attributes")));
}

#[test]
fn a_repository_made_by_the_run_is_reported_and_stays() {
    let bench = Bench::new();
    let policy = bench.policy("");
    let guard = bench.begin(&policy, "r1");
    git_init(&bench.ws(""));
    let after = guard.finish();
    assert_eq!(after.new_repositories, [bench.ws(".git")]);
    assert!(after.violations.is_empty() && exists(&bench.ws(".git/HEAD")));
}

#[test]
fn a_clone_in_the_workspace_is_reported_and_an_older_one_is_not() {
    let bench = Bench::git();
    let (older, clone) = (bench.ws("older"), bench.ws("clone"));
    std::fs::create_dir(&older).unwrap();
    git_init(&older);
    std::thread::sleep(std::time::Duration::from_millis(20));
    let guard = bench.begin(&bench.policy(""), "r1");
    std::fs::create_dir(&clone).unwrap();
    git_init(&clone);
    write(&bench.ws("fake/.git/config"), "");
    let after = guard.finish();
    assert_eq!(after.new_repositories, [bench.ws("clone/.git")]);
    assert!(after.violations.is_empty() && exists(&bench.ws("clone/.git/HEAD")));
}

#[test]
fn a_bare_layout_made_by_the_run_is_reported_and_an_older_one_is_not() {
    let bench = Bench::git();
    let layout = |name: &str| {
        write(&bench.ws(&format!("{name}/HEAD")), "ref: refs/heads/main\n");
        for below in ["objects", "refs"] {
            std::fs::create_dir(bench.ws(&format!("{name}/{below}"))).unwrap();
        }
    };
    layout("older");
    std::fs::create_dir(bench.ws("emptied")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let guard = bench.begin(&bench.policy(""), "r1");
    layout("bare");
    layout("emptied");
    write(&bench.ws("plain/HEAD"), "no repository");
    let after = guard.finish();
    assert_eq!(after.new_repositories, [bench.ws("bare"), bench.ws("emptied")]);
    assert!(after.violations.is_empty() && exists(&bench.ws("bare/HEAD")));
}

#[test]
fn without_mounts_nothing_stands_in_and_no_mask_is_watched_but_names_are_compared() {
    let bench = Bench::git();
    let policy = bench.policy("");
    assert!(!policy.fs.placeholders.is_empty() && !crate::watch::masks(&policy).is_empty());
    let guard = Guard::begin(&policy, Mounts::Absent, "r1", &bench.places).unwrap();
    assert!(!policy.fs.placeholders.keys().any(exists));
    assert!(guard.watch().is_none());
    write(&bench.ws(".envrc"), "evil");
    let after = guard.finish();
    assert_eq!(after.violations, [appeared(&bench.ws(".envrc"))]);
    assert!(!exists(&bench.ws(".envrc")) && bench.journal().is_empty());
}

#[test]
fn a_link_or_a_pointer_file_called_git_is_no_new_repository() {
    let plants: [fn(&AbsPath); 2] =
        [|path| symlink("/etc", path).unwrap(), |path| write(path, "gitdir: /nonexistent\n")];
    for plant in plants {
        let bench = Bench::new();
        let guard = bench.begin(&bench.policy(""), "r1");
        plant(&bench.ws(".git"));
        let after = guard.finish();
        assert_eq!(after.violations, [appeared(&bench.ws(".git"))]);
        assert!(after.new_repositories.is_empty() && !exists(&bench.ws(".git")));
    }
}

#[test]
fn a_planted_rebase_that_runs_commands_is_moved_away() {
    let bench = Bench::git();
    let guard = bench.begin(&bench.policy(""), "r1");
    let todo = bench.ws(".git/rebase-merge/git-rebase-todo");
    write(&todo, "pick 1 a\n x touch evil\n");
    let after = guard.finish();
    assert_eq!(after.violations, [Violation::GitTodo { path: todo.clone() }]);
    assert!(!exists(&todo) && exists(&bench.ws(".git/rebase-merge")));
}

#[test]
fn a_rebase_in_a_worktree_or_behind_a_link_is_found() {
    let bench = Bench::git();
    write(&bench.ws("evil/git-rebase-todo"), "exec true\n");
    let guard = bench.begin(&bench.policy(""), "r1");
    symlink(bench.ws("evil"), bench.ws(".git/rebase-merge")).unwrap();
    write(&bench.ws(".git/worktrees/w/rebase-merge/git-rebase-todo"), "exec true\n");
    let after = guard.finish();
    assert_eq!(after.violations.len(), 2, "{:?}", after.violations);
    assert!(!exists(&bench.ws(".git/rebase-merge")) && exists(&bench.ws("evil/git-rebase-todo")));
}

#[test]
fn the_users_own_unchanged_or_harmless_operation_stays() {
    let bench = Bench::git();
    let todo = bench.ws(".git/rebase-merge/git-rebase-todo");
    write(&todo, "exec make\n");
    let after = bench.begin(&bench.policy(""), "r1").finish();
    assert!(after.violations.is_empty() && exists(&todo), "unchanged");
    let guard = bench.begin(&bench.policy(""), "r2");
    write(&todo, "pick 1 a\n");
    assert!(guard.finish().violations.is_empty() && exists(&todo), "changed, but runs nothing");
    let guard = bench.begin(&bench.policy(""), "r3");
    write(&todo, "exec evil\n");
    assert_eq!(guard.finish().violations.len(), 1, "changed, and runs commands");
}

#[test]
fn what_a_new_repository_names_in_its_own_index_is_reported_too() {
    let bench = Bench::git();
    let guard = bench.begin(&bench.policy(""), "r1");
    let trees = ["a/b/c/d/one", "a/b/c/d/one/e/two", "a/b/c/d/one/e/two/f/three"];
    for tree in trees {
        std::fs::create_dir_all(bench.ws(tree)).unwrap();
        git_init(&bench.ws(tree));
    }
    link(&bench, trees[0]);
    link_in(&bench.ws(trees[0]), "e/two");
    link_in(&bench.ws(trees[1]), "f/three");
    let made = trees.map(|tree| bench.ws(tree).join(".git").unwrap());
    assert_eq!(guard.finish().new_repositories, made);
}

/// Names `path` in the index as another repository, whether one is there or not.
fn link(bench: &Bench, path: &str) {
    link_in(&bench.ws(""), path);
}

fn link_in(top: &AbsPath, path: &str) {
    let entry = format!("160000,{},{path}", "1".repeat(40));
    let mut git = std::process::Command::new("git");
    git.args(["update-index", "--add", "--cacheinfo", &entry]).current_dir(top);
    assert!(git.status().unwrap().success());
}

#[test]
fn a_gitlink_with_a_git_that_was_not_there_is_reported_at_any_depth() {
    type Plant = fn(&AbsPath);
    let plants: [Plant; 3] = [
        |path| git_init(&path.parent().unwrap()),
        |path| write(path, "gitdir: ../../elsewhere\n"),
        |path| symlink("/elsewhere", path).unwrap(),
    ];
    for plant in plants {
        for linked in ["before", "during"] {
            let bench = Bench::git();
            let dot_git = bench.ws("1/2/3/4/5/sub/.git");
            std::fs::create_dir_all(dot_git.parent().unwrap()).unwrap();
            if linked == "before" {
                link(&bench, "1/2/3/4/5/sub");
            }
            let guard = bench.begin(&bench.policy(""), "r1");
            plant(&dot_git);
            if linked == "during" {
                link(&bench, "1/2/3/4/5/sub");
            }
            let after = guard.finish();
            assert_eq!(after.new_repositories, std::slice::from_ref(&dot_git), "{linked}");
            assert!(after.violations.is_empty() && exists(&dot_git));
        }
    }
}

#[test]
fn a_gitlink_that_was_there_is_reported_only_if_it_is_another_one_now() {
    let bench = Bench::git();
    let dot_git = bench.ws("1/2/3/4/5/sub/.git");
    std::fs::create_dir_all(dot_git.parent().unwrap()).unwrap();
    git_init(&dot_git.parent().unwrap());
    link(&bench, "1/2/3/4/5/sub");
    assert!(bench.begin(&bench.policy(""), "r1").finish().new_repositories.is_empty());
    let guard = bench.begin(&bench.policy(""), "r2");
    std::fs::rename(dot_git.as_path(), bench.ws("old").as_path()).unwrap();
    assert!(bench.begin(&bench.policy(""), "r3").finish().new_repositories.is_empty(), "there is none");
    git_init(&dot_git.parent().unwrap());
    assert_eq!(guard.finish().new_repositories, [dot_git]);
}

#[test]
fn an_index_that_became_too_long_to_be_read_is_reported() {
    let bench = Bench::git();
    link(&bench, "sub");
    let guard = bench.begin(&bench.policy(""), "r1");
    let index = std::fs::OpenOptions::new().write(true).open(bench.ws(".git/index").as_path()).unwrap();
    index.set_len(confine_core::policy::git::index::BOUND + 1).unwrap();
    assert_eq!(guard.finish().new_repositories, [bench.ws(".git")]);
    let after = bench.begin(&bench.policy(""), "r2").finish();
    assert!(after.new_repositories.is_empty(), "it was before");
}

#[test]
fn a_git_file_below_a_grant_is_reported() {
    let bench = Bench::git();
    let guard = bench.begin(&bench.policy(""), "r1");
    write(&bench.ws("clone/.git"), "gitdir: /elsewhere\n");
    assert_eq!(guard.finish().new_repositories, [bench.ws("clone/.git")]);
}
