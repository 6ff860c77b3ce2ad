//! Field cases B: the filesystem jail.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use confine_tests::world::{assert_gone, content, is_there, living, marker, names, within};
use confine_tests::{Backend, Scene, Temporary, User, each, needs};
use nix::sys::signal::Signal;

const EVERYBODY: &[User] = User::ALL;
const MORTALS: &[User] = &[User::Nobody, User::Ordinary];
const BWRAP: &[Backend] = &[Backend::Bwrap];

/// A policy file outside every grant.
fn policy(scene: &Scene, text: &str) -> PathBuf {
    let file = scene.base().join("policy.toml");
    fs::write(&file, format!("version = 1\n{text}")).unwrap();
    file
}

fn linked_workspace(scene: &Scene) -> PathBuf {
    let (workspace, real) = (scene.workspace(), scene.directory(&scene.base().join("real")));
    scene.write(&real.join("conf.json"), "real");
    for (link, target) in
        [("conf.json", "../real/conf.json"), ("skills", "../real"), ("dang", "/nonexistent/x")]
    {
        symlink(target, workspace.join(link)).unwrap();
    }
    // The targets lie in a write grant, so only the protection can stop a write.
    policy(
        scene,
        "extends = \"workspace-write\"\n[filesystem]\nwrite = [\"real\"]\n\
         protect = [\"conf.json\", \"skills\", \"dang\"]\n",
    )
}

#[test]
fn case_b01_protected_names_that_are_links_do_not_break_the_set_up() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        let policy = linked_workspace(scene);
        let run = scene.confine().options(["--policy".into(), policy]).run(["echo", "ok"]).exits(0);
        assert_eq!(run.stdout, "ok\n");
        assert!(is_there(&scene.workspace().join("dang")) && !is_there(Path::new("/nonexistent")));
    });
}

#[test]
fn case_b01_link_and_target_are_both_protected() {
    needs!(root, bwrap);
    each(EVERYBODY, BWRAP, |scene| {
        let policy = linked_workspace(scene);
        let real = scene.base().join("real");
        let confine = || scene.confine().options(["--policy".into(), policy.clone()]);
        confine().shell("echo evil > conf.json").fails();
        confine().shell("echo evil > skills/new").fails();
        confine().shell("echo evil > ../real/conf.json").fails();
        assert_eq!(content(&real.join("conf.json")).as_deref(), Some("real"));
        assert_eq!(names(&real), ["conf.json"]);

        let link = scene.workspace().join("conf.json");
        confine().with_report().shell("rm conf.json && echo evil > conf.json; exit 0").exits(0);
        assert_ne!(content(&link).as_deref(), Some("evil\n"), "the planted file is still in place");
        // The control: without a word about it, the target may be written.
        let plain = || scene.confine().options(["--write".into(), real.clone()]);
        plain().shell("echo fine > ../real/conf.json").exits(0);
        assert_eq!(content(&real.join("conf.json")).as_deref(), Some("fine\n"));
    });
}

#[test]
fn case_b02_patterns_do_not_follow_links_out_of_the_workspace() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        let (workspace, tree) = (scene.workspace(), scene.base().join("other/tree"));
        scene.write(&tree.join("secrets.env"), "elsewhere");
        scene.write(&workspace.join("sub/own.env"), "s3cret");
        symlink(&tree, workspace.join("bazel-x")).unwrap();
        symlink("bazel-x", workspace.join("loop")).unwrap();
        let policy = policy(
            scene,
            "extends = \"workspace-write\"\n[filesystem]\nhide = [\"${workspace}/**/*.env\"]\n",
        );
        let confine = || scene.confine().options(["--policy".into(), policy.clone()]);
        assert_eq!(confine().run(["echo", "ok"]).exits(0).stdout, "ok\n");
        if scene.backend == Backend::Bwrap {
            let run = confine().run(["cat", "sub/own.env"]);
            assert!(run.code() != Some(0) && !run.stdout.contains("s3cret"), "{run}");
        }
        assert_eq!(scene.confine().run(["cat", "sub/own.env"]).exits(0).stdout, "s3cret");
    });
}

/// Every name below `directory`, except confine's own places.
fn tree(directory: &Path) -> Vec<String> {
    fn walk(directory: &Path, prefix: &str, found: &mut Vec<String>) {
        for name in names(directory) {
            let path = format!("{prefix}/{name}");
            if ["/.local", "/.cache", "/.config"].contains(&path.as_str()) {
                continue;
            }
            let place = directory.join(&name);
            found.push(path.clone());
            if place.is_dir() && !place.is_symlink() {
                walk(&place, &path, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(directory, "", &mut found);
    found
}

/// Names that git does not care about, made for as long as a run lasts.
const PLACEHOLDERS: &[&str] =
    &["/.git/commondir", "/.git/hooks", "/.git/info", "/.git/info/attributes", "/.git/config.worktree"];

#[test]
fn case_b03_nothing_is_left_on_the_host() {
    needs!(root, bwrap, landlock = 6, git);
    each(EVERYBODY, Backend::ALL, |scene| {
        let workspace = scene.workspace();
        scene.repository(&workspace);
        scene.write(&scene.home().join(".profile"), "");
        let status = || scene.git(&workspace, &["status", "--porcelain"]).stdout;
        let places = || (tree(&workspace), tree(&scene.home()));
        let before = places();
        assert_eq!(status(), "");

        scene.confine().run(["true"]).exits(0);
        assert_eq!((places(), status()), (before.clone(), String::new()), "after a run");

        let marker = marker();
        let run = scene.confine().start(["sleep", &marker]);
        let sleeps =
            || living(&marker).iter().any(|line| line.contains(" sleep ") && !line.contains("confine"));
        assert!(within(Duration::from_secs(10), sleeps), "it does not start");
        assert_eq!(status(), "", "while it runs");
        let strange = |now: &(Vec<String>, Vec<String>)| {
            let new = now.0.iter().filter(|name| !before.0.contains(name));
            let strange: Vec<_> =
                new.filter(|name| !PLACEHOLDERS.contains(&name.as_str())).cloned().collect();
            (strange, now.1.clone())
        };
        assert_eq!(strange(&places()), (Vec::new(), before.1.clone()), "while it runs");
        run.signal(Signal::SIGKILL);
        assert_gone(&marker, Duration::from_secs(2));
        assert_eq!(status(), "", "after a kill");
        assert_eq!(strange(&places()), (Vec::new(), before.1.clone()), "after a kill");
        drop(run);

        scene.confine().run(["true"]).exits(0);
        assert_eq!((places(), status()), (before.clone(), String::new()), "after the next start");
    });
}

#[test]
fn case_b04_a_new_repository_is_reported_and_a_parent_is_still_found() {
    needs!(root, bwrap, git);
    each(EVERYBODY, BWRAP, |scene| {
        let workspace = scene.workspace();
        let script = "git init -q . && git config core.fsmonitor ./x";
        let run = scene.confine().with_report().shell(script).exits(0);
        let report = run.report.as_ref().expect("a report");
        let reported = report["new_repositories"].as_array().expect("a list");
        let expected = [workspace.clone(), workspace.join(".git")];
        let found = reported.iter().any(|one| expected.iter().any(|path| one == path.to_str().unwrap()));
        assert!(found, "the new repository is not reported: {report:#}");

        let parent = scene.base().join("parent");
        scene.repository(&parent);
        let sub = scene.directory(&parent.join("sub/deeper"));
        let top = scene.confine().in_directory(&sub).run(["git", "rev-parse", "--show-toplevel"]).exits(0);
        assert_eq!(top.stdout.trim(), parent.to_str().unwrap());
        assert_eq!(names(&sub), Vec::<String>::new(), "a set-up that leaves something");
    });
}

#[test]
fn case_b05_a_pinned_ancestor_cannot_be_renamed() {
    needs!(root, bwrap, git);
    each(EVERYBODY, BWRAP, |scene| {
        let workspace = scene.workspace();
        scene.repository(&workspace);
        let script = "mv .git .git2 && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit";
        let hook = workspace.join(".git/hooks/pre-commit");
        scene.confine().shell(script).fails();
        assert!(!is_there(&hook) && !is_there(&workspace.join(".git2")));
        scene.git(&workspace, &["rev-parse", "HEAD"]);
        scene.confine().option("--git", "open").shell(script).exits(0);
        assert!(is_there(&hook));
        fs::remove_dir_all(workspace.join(".git")).unwrap();
        fs::rename(workspace.join(".git2"), workspace.join(".git")).unwrap();
        scene.control(["sh", "-c", script]).exits(0);
        assert!(is_there(&hook));
    });
}

#[test]
fn case_b06_what_a_backend_cannot_express_is_refused_by_name() {
    needs!(root, landlock = 6, git);
    each(EVERYBODY, &[Backend::Landlock], |scene| {
        let workspace = scene.workspace();
        scene.repository(&workspace);
        let hook = workspace.join(".git/hooks/pre-commit");
        let script = "echo x > .git/x; mv .git/x .git/hooks/pre-commit";
        let run = scene.plain().option("--backend", "landlock").with_report().shell(script).exits(125);
        let run = run.says("fs-carve-out").reports("/verdict", "launcher-failed");
        assert!(!is_there(&hook) && !is_there(&workspace.join(".git/x")), "it ran: {run}");
        let run = scene.confine().with_report().shell(script).exits(0);
        let missing = run.report.as_ref().and_then(|report| report["missing"].as_array()).expect("a list");
        assert!(missing.iter().any(|loss| loss["effect"] == "fs-carve-out"), "{missing:?}");
    });
}

#[test]
fn case_b10_too_many_matches_are_a_clear_error_in_bounded_time() {
    needs!(root, bwrap);
    each(&[User::Ordinary], BWRAP, |scene| {
        let workspace = scene.workspace();
        let policy = policy(
            scene,
            "extends = \"workspace-write\"\n[filesystem]\nhide = [\"${workspace}/**/*.env\"]\n",
        );
        let confine = || scene.confine().options(["--policy".into(), policy.clone()]);
        for directory in 0..29 {
            fs::create_dir(workspace.join(format!("d{directory}"))).unwrap();
        }
        let fill = |range: std::ops::Range<u32>| {
            for number in range {
                fs::write(workspace.join(format!("d{}/{number}.env", number % 29)), "s3cret").unwrap();
            }
        };
        fill(0..100);
        let few = confine().shell("cat d7/7.env; exit 0").exits(0);
        assert_eq!(few.stdout, "", "{few}");
        assert!(few.took < Duration::from_secs(2), "{few}");
        fill(100..2_900);
        let masks = confine().with_report().run(["touch", "ran"]).exits(125).says("400 is the bound");
        let masks = masks.says(workspace.to_str().unwrap());
        fill(2_900..10_001);
        let matches = confine().with_report().run(["touch", "ran"]).exits(125);
        let matches = matches.says("${workspace}/**/*.env").says("10000 matches");
        for run in [masks, matches] {
            assert!(run.took < Duration::from_secs(3), "{run}");
        }
        assert!(!is_there(&workspace.join("ran")));
    });
}

#[test]
fn case_b11_a_write_into_a_mask_fails() {
    needs!(root, bwrap);
    each(EVERYBODY, BWRAP, |scene| {
        let secret = scene.directory(&scene.workspace().join("S"));
        scene.write(&secret.join("known"), "s3cret");
        let hidden = || scene.confine().option("--hide", "S");
        let list = hidden().run(["ls", "-A", "S"]);
        assert_eq!(list.stdout, "", "{list}");
        hidden().shell("echo x > S/f").fails();
        hidden().shell("echo x > S/known").fails();
        assert_eq!(names(&secret), ["known"]);
        assert_eq!(content(&secret.join("known")).as_deref(), Some("s3cret"));
        scene.confine().shell("echo x > S/f").exits(0);
        assert_eq!(names(&secret), ["f", "known"]);
    });
}

#[test]
fn case_b12_a_workspace_is_open_again_below_a_hidden_parent() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        for place in ["/tmp/confine-p-", "/var/tmp/confine-p-"] {
            let parent = Temporary::new(place);
            scene.own(parent.path());
            let workspace = scene.directory(&parent.path().join("ws"));
            scene.write(&parent.path().join("sibling"), "s3cret");
            let hidden = || {
                let confine = scene.confine().in_directory(&workspace);
                confine.options([
                    "--hide".into(),
                    parent.path().to_owned(),
                    "--write".into(),
                    workspace.clone(),
                ])
            };
            let run = hidden().shell("pwd; echo in > kept").exits(0);
            assert_eq!(run.stdout.trim(), workspace.to_str().unwrap());
            assert_eq!(content(&workspace.join("kept")).as_deref(), Some("in\n"));
            hidden().shell("echo x > ../lost").fails();
            assert_eq!(names(parent.path()), ["sibling", "ws"]);
            if scene.backend == Backend::Bwrap {
                let run = hidden().run(["cat", "../sibling"]).fails();
                assert_eq!(run.stdout, "");
            }
        }
    });
}

#[test]
fn case_b14_both_spellings_of_a_linked_root_work() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        for place in ["/tmp/confine-l-", "/var/tmp/confine-l-"] {
            let base = Temporary::new(place);
            let real = scene.directory(&base.path().join("var/u/ws"));
            symlink(base.path().join("var"), base.path().join("home")).unwrap();
            let home = base.path().join("home/u");
            let spelt = home.join("ws");
            let script = format!(
                "echo 1 > f; cd ~; pwd; cat {}/f {}/f; echo 2 > {}/g",
                spelt.display(),
                real.display(),
                spelt.display()
            );
            let confine = scene.confine().env("HOME", &home).in_directory(&spelt);
            let run = confine.options(["--workspace".into(), spelt.clone()]).shell(&script).exits(0);
            assert!(run.stdout.ends_with("1\n1\n"), "{run}");
            assert_eq!(content(&real.join("f")).as_deref(), Some("1\n"));
            assert_eq!(content(&real.join("g")).as_deref(), Some("2\n"));
        }
    });
}

#[test]
fn case_b14_a_protected_name_is_the_same_through_both_spellings() {
    needs!(root, bwrap);
    each(MORTALS, BWRAP, |scene| {
        let real = scene.directory(&scene.base().join("var/u/ws"));
        symlink(scene.base().join("var"), scene.base().join("home2")).unwrap();
        let spelt = scene.base().join("home2/u/ws");
        let kept = scene.write(&real.join(".envrc"), "kept");
        let confine = || scene.confine().in_directory(&spelt).options(["--workspace".into(), spelt.clone()]);
        for path in [real.join(".envrc"), spelt.join(".envrc"), PathBuf::from(".envrc")] {
            confine().shell(&format!("echo evil > {}", path.display())).fails();
            assert_eq!(content(&kept).as_deref(), Some("kept"));
        }
        confine().shell("echo fine > other").exits(0);
    });
}

#[test]
fn case_b16_a_program_whose_link_leads_out_of_view_is_127_and_names_it() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        let home = scene.home();
        let target = scene.write(&home.join(".local/share/tool/v1"), "#!/bin/sh\necho version 1\n");
        fs::set_permissions(&target, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let bin = scene.directory(&home.join(".local/bin"));
        symlink("../share/tool/v1", bin.join("tool")).unwrap();
        let system = "\"/usr\", \"/bin\", \"/lib\", \"/lib64\", \"/etc\"";
        let policy = policy(
            scene,
            &format!(
                "mode = \"workspace-write\"\n[filesystem]\nread = [{system}, \"{}\"]\n\
                 [enforcement]\naccept-missing = [\"fs-carve-out-new\", \"net-unix-path-new\"]\n",
                bin.display()
            ),
        );
        let confine = || {
            let confine = scene.confine().options(["--policy".into(), policy.clone()]);
            confine.env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        };
        let run = confine().with_report().run(["tool", "--version"]).exits(127);
        let run = run.reports("/outcome/kind", "exec-failed").says("--read");
        assert!(run.stderr.contains(target.to_str().unwrap()), "the resolved path is not named: {run}");
        let twin =
            confine().options(["--read".into(), home.join(".local/share/tool")]).run(["tool", "--version"]);
        assert_eq!(twin.exits(0).stdout, "version 1\n");
    });
}

#[test]
fn case_b19_a_planted_git_link_grants_nothing() {
    needs!(root, bwrap, landlock = 6, git);
    each(EVERYBODY, Backend::ALL, |scene| {
        let (git, outside) = (scene.workspace().join(".git"), scene.outside());
        scene.repository(&outside);
        let elsewhere = outside.join(".git");
        // What a first run may leave behind; where it was moved away afterwards, as if it had not been.
        scene.confine().shell(&format!("ln -s {} .git; exit 0", elsewhere.display())).exits(0);
        if !is_there(&git) {
            symlink(&elsewhere, &git).unwrap();
        }
        assert_grants_nothing(scene, &elsewhere);
        scene.control(["touch", ".git/x"]).exits(0);
        assert!(is_there(&elsewhere.join("x")));
    });
}

#[test]
fn case_b19_a_planted_git_pointer_grants_nothing() {
    needs!(root, bwrap, landlock = 6, git);
    each(EVERYBODY, Backend::ALL, |scene| {
        let (git, repository) = (scene.workspace().join(".git"), scene.base().join("repository"));
        scene.repository(&repository);
        let worktree = scene.directory(&scene.base().join("worktree"));
        scene.git(&repository, &["worktree", "add", "-q", "-b", "side", worktree.to_str().unwrap()]);
        let plain = scene.directory(&scene.home().join("keys"));
        // A directory of no repository, a repository, and the directory of a worktree that is somewhere else.
        for target in [plain, repository.join(".git"), repository.join(".git/worktrees/worktree")] {
            let pointer = format!("gitdir: {}\n", target.display());
            scene.confine().shell(&format!("printf '{pointer}' > .git; exit 0")).exits(0);
            scene.write(&git, &pointer);
            assert_grants_nothing(scene, &target);
            scene.control(["touch", target.join("x").to_str().unwrap()]).exits(0);
            assert!(is_there(&target.join("x")));
            fs::remove_file(target.join("x")).unwrap();
        }
    });
}

/// Whatever `.git` points to, nothing outside the workspace can be written.
fn assert_grants_nothing(scene: &Scene, target: &Path) {
    let before = tree(target);
    for path in ["x", "objects/x", "refs/heads/x", "logs/x"] {
        let place = target.join(path);
        let script = format!("mkdir -p \"$(dirname {0})\" && echo evil > {0}", place.display());
        let run = scene.confine().shell(&script);
        assert_ne!(run.code(), Some(0), "{run}");
        assert_eq!(tree(target), before, "{run}");
    }
    let run = scene.confine().shell("touch .git/x");
    assert_ne!(run.code(), Some(0), "{run}");
    assert_eq!(tree(target), before, "{run}");
}

#[test]
fn case_b20_home_and_root_are_no_workspace_unless_named() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        let home = scene.home();
        scene.write(&home.join(".ssh/id_ed25519"), "s3cret");
        for place in [home.clone(), scene.base().to_owned(), PathBuf::from("/")] {
            let run = scene.confine().in_directory(&place).with_report().run(["touch", "x"]).exits(125);
            let run = run.says("--workspace").reports("/launch_fault/stage", "policy");
            assert!(!is_there(&place.join("x")), "{run}");
        }
        let named = || scene.confine().in_directory(&home).options(["--workspace".into(), home.clone()]);
        if scene.backend == Backend::Landlock {
            // confine's own state lies in it, and Landlock cannot take that away again.
            named().run(["touch", "x"]).exits(125).says("confine's own");
            assert!(!is_there(&home.join("x")));
        } else {
            named().run(["touch", "x"]).exits(0);
            assert!(is_there(&home.join("x")));
            let run = named().with_report().shell("cat .ssh/id_ed25519; echo evil > .ssh/id_ed25519");
            let run = run.fails();
            assert_eq!(run.stdout, "");
            assert_eq!(content(&home.join(".ssh/id_ed25519")).as_deref(), Some("s3cret"));
        }
        // The control outside.
        assert_eq!(
            scene.control(["cat", home.join(".ssh/id_ed25519").to_str().unwrap()]).exits(0).stdout,
            "s3cret"
        );
    });
}
