use crate::policy::Access::*;
use crate::policy::Kind;
use crate::policy::fake::*;
use crate::policy::resolve::{EntryFault, ResolveError};

fn fault(result: Result<crate::policy::Policy, ResolveError>) -> EntryFault {
    let error = result.unwrap_err();
    let shown = error.to_string();
    match error {
        ResolveError::Entry { fault, .. } => fault,
        _ => panic!("{shown}"),
    }
}

#[test]
fn a_missing_entry_is_listed_in_a_file_and_an_error_on_the_command_line() {
    for key in ["read", "write", "hide", "sockets", "devices"] {
        let text = format!("filesystem.{key} = ['/nope']");
        let policy = workspace_write().file(&text).on(&host()).unwrap();
        assert_eq!(policy.ignored("/nope"), "does not exist", "{key}");
        assert_eq!(fault(workspace_write().command_line(&text).on(&host())), EntryFault::Missing, "{key}");
    }
}

#[test]
fn an_entry_that_cannot_be_looked_at_is_an_error_everywhere() {
    let mut fake = host();
    fake.locked("/locked").link("/a", "/b").link("/b", "/a");
    let read = |path| workspace_write().file(&format!("filesystem.read = ['{path}']"));
    assert!(matches!(fault(read("/locked").on(&fake)), EntryFault::Unopenable(_)));
    assert!(matches!(fault(read("/locked/x").on(&fake)), EntryFault::Unopenable(_)));
    assert_eq!(fault(workspace_write().command_line("filesystem.read = ['/a']").on(&fake)), EntryFault::Loop);
    assert_eq!(read("/a").on(&fake).unwrap().ignored("/a"), "leads through too many links");
    assert_eq!(fault(read("").on(&fake)), EntryFault::NoPath);
}

#[test]
fn bases_are_the_file_the_current_directory_home_and_each_workspace() {
    let mut fake = host();
    for path in ["/home/u/policies/d", "/home/u/ws/d", "/home/u/d", "/home/u/up"] {
        fake.directory(path);
    }
    let file = workspace_write()
        .file("filesystem.hide = ['d', '../up', '~/d', '${workspace}/d']")
        .on(&fake)
        .unwrap();
    for path in ["/home/u/policies/d", "/home/u/ws/d", "/home/u/d", "/home/u/up"] {
        assert_eq!(file.at(path), Hide, "{path}");
    }
    let line = workspace_write().command_line("filesystem.hide = ['d']").on(&fake).unwrap();
    assert_eq!((line.at("/home/u/ws/d"), line.at("/home/u/d")), (Hide, Read));
    // Options are literal.
    assert_eq!(
        fault(workspace_write().command_line("filesystem.hide = ['~/d']").on(&fake)),
        EntryFault::Missing
    );
    fake.home = None;
    assert_eq!(fault(workspace_write().file("filesystem.hide = ['~/d']").on(&fake)), EntryFault::NoHome);
}

#[test]
fn sockets_and_devices_have_keys_of_their_own() {
    let mut fake = host();
    fake.socket("/srv/s").device("/srv/d").file("/srv/f", "");
    let policy = workspace_write().file("filesystem = { sockets = ['/srv/s'], devices = ['/dev/kvm'] }");
    let policy = policy.on(&fake).unwrap();
    assert_eq!(policy.fs.entries[&abs("/srv/s")].kind, Kind::Socket);
    assert_eq!(policy.fs.entries[&abs("/dev/kvm")].kind, Kind::Device);
    let one = |key: &str, path: &str| {
        fault(workspace_write().file(&format!("filesystem.{key} = ['{path}']")).on(&fake))
    };
    assert_eq!(one("sockets", "/srv/f"), EntryFault::NotA("socket"));
    assert_eq!(one("devices", "/srv/f"), EntryFault::NotA("device"));
    for key in ["read", "write"] {
        assert!(matches!(one(key, "/srv/s"), EntryFault::Special { key: "sockets", .. }));
        assert!(matches!(one(key, "/srv/d"), EntryFault::Special { key: "devices", .. }));
    }
}

#[test]
fn proc_and_dev_are_the_sandboxs_own() {
    for key in ["write", "hide", "protect"] {
        for path in ["/proc", "/dev/kvm", "/dev"] {
            let text = format!("filesystem.{key} = ['{path}']");
            assert!(
                matches!(fault(workspace_write().file(&text).on(&host())), EntryFault::Template(_)),
                "{text}"
            );
        }
    }
    let policy = workspace_write().file("filesystem.read = ['/dev']").on(&host()).unwrap();
    assert!(policy.ignored("/dev").contains("of its own"));
    assert!(!policy.fs.entries.contains_key(&abs("/dev")));
}

#[test]
fn a_link_made_by_an_earlier_run_gives_nothing_outside() {
    let mut fake = host();
    fake.link("/home/u/ws/out", "/home/u/.ssh").directory("/home/u/.ssh").directory("/data");
    for key in ["read", "write"] {
        let text = format!("filesystem.{key} = ['${{workspace}}/out']");
        let policy = workspace_write().file(&text).on(&fake).unwrap();
        assert_eq!(policy.at("/home/u/.ssh"), Hide);
        assert!(policy.ignored("${workspace}/out").contains("/home/u/ws/out"));
        let line = workspace_write().command_line(&format!("filesystem.{key} = ['out']"));
        assert!(matches!(fault(line.on(&fake)), EntryFault::LinkOut { .. }));
    }
    // A link elsewhere is the user's own.
    fake.link("/home/u/data", "/data");
    assert_eq!(workspace_write().file("filesystem.write = ['~/data']").on(&fake).unwrap().at("/data"), Write);
    // And so is one whose target may be written anyway.
    fake.link("/home/u/ws/in", "sub").directory("/home/u/ws/sub");
    let inside = workspace_write().command_line("filesystem.write = ['in']").on(&fake).unwrap();
    assert_eq!(inside.at("/home/u/ws/sub"), Write);
}

#[test]
fn a_grant_of_an_approval_opens_nothing_that_is_hidden() {
    let mut fake = host();
    fake.file("/home/u/.ssh/id", "").directory("/data").socket("/run/s").socket("/srv/s").listening =
        vec![abs("/srv/s")];
    for path in ["/home/u/.ssh", "/home/u/.ssh/id", "/run"] {
        for key in ["read", "write"] {
            let grant = workspace_write().grant(&format!("filesystem.{key} = ['{path}']"));
            assert!(matches!(fault(grant.on(&fake)), EntryFault::Hidden(_)), "{path}");
        }
    }
    let policy =
        workspace_write().grant("filesystem = { write = ['/data'], sockets = ['/run/s', '/srv/s'] }");
    let policy = policy.on(&fake).unwrap();
    assert_eq!((policy.at("/data"), policy.at("/run/s"), policy.at("/srv/s")), (Write, Write, Write));
}

#[test]
fn a_precreated_file_needs_its_directory_and_an_existing_one_is_a_write_grant() {
    let mut fake = host();
    fake.file("/home/u/old", "").directory("/home/u/dir");
    let policy =
        workspace_write().file("filesystem.precreate = ['~/new', '~/old', '~/no/new']").on(&fake).unwrap();
    assert!(policy.fs.precreate.contains(&abs("/home/u/new")));
    assert_eq!(
        (policy.at("/home/u/new"), policy.at("/home/u/old"), policy.at("/home/u/n")),
        (Write, Write, Read)
    );
    assert_eq!(policy.ignored("~/no/new"), "does not exist");
    let line = |path: &str| workspace_write().command_line(&format!("filesystem.precreate = ['{path}']"));
    assert_eq!(fault(line("/home/u/no/new").on(&fake)), EntryFault::Missing);
    assert_eq!(fault(line("/home/u/dir").on(&fake)), EntryFault::NotA("regular file"));
}

#[test]
fn what_says_nothing_new_is_no_entry() {
    let mut fake = host();
    fake.directory("/home/u/ws/target").directory("/home/u/data");
    let text = "filesystem = { read = ['~/data', '/bin', '/usr/bin'], write = ['${workspace}/target'] }";
    let policy = workspace_write().file(text).on(&fake).unwrap();
    for path in ["/home/u/ws/target", "/home/u/data", "/usr/bin"] {
        assert!(!policy.fs.entries.contains_key(&abs(path)), "{path}");
    }
}

#[test]
fn a_place_of_confines_own_is_never_written() {
    let mut fake = host();
    fake.directory("/home/u/.config/confine").file("/home/u/ws/p.toml", "").file("/home/u/p.toml", "");
    let own = || {
        let mut request = workspace_write();
        request.own_directories = vec![abs("/home/u/.config/confine"), abs("/home/u/.cache/confine")];
        request.own_files = vec![abs("/home/u/ws/p.toml"), abs("/home/u/p.toml")];
        request
    };
    let policy = own().on(&fake).unwrap();
    assert_eq!((policy.at("/home/u/ws/p.toml"), policy.at("/home/u/p.toml")), (Hide, Read));
    assert_eq!(policy.at("/home/u/.config/confine"), Read);
    let wide = own().command_line("filesystem.write = ['/home/u']").on(&fake).unwrap();
    assert_eq!((wide.at("/home/u/.config/confine/x"), wide.at("/home/u/p.toml")), (Hide, Hide));
    assert!(wide.fs.missing.contains(&abs("/home/u/.cache/confine")));
    for path in ["/home/u/.config/confine", "/home/u/p.toml"] {
        let error = own().command_line(&format!("filesystem.write = ['{path}']")).on(&fake);
        assert!(matches!(fault(error), EntryFault::Own(_)), "{path}");
    }
    let mut report = own();
    report.own_files.push(abs("/home/u/ws/report.json"));
    assert!(matches!(report.on(&fake), Err(ResolveError::OwnFile { .. })));
    let mut inside = own().workspace("/home/u/.config/confine");
    inside.workspaces_named = true;
    assert!(matches!(inside.on(&fake), Err(ResolveError::OwnWorkspace { .. })));
}

#[test]
fn every_refusal_names_the_entry_and_its_origin() {
    let error = workspace_write().command_line("filesystem.read = ['/nope']").on(&host()).unwrap_err();
    assert_eq!(error.to_string(), "the `read` entry `/nope` of the command line does not exist");
    assert!(error.help().is_some());
}
