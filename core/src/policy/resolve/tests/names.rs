use crate::policy::Access::*;
use crate::policy::fake::*;
use crate::policy::{Source, builtin};

const WS: &str = "/home/u/ws";

#[test]
fn built_in_names_are_protected_where_they_exist_and_watched_where_not() {
    let mut fake = host();
    fake.directory("/home/u/ws/.vscode").file("/home/u/ws/.envrc", "");
    let policy = workspace_write().on(&fake).unwrap();
    assert_eq!((policy.at("/home/u/ws/.vscode/x"), policy.at("/home/u/ws/.envrc")), (Protect, Protect));
    assert_eq!(policy.fs.missing.len(), builtin::PROTECT.len() - 2);
    assert!(policy.fs.missing.contains(&abs("/home/u/ws/.mcp.json")));
    let open = workspace_write().file("filesystem.write = ['${workspace}/.vscode']").on(&fake).unwrap();
    assert_eq!(open.at("/home/u/ws/.vscode/x"), Write);
}

#[test]
fn what_a_login_runs_is_protected_where_the_home_directory_is_the_named_workspace_or_in_it() {
    let mut fake = host();
    fake.directory("/home/u/.config/systemd/user").directory("/home/u/.config/other");
    fake.file("/home/u/.zshenv", "");
    for root in ["/home/u", "/home"] {
        let mut request = workspace_write();
        (request.workspaces, request.workspaces_named) = (vec![abs(root)], true);
        let policy = request.on(&fake).unwrap();
        for path in ["/home/u/.config/systemd/user/x.service", "/home/u/.zshenv"] {
            assert_eq!(policy.at(path), Protect, "{root} {path}");
        }
        assert!(policy.fs.missing.contains(&abs("/home/u/.config/autostart")), "{root}");
        assert_eq!(policy.at("/home/u/.config/other/x"), Write, "{root}");
    }
    let elsewhere = workspace_write().on(&fake).unwrap();
    assert!(!elsewhere.fs.missing.contains(&abs("/home/u/.config/autostart")));
}

#[test]
fn a_listed_name_without_a_slash_is_in_each_workspace() {
    let mut fake = host();
    fake.file("/home/u/ws/key", "").directory("/home/u/two").file("/home/u/policies/key", "");
    let mut request = workspace_write().file("filesystem.protect = ['key', 'later']");
    request.workspaces.push(abs("/home/u/two"));
    let policy = request.on(&fake).unwrap();
    assert_eq!(policy.at("/home/u/ws/key"), Protect);
    assert!(matches!(policy.fs.entries[&abs("/home/u/ws/key")].source, Source::File(_)));
    for path in ["/home/u/two/key", "/home/u/two/later", "/home/u/ws/later"] {
        assert!(policy.fs.missing.contains(&abs(path)), "{path}");
    }
    assert_eq!(policy.at("/home/u/policies/key"), Read);
}

#[test]
fn case_b01_a_protected_link_protects_its_target_and_is_recorded() {
    let mut fake = host();
    fake.file("/home/u/ws/real/conf", "").directory("/home/u/ws/real/dir");
    fake.link("/home/u/ws/conf", "real/conf").link("/home/u/ws/skills", "real/dir");
    fake.link("/home/u/ws/dang", "/nonexistent/x").link("/home/u/ws/.vscode", "/etc");
    let policy = workspace_write().file("filesystem.protect = ['conf', 'skills', 'dang']").on(&fake).unwrap();
    assert_eq!(policy.at("/home/u/ws/real/conf"), Protect);
    assert_eq!(policy.at("/home/u/ws/real/dir/x"), Protect);
    let links: Vec<String> = policy.fs.protected_links.iter().map(|link| link.path.to_string()).collect();
    assert_eq!(links, [".vscode", "conf", "dang", "skills"].map(|name| format!("{WS}/{name}")));
    assert_eq!(policy.at("/etc"), Read, "a target outside of every write grant needs nothing");
    assert!(!policy.fs.entries.contains_key(&abs("/etc")));
}

#[test]
fn a_planted_circle_of_links_keeps_no_run_from_starting() {
    let mut fake = host();
    fake.link("/home/u/ws/key", "key")
        .link("/home/u/ws/.vscode", ".vscode")
        .link("/home/u/ws/x.env", "x.env");
    let text = "filesystem = { protect = ['key'], hide = ['${workspace}/*.env', '${workspace}/x.env'] }";
    let policy = workspace_write().file(text).on(&fake).unwrap();
    let links: Vec<String> = policy.fs.protected_links.iter().map(|link| link.path.to_string()).collect();
    assert_eq!(links, [".vscode", "key", "x.env"].map(|name| format!("{WS}/{name}")));
}

#[test]
fn a_hidden_name_behind_a_replaceable_link_records_the_link() {
    let mut fake = host();
    fake.link("/home/u/ws/secret", "/data/secret").directory("/data/secret");
    let policy = workspace_write().file("filesystem.hide = ['${workspace}/secret']").on(&fake).unwrap();
    assert_eq!(policy.at("/data/secret"), Hide);
    assert_eq!(policy.fs.protected_links[0].path, abs("/home/u/ws/secret"));
}

#[test]
fn a_protected_name_never_shows_what_is_hidden() {
    let mut fake = host();
    fake.file("/home/u/ws/secret/.git/config", "").file("/home/u/ws/secret/key", "");
    let text = "filesystem = { hide = ['${workspace}/secret'], protect = ['${workspace}/secret/key'] }";
    let policy = workspace_write().file(text).on(&fake).unwrap();
    for path in ["key", ".git/config", ".git", "new"] {
        assert_eq!(policy.at(&format!("{WS}/secret/{path}")), Hide, "{path}");
    }
    assert!(policy.fs.placeholders.is_empty());
}
