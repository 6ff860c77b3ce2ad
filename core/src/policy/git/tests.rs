use crate::policy::Access::*;
use crate::policy::fake::*;
use crate::policy::fs::Placeholder;
use crate::policy::resolve::ResolveError;
use crate::policy::{Policy, builtin};

const WS: &str = "/home/u/ws";
const R: &str = "/home/u/r/.git";
const D: &str = "/home/u/r/.git/worktrees/ws";

fn placeholder(policy: &Policy, path: &str) -> Option<Placeholder> {
    policy.fs.placeholders.get(&abs(path)).copied()
}

/// A repository at `/home/u/r` with a linked worktree at the workspace.
fn worktree() -> Fake {
    let mut fake = host();
    fake.repository("/home/u/r").file(&format!("{R}/packed-refs"), "").file(&format!("{D}/HEAD"), "");
    fake.file(&format!("{D}/gitdir"), "/home/u/ws/.git\n").file(&format!("{D}/commondir"), "../..\n");
    fake.file("/home/u/ws/.git", &format!("gitdir: {D}\n"));
    fake
}

#[test]
fn in_a_work_tree_committing_works_and_what_runs_code_is_protected() {
    let mut fake = host();
    fake.repository(WS).file("/home/u/ws/.git/info/attributes", "");
    let policy = workspace_write().on(&fake).unwrap();
    for name in ["hooks/pre-commit", "config", "info/attributes"] {
        assert_eq!(policy.at(&format!("{WS}/.git/{name}")), Protect, "{name}");
    }
    for name in ["objects/x", "refs/x", "logs/x", "index", "info/exclude", "HEAD"] {
        assert_eq!(policy.at(&format!("{WS}/.git/{name}")), Write, "{name}");
    }
    assert_eq!(placeholder(&policy, "/home/u/ws/.git/commondir"), Some(Placeholder::Dot));
    assert_eq!(placeholder(&policy, "/home/u/ws/.git/config.worktree"), Some(Placeholder::Empty));
    assert_eq!(policy.fs.placeholders.len(), 2);
    assert!(policy.fs.repositories.contains(&abs("/home/u/ws/.git")));
}

#[test]
fn what_is_missing_in_a_git_directory_has_an_inert_stand_in() {
    let mut fake = host();
    fake.repository(WS).remove("/home/u/ws/.git/hooks").remove("/home/u/ws/.git/info");
    let policy = workspace_write().on(&fake).unwrap();
    assert_eq!(placeholder(&policy, "/home/u/ws/.git/hooks"), Some(Placeholder::Directory));
    assert_eq!(placeholder(&policy, "/home/u/ws/.git/info"), Some(Placeholder::Directory));
    assert_eq!(placeholder(&policy, "/home/u/ws/.git/info/attributes"), Some(Placeholder::Empty));
}

#[test]
fn no_stand_in_is_made_through_a_planted_link() {
    let mut fake = host();
    fake.repository(WS)
        .remove("/home/u/ws/.git/info")
        .link("/home/u/ws/.git/info", "/data")
        .directory("/data");
    let policy = workspace_write().on(&fake).unwrap();
    assert!(policy.fs.placeholders.keys().all(|path| path.is_within(&abs("/home/u/ws/.git"))));
    assert_eq!(placeholder(&policy, "/home/u/ws/.git/info/attributes"), None);
    assert_eq!(policy.fs.protected_links[0].path, abs("/home/u/ws/.git/info"));
}

#[test]
fn git_protect_makes_the_whole_directory_read_only_and_open_nothing() {
    let mut fake = host();
    fake.repository(WS);
    let policy = workspace_write().file("filesystem.git = 'protect'").on(&fake).unwrap();
    assert_eq!((policy.at("/home/u/ws/.git/index"), policy.at("/home/u/ws/.git/hooks")), (Protect, Protect));
    assert!(policy.fs.placeholders.is_empty());
    let policy = workspace_write().file("filesystem.git = 'open'").on(&fake).unwrap();
    assert_eq!(policy.at("/home/u/ws/.git/hooks/x"), Write);
    assert!(policy.fs.repositories.contains(&abs("/home/u/ws/.git")));
}

#[test]
fn the_rules_reach_nested_repositories_and_their_built_in_names() {
    let mut fake = host();
    fake.repository("/home/u/ws/a/b")
        .file("/home/u/ws/a/b/.envrc", "")
        .repository("/home/u/ws/node_modules/x");
    fake.repository("/home/u/ws/1/2/3").repository("/home/u/ws/1/2/3/4");
    fake.repository("/data").link("/home/u/ws/1/2/l", "/data");
    for typed in [true, false] {
        fake.typed = typed;
        let policy = workspace_write().on(&fake).unwrap();
        assert_eq!(policy.at("/home/u/ws/a/b/.git/hooks/x"), Protect);
        assert_eq!(policy.at("/home/u/ws/a/b/.envrc"), Protect);
        assert!(policy.fs.missing.contains(&abs("/home/u/ws/a/b/.mcp.json")));
        let found = ["/home/u/ws/1/2/3/.git", "/home/u/ws/a/b/.git"].map(abs);
        assert_eq!(policy.fs.repositories, found.into());
    }
    for index in 0..=super::scan::ENTRIES {
        fake.directory(&format!("/home/u/ws/{index}"));
    }
    let bound = super::scan::ENTRIES;
    let refused = Err(ResolveError::TooManyDirectories { place: abs(WS), bound });
    assert_eq!(workspace_write().on(&fake), refused);
    let open = workspace_write().command_line("filesystem.git = \"open\"");
    assert!(open.on(&fake).unwrap().ignored(WS).contains("20000 directories"));
}

#[test]
fn directories_below_modules_cannot_crowd_a_submodule_out() {
    let mut fake = host();
    fake.repository(WS).git_directory("/home/u/ws/.git/modules/sub");
    for index in 0..=super::DIRECTORIES {
        fake.directory(&format!("{WS}/.git/modules/a{index}"));
    }
    let place = abs("/home/u/ws/.git/modules");
    let refused = Err(ResolveError::TooManyDirectories { place, bound: super::DIRECTORIES });
    assert_eq!(workspace_write().on(&fake), refused);
}

#[test]
fn a_read_only_workspace_is_not_searched() {
    let mut fake = host();
    fake.repository(WS);
    let policy = request("read-only").on(&fake).unwrap();
    assert!(policy.fs.repositories.is_empty() && policy.fs.placeholders.is_empty());
}

#[test]
fn case_c04_modules_worktrees_and_pointer_files_are_protected() {
    let mut fake = host();
    fake.repository(WS)
        .git_directory("/home/u/ws/.git/modules/sub")
        .git_directory("/home/u/ws/.git/modules/a/b");
    fake.git_directory("/home/u/ws/.git/modules/sub/modules/inner");
    fake.file("/home/u/ws/sub/.git", "gitdir: ../.git/modules/sub\n");
    for name in ["gitdir", "commondir", "HEAD"] {
        fake.file(&format!("{WS}/.git/worktrees/w/{name}"), "");
    }
    let policy = workspace_write().on(&fake).unwrap();
    let protected = [
        "sub/.git",
        ".git/modules/sub/config",
        ".git/modules/sub/hooks/x",
        ".git/modules/a/b/config",
        ".git/modules/sub/modules/inner/hooks",
        ".git/worktrees/w/gitdir",
        ".git/worktrees/w/commondir",
    ];
    for name in protected {
        assert_eq!(policy.at(&format!("{WS}/{name}")), Protect, "{name}");
    }
    assert_eq!(placeholder(&policy, "/home/u/ws/.git/worktrees/w/config.worktree"), Some(Placeholder::Empty));
    assert_eq!(policy.at("/home/u/ws/.git/modules/sub/index"), Write);
    assert_eq!(policy.ignored("/home/u/ws/sub/.git"), "");
}

#[test]
fn a_directory_that_cannot_be_looked_into_is_protected_as_a_whole() {
    let mut fake = host();
    fake.repository(WS).git_directory("/home/u/ws/.git/modules/sub").repository("/home/u/ws/closed/repo");
    fake.closed = ["/home/u/ws/.git/modules", "/home/u/ws/closed"].map(abs).into();
    let policy = workspace_write().on(&fake).unwrap();
    assert_eq!(policy.at("/home/u/ws/.git/modules"), Protect);
    assert_eq!(policy.at("/home/u/ws/closed"), Protect);
    assert_eq!(policy.at("/home/u/ws/other"), Write);
}

#[test]
fn settings_below_modules_are_protected_before_there_is_a_head() {
    let mut fake = host();
    fake.repository(WS).git_directory("/home/u/ws/.git/modules/group/hooks");
    fake.file("/home/u/ws/.git/modules/sub/config", "").directory("/home/u/ws/.git/modules/sub/hooks");
    let policy = workspace_write().on(&fake).unwrap();
    for name in ["sub/config", "sub/hooks", "group/hooks/config"] {
        assert_eq!(policy.at(&format!("{WS}/.git/modules/{name}")), Protect, "{name}");
    }
    for name in ["sub", "sub/HEAD", "group/hooks", "group/hooks/index"] {
        assert_eq!(policy.at(&format!("{WS}/.git/modules/{name}")), Write, "{name}");
    }
}

#[test]
fn every_row_of_the_built_in_git_set_is_protected() {
    let mut fake = host();
    fake.repository(WS);
    for row in builtin::GIT {
        let path = format!("{WS}/.git/{}", row.replace('*', "x"));
        if !row.ends_with("hooks") {
            fake.file(&path, "");
        }
    }
    fake.directory("/home/u/ws/.git/modules/x/hooks").file("/home/u/ws/.git/modules/x/HEAD", "");
    let policy = workspace_write().on(&fake).unwrap();
    for row in builtin::GIT {
        assert_eq!(policy.at(&format!("{WS}/.git/{}", row.replace('*', "x"))), Protect, "{row}");
    }
}

#[test]
fn case_c02_a_linked_worktree_may_commit_and_no_more() {
    let mut fake = worktree();
    fake.directory(&format!("{R}/worktrees/other"));
    let policy = workspace_write().on(&fake).unwrap();
    for path in ["worktrees/ws/index", "objects/x", "refs/x", "logs/x", "packed-refs"] {
        assert_eq!(policy.at(&format!("{R}/{path}")), Write, "{path}");
    }
    for path in ["hooks/x", "config", "HEAD", "worktrees/other/x", "info/x"] {
        assert_eq!(policy.at(&format!("{R}/{path}")), Read, "{path}");
    }
    for path in ["worktrees/ws/gitdir", "worktrees/ws/commondir"] {
        assert_eq!(policy.at(&format!("{R}/{path}")), Protect, "{path}");
    }
    assert_eq!(policy.at("/home/u/ws/.git"), Protect);
    assert_eq!(placeholder(&policy, &format!("{D}/config.worktree")), Some(Placeholder::Empty));
    assert!(policy.fs.repositories.contains(&abs(R)));
    let wide = workspace_write().file("filesystem.write = ['/home/u/r']").on(&fake).unwrap();
    assert_eq!(wide.at(&format!("{R}/hooks")), Protect, "also inside a wider grant");
    assert_eq!(wide.at(&format!("{R}/objects")), Write);
}

#[test]
fn a_pointer_that_nothing_points_back_to_gives_nothing() {
    type Break = fn(&mut Fake) -> &mut Fake;
    let rows: [(&str, Break); 9] = [
        ("does not hold", |fake| fake.file("/home/u/ws/.git", "/home/u/r/.git/worktrees/ws")),
        ("no git directory", |fake| {
            fake.file("/home/u/ws/.git", "gitdir: /home/u/.ssh\n").directory("/home/u/.ssh")
        }),
        ("no git directory", |fake| fake.file("/home/u/ws/.git", "gitdir: /nope\n")),
        ("not to a linked worktree", |fake| fake.file("/home/u/ws/.git", "gitdir: /home/u/r/.git\n")),
        ("point back", |fake| fake.file("/home/u/r/.git/worktrees/ws/gitdir", "/home/u/other/.git\n")),
        ("point back", |fake| fake.file("/home/u/r/.git/worktrees/ws/commondir", "/etc\n")),
        ("no repository of the caller's", |fake| fake.owned(R, 0)),
        ("no repository of the caller's", |fake| fake.owned(D, 65534)),
        ("no repository of the caller's", |fake| fake.remove("/home/u/r/.git/objects")),
    ];
    for (reason, change) in rows {
        let mut fake = worktree();
        change(&mut fake);
        let policy = workspace_write().on(&fake).unwrap();
        assert!(policy.ignored("/home/u/ws/.git").contains(reason), "{reason}: {:?}", policy.fs.not_granted);
        for path in [D, R, "/home/u/r/.git/refs", "/home/u/r/.git/packed-refs"] {
            assert_eq!(policy.at(path), Read, "{reason}: {path}");
        }
        assert_eq!(policy.at("/home/u/ws/.git"), Protect, "the pointer itself stays protected");
    }
    let policy = workspace_write().file("filesystem.hide = ['/home/u/r']").on(&worktree()).unwrap();
    assert!(policy.ignored("/home/u/ws/.git").contains("hidden"));
    assert_eq!(policy.at(D), Hide);
}

#[test]
fn case_b19_a_git_link_gives_nothing_outside() {
    let mut fake = host();
    fake.link("/home/u/ws/.git", "/etc");
    let policy = workspace_write().on(&fake).unwrap();
    assert_eq!(policy.at("/etc/x"), Read);
    assert!(policy.fs.repositories.is_empty() && policy.fs.placeholders.is_empty());
    assert_eq!(policy.fs.protected_links[0].path, abs("/home/u/ws/.git"));
}

#[test]
fn an_explicit_entry_of_the_user_wins() {
    let mut fake = host();
    fake.repository(WS);
    let hooks = workspace_write().file("filesystem.write = ['${workspace}/.git/hooks']").on(&fake).unwrap();
    assert_eq!((hooks.at("/home/u/ws/.git/hooks/x"), hooks.at("/home/u/ws/.git/config")), (Write, Protect));
    let all = workspace_write().command_line("filesystem.write = ['.git']").on(&fake).unwrap();
    assert_eq!((all.at("/home/u/ws/.git/hooks"), all.at("/home/u/ws/.git/config")), (Write, Write));
    assert!(all.fs.placeholders.is_empty());
    let hidden = workspace_write().command_line("filesystem.hide = ['.git']").on(&fake).unwrap();
    assert_eq!(hidden.at("/home/u/ws/.git/config"), Hide);
    // The workspace itself is no entry about its repository.
    let root = workspace_write().command_line("filesystem.write = ['.']").on(&fake).unwrap();
    assert_eq!(root.at("/home/u/ws/.git/config"), Protect);
}

#[test]
fn a_repository_above_the_workspace_is_readable_and_gets_no_grant() {
    let mut fake = host();
    fake.repository("/home/u/r").directory("/home/u/r/sub");
    let policy = workspace_write().workspace("/home/u/r/sub").on(&fake).unwrap();
    assert_eq!((policy.at("/home/u/r/.git/objects"), policy.at("/home/u/r/sub/x")), (Read, Write));
    assert!(policy.fs.repositories.is_empty());
}

/// A repository whose index names `paths`.
fn gitlinks(fake: &mut Fake, git: &str, paths: &[&str]) {
    let entries: Vec<_> = paths.iter().map(|path| (0o160_000, path.as_bytes().to_vec())).collect();
    fake.bytes(&format!("{git}/index"), super::index::tests::write(2, 20, &entries));
}

#[test]
fn gitlinks_are_protected_at_any_depth_and_in_each_other() {
    let mut fake = host();
    fake.repository(WS).git_directory(&format!("{WS}/.git/modules/sub"));
    gitlinks(&mut fake, &format!("{WS}/.git"), &["1/2/3/4/sub", "1/2/3/4/own", "empty/sub", "l/sub"]);
    fake.file(&format!("{WS}/1/2/3/4/sub/.git"), "gitdir: ../../../../../.git/modules/sub\n");
    gitlinks(&mut fake, &format!("{WS}/.git/modules/sub"), &["5/6/7/8/inner"]);
    fake.repository(&format!("{WS}/1/2/3/4/sub/5/6/7/8/inner")).repository(&format!("{WS}/1/2/3/4/own"));
    fake.repository(&format!("{WS}/1/2/3/4/unnamed")).directory(&format!("{WS}/empty/sub"));
    fake.repository("/data/sub").link(&format!("{WS}/l"), "/data");
    for git in ["work", "protect"] {
        let policy = workspace_write().file(&format!("filesystem.git = '{git}'")).on(&fake).unwrap();
        for name in ["sub/.git", "sub/5/6/7/8/inner/.git/config", "own/.git/hooks"] {
            assert_eq!(policy.at(&format!("{WS}/1/2/3/4/{name}")), Protect, "{git}: {name}");
        }
        assert_eq!(policy.at(&format!("{WS}/1/2/3/4/unnamed/.git/config")), Write);
        assert!(!policy.fs.repositories.iter().any(|path| path.is_within(&abs("/data"))));
    }
    let open = workspace_write().command_line("filesystem.git = \"open\"").on(&fake).unwrap();
    assert_eq!(open.at(&format!("{WS}/1/2/3/4/own/.git/hooks")), Write);
}

#[test]
fn an_index_too_long_to_be_read_is_refused_where_there_are_submodules() {
    let mut fake = host();
    fake.repository(WS).file(&format!("{WS}/.git/index"), "DIRC");
    fake.longest = 1;
    assert!(workspace_write().on(&fake).unwrap().ignored(&format!("{WS}/.git/index")).contains("longer"));
    for sign in [".gitmodules", ".git/modules/x"] {
        let mut fake = fake.clone();
        fake.file(&format!("{WS}/{sign}"), "");
        let path = abs(&format!("{WS}/.git/index"));
        let refused = Err(ResolveError::LargeIndex { path, bound: super::index::BOUND });
        assert_eq!(workspace_write().on(&fake), refused, "{sign}");
    }
}
