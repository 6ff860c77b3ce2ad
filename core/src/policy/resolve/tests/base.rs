use crate::policy::Access::*;
use crate::policy::fake::*;
use crate::policy::resolve::{ResolveError, WorkspaceFault};
use crate::policy::view::Mount;
use crate::policy::{Kind, Source};

#[test]
fn workspace_write_grants_the_workspace_and_reads_the_rest() {
    let policy = workspace_write().on(&host()).unwrap();
    assert_eq!(policy.at("/home/u/ws/a"), Write);
    assert_eq!(policy.at("/home/u/a"), Read);
    assert_eq!(policy.at("/etc/shadow"), Hide);
    assert_eq!(policy.at("/tmp/a"), Scratch);
    assert_eq!(policy.at("/run/a"), Hide);
    assert_eq!(policy.fs.entries.len(), 5, "{:?}", policy.fs.entries);
}

#[test]
fn read_only_grants_nothing_but_what_is_written() {
    let policy = request("read-only").on(&host()).unwrap();
    assert_eq!(policy.at("/home/u/ws/a"), Read);
    assert!(policy.fs.missing.is_empty(), "nothing can appear where nothing is written");
    let policy = request("read-only").command_line("filesystem.write = ['.']").on(&host()).unwrap();
    assert_eq!(policy.at("/home/u/ws/a"), Write);
    assert!(!policy.fs.missing.is_empty());
}

/// A workspace's policy may be a stranger's: no path in it takes the stack.
#[test]
fn a_path_of_any_length_is_only_one_that_is_missing() {
    let resolves = |key: &str, names: usize| {
        let written = format!("filesystem.{key} = ['{}']", "/a".repeat(names));
        request("read-only").command_line(&written).on(&host()).is_ok()
    };
    for key in ["read", "write", "hide", "protect"] {
        assert_eq!(resolves(key, 100_000), resolves(key, 2), "{key}");
    }
}

#[test]
fn a_file_without_read_reads_everything_and_one_with_it_only_that() {
    let mut standalone = workspace_write();
    standalone.layers.clear();
    assert_eq!(standalone.clone().file("").on(&host()).unwrap().at("/usr/bin/ls"), Read);
    let narrow = standalone.file("filesystem.read = ['/bin']").on(&host()).unwrap();
    assert_eq!(narrow.at("/usr/bin/ls"), Read, "the entry is canonical");
    assert_eq!(narrow.at("/etc/passwd"), Hide);
    assert_eq!(narrow.fs.links.get(&abs("/bin")).unwrap(), std::path::Path::new("usr/bin"));
}

#[test]
fn a_hidden_credential_that_is_a_link_hides_its_target() {
    let mut fake = host();
    fake.link("/home/u/.ssh", "/srv/keys/ssh").file("/srv/keys/ssh/id", "").directory("/home/u/.aws");
    let policy = workspace_write().on(&fake).unwrap();
    assert_eq!(policy.at("/srv/keys/ssh/id"), Hide);
    assert_eq!(policy.at("/srv/keys"), Read);
    assert_eq!(policy.at("/home/u/.aws"), Hide);
    assert_eq!(policy.fs.entries[&abs("/home/u/.aws")].source, Source::BuiltIn);
}

#[test]
fn state_and_cache_are_where_the_environment_says() {
    let mut fake = host();
    fake.directory("/home/u/.local/state/confine").directory("/x/confine");
    fake.variables.insert("XDG_CACHE_HOME".into(), "/x".into());
    let policy = workspace_write().on(&fake).unwrap();
    assert_eq!((policy.at("/home/u/.local/state/confine/j"), policy.at("/x/confine/j")), (Hide, Hide));
}

#[test]
fn tmp_is_as_the_policy_says_and_a_workspace_in_it_stays_in_sight() {
    let mut fake = host();
    fake.directory("/tmp/ws");
    for (tmp, access) in [("private", Scratch), ("host", Write), ("none", Read)] {
        let text = format!("filesystem.tmp = '{tmp}'");
        let policy = workspace_write().workspace("/tmp/ws").file(&text).on(&fake).unwrap();
        assert_eq!((policy.at("/tmp/x"), policy.at("/tmp/ws/x")), (access, Write), "{tmp}");
    }
}

#[test]
fn the_run_time_directory_is_hidden_wherever_it_is() {
    let mut fake = host();
    fake.directory("/var/user/1").variables.insert("XDG_RUNTIME_DIR".into(), "/var/user/1".into());
    fake.remove("/var/run").directory("/var/run");
    let policy = workspace_write().on(&fake).unwrap();
    assert_eq!(
        (policy.at("/var/user/1/bus"), policy.at("/var/run/x"), policy.at("/run/x")),
        (Hide, Hide, Hide)
    );
}

#[test]
fn a_careless_run_time_directory_takes_neither_tmp_nor_home_away() {
    for path in ["/tmp", "/home", "/home/u", "/"] {
        let mut fake = host();
        fake.variables.insert("XDG_RUNTIME_DIR".into(), path.into());
        let policy = workspace_write().on(&fake).unwrap();
        assert_eq!((policy.at("/tmp/x"), policy.at("/home/u/x")), (Scratch, Read), "{path}");
    }
}

#[test]
fn the_resolver_file_is_open_with_a_network_unless_the_user_hid_it() {
    let mut fake = host();
    fake.link("/etc/resolv.conf", "../run/systemd/resolve/stub").file("/run/systemd/resolve/stub", "");
    fake.directory("/run/current-system");
    let open = "network.access = 'open'";
    let policy = workspace_write().file(open).on(&fake).unwrap();
    assert_eq!(policy.at("/run/systemd/resolve/stub"), Read);
    assert_eq!(policy.at("/run/systemd/resolve"), Hide);
    assert_eq!(policy.at("/run/current-system"), Read);
    assert_eq!(workspace_write().on(&fake).unwrap().at("/run/systemd/resolve/stub"), Hide);
    let hidden = format!("{open}\nfilesystem.hide = ['/run/systemd']");
    assert_eq!(workspace_write().file(&hidden).on(&fake).unwrap().at("/run/systemd/resolve/stub"), Hide);
}

#[test]
fn a_listening_socket_in_sight_is_hidden_and_a_granted_one_is_reached() {
    let mut fake = host();
    for path in ["/srv/db.sock", "/run/d.sock", "/home/u/ws/own.sock", "/tmp/t.sock"] {
        fake.socket(path).listening.push(abs(path));
    }
    let policy = workspace_write().on(&fake).unwrap();
    let entry = &policy.fs.entries[&abs("/srv/db.sock")];
    assert_eq!((entry.access, entry.kind, &entry.source), (Hide, Kind::Socket, &Source::Listening));
    assert_eq!(policy.at("/home/u/ws/own.sock"), Hide);
    assert!(!policy.fs.entries.contains_key(&abs("/run/d.sock")), "hidden with its directory");
    assert!(!policy.fs.entries.contains_key(&abs("/tmp/t.sock")), "out of sight already");
    let granted =
        workspace_write().file("filesystem.sockets = ['/srv/db.sock', '/run/d.sock']").on(&fake).unwrap();
    assert_eq!((granted.at("/srv/db.sock"), granted.at("/run/d.sock")), (Write, Write));
}

#[test]
fn every_other_mount_of_a_hidden_directory_is_hidden() {
    let mut fake = host();
    fake.file("/home/u/.ssh/id", "").file("/alias/u/.ssh/id", "").file("/keys/id", "").directory("/other");
    let mount = |point: &str, root: &str, device: &str| Mount {
        point: abs(point),
        root: root.into(),
        device: device.into(),
    };
    fake.mounts = vec![
        mount("/", "/", "8:1"),
        mount("/alias", "/home", "8:1"),
        mount("/keys", "/home/u/.ssh", "8:1"),
        mount("/other", "/", "8:2"),
    ];
    let policy = workspace_write().on(&fake).unwrap();
    assert_eq!(policy.at("/alias/u/.ssh/id"), Hide);
    assert_eq!(policy.at("/keys/id"), Hide);
    assert_eq!(policy.at("/alias/u"), Read);
    assert_eq!(policy.at("/other"), Read);
    assert_eq!(policy.fs.entries[&abs("/keys")].source, Source::Alias(abs("/home/u/.ssh")));
}

#[test]
fn a_workspace_that_is_too_wide_is_refused_unless_it_was_named() {
    let mut fake = host();
    fake.directory("/home/u/.ssh/x").directory("/home/u/r/.git/hooks").file("/home/u/f", "");
    let rows = [
        ("/", WorkspaceFault::TooWide),
        ("/home", WorkspaceFault::TooWide),
        ("/home/u", WorkspaceFault::TooWide),
        ("/home/u/.ssh/x", WorkspaceFault::Hidden),
        ("/home/u/r/.git/hooks", WorkspaceFault::GitDirectory),
        ("/home/u/nope", WorkspaceFault::Missing),
        ("/home/u/f", WorkspaceFault::NotADirectory),
        ("/proc", WorkspaceFault::Template),
    ];
    for (path, expected) in rows {
        let mut request = workspace_write().workspace(path);
        let error = request.on(&fake).unwrap_err();
        assert_eq!(error, ResolveError::Workspace { path: abs(path), fault: expected });
        assert!(error.help().is_some());
        request.workspaces_named = true;
        let nameable = !matches!(
            expected,
            WorkspaceFault::Missing | WorkspaceFault::NotADirectory | WorkspaceFault::Template
        );
        assert_eq!(request.on(&fake).is_ok(), nameable, "{path}");
    }
}

#[test]
fn both_spellings_of_a_home_behind_a_link_work() {
    let mut fake = host();
    fake.remove("/home").link("/home", "/var/home").directory("/var/home/u/ws").directory("/var/home/u/.ssh");
    let policy = workspace_write().on(&fake).unwrap();
    assert_eq!(policy.at("/var/home/u/ws/f"), Write);
    assert_eq!(policy.at("/var/home/u/.ssh"), Hide);
    assert_eq!(policy.fs.links.get(&abs("/home")).unwrap(), std::path::Path::new("/var/home"));
    assert!(policy.fs.workspaces.contains(&abs("/var/home/u/ws")));
}

#[test]
fn what_the_user_cannot_reach_anyway_has_no_mask() {
    let mut fake = host();
    fake.socket("/srv/closed/deep/x.sock").socket("/srv/open/x.sock").file("/srv/closed/secret", "");
    fake.listening = vec![abs("/srv/closed/deep/x.sock"), abs("/srv/open/x.sock")];
    let request = workspace_write().file("filesystem.hide = ['/srv/closed', '/srv/closed/secret']");
    let both = |fake: &Fake| {
        let policy = workspace_write().on(fake).unwrap();
        ["/srv/closed/deep/x.sock", "/srv/open/x.sock"].map(|path| policy.fs.entries.contains_key(&abs(path)))
    };
    assert_eq!(both(&fake), [true, true]);
    fake.closed = vec![abs("/srv/closed")];
    assert_eq!(both(&fake), [false, true]);
    let policy = request.on(&fake).unwrap();
    assert_eq!(policy.at("/srv/closed"), Hide, "the directory itself can be reached, and masked");
    assert!(policy.fs.not_granted.is_empty());
}
