use crate::policy::Access::*;
use crate::policy::fake::*;
use crate::policy::fs::{MissingProtected, Symlinks};
use crate::policy::{Mode, NetPlan, Source};
use crate::{Effect, Text};

#[test]
fn a_later_layer_replaces_an_earlier_one_at_the_same_path() {
    let mut fake = host();
    fake.directory("/d");
    let request = workspace_write().file("filesystem.hide = ['/d']");
    assert_eq!(request.on(&fake).unwrap().at("/d"), Hide);
    let request = request.command_line("filesystem.write = ['/d']");
    let policy = request.on(&fake).unwrap();
    assert_eq!(policy.at("/d"), Write);
    assert_eq!(policy.fs.entries[&abs("/d")].source, Source::CommandLine);
}

#[test]
fn within_a_layer_hide_beats_protect_beats_write_beats_read() {
    let mut fake = host();
    fake.directory("/home/u/ws/d");
    let lists = ["read = ['/home/u/ws/d']", "write = ['/home/u/ws/d']", "protect = ['/home/u/ws/d']"];
    for (count, expected) in [(1, Protect), (2, Write), (3, Protect)] {
        let text = format!("[filesystem]\n{}", lists[..count].join("\n"));
        assert_eq!(workspace_write().file(&text).on(&fake).unwrap().at("/home/u/ws/d"), expected, "{text}");
        let text = format!("{text}\nhide = ['/home/u/ws/d']");
        assert_eq!(workspace_write().file(&text).on(&fake).unwrap().at("/home/u/ws/d"), Hide);
    }
}

#[test]
fn a_file_and_the_command_line_open_below_a_hide() {
    let mut fake = host();
    fake.directory("/home/u/.ssh/known").directory("/p/ws");
    let open = "filesystem.read = ['~/.ssh/known']";
    assert_eq!(workspace_write().file(open).on(&fake).unwrap().at("/home/u/.ssh/known"), Read);
    let open = "filesystem.read = ['/home/u/.ssh/known']";
    assert_eq!(workspace_write().command_line(open).on(&fake).unwrap().at("/home/u/.ssh/known"), Read);
    // B12: everything above is hidden, the workspace stays.
    let policy = workspace_write().workspace("/p/ws").file("filesystem.hide = ['/p']").on(&fake).unwrap();
    assert_eq!((policy.at("/p/lost"), policy.at("/p/ws/x")), (Hide, Write));
}

#[test]
fn lists_add_up_and_scalars_replace() {
    let request = workspace_write()
        .file("mode = 'read-only'\n[environment]\npass = ['A']\nset = { X = '1', Y = '2' }\n[enforcement]\nrequire = ['fs-exec']")
        .command_line("filesystem.symlinks = 'deny'\nnetwork.access = 'open'\nenvironment.set = { X = '3' }");
    let policy = request.on(&host()).unwrap();
    assert_eq!(
        (policy.mode, policy.net, policy.fs.symlinks),
        (Mode::ReadOnly, NetPlan::Open, Symlinks::Deny)
    );
    assert_eq!(policy.fs.missing_protected, MissingProtected::Watch);
    assert!(policy.env.pass.contains(&"A".into()) && policy.env.pass.contains(&"PATH".into()));
    assert_eq!((&policy.env.set["X"], &policy.env.set["Y"]), (&Text::from("3"), &Text::from("2")));
    assert!(
        policy.require.contains(Effect::FsExec) && policy.accept_missing.contains(Effect::NetUnixPathNew)
    );
}

#[test]
fn a_policy_of_its_own_replaces_what_passes_by_default() {
    let mut standalone = workspace_write().file("environment.pass = ['ONLY']");
    standalone.layers.remove(0);
    assert_eq!(standalone.on(&host()).unwrap().env.pass, ["ONLY"]);
    let mut added = workspace_write().command_line("environment.pass = ['MORE']");
    added.layers.remove(0);
    assert!(added.on(&host()).unwrap().env.pass.contains(&"PATH".into()));
}

#[test]
fn a_name_that_no_variable_has_is_refused() {
    for name in ["", "A=B", "A*B"] {
        let error =
            workspace_write().file(&format!("environment.pass = ['{name}']")).on(&host()).unwrap_err();
        assert!(error.to_string().contains("no name of a variable"), "{error}");
    }
}

#[test]
fn a_feature_asked_for_in_code_is_refused_by_name() {
    let mut request = workspace_write();
    request.layers[0].file.network.access = Some(crate::policy::file::NetworkAccess::Proxy);
    let error = request.on(&host()).unwrap_err().to_string();
    assert_eq!(error, "`network.access` needs the network proxy, which this version does not have");
}

#[test]
fn limits_are_merged_and_processor_time_is_whole_seconds() {
    let request = workspace_write().file("limits = { time = '5min', cpu = '1500ms', memory = '1K' }");
    let limits = request.command_line("limits.time = 3").on(&host()).unwrap().limits;
    assert_eq!((limits.time.unwrap().as_secs(), limits.cpu.unwrap().as_secs()), (3, 2));
    assert_eq!(limits.memory, Some(1024));
}

#[test]
fn the_identity_is_the_same_for_the_same_words_and_another_for_others() {
    let mut fake = host();
    fake.directory("/home/u/ws/sub");
    let id = |request: crate::policy::resolve::Request| request.on(&fake).unwrap().id;
    let base = id(workspace_write());
    assert!(base.to_string().starts_with("sha256:") && base.to_string().len() == 71);
    let mut moved = workspace_write();
    moved.cwd = abs("/home/u/ws/sub");
    assert_eq!(id(moved), base, "the working directory is no part of it");
    assert_ne!(id(workspace_write().file("filesystem.hide = ['~/x']")), base);
    assert_ne!(id(workspace_write().file("network.access = 'open'")), base);
    let tilde = id(workspace_write().file("filesystem.hide = ['~/x/*']"));
    assert_eq!(id(workspace_write().file("filesystem.hide = ['/home/u/x/*']")), tilde);
    let mut later = host();
    later.file("/home/u/x/new", "");
    assert_eq!(workspace_write().file("filesystem.hide = ['~/x/*']").on(&later).unwrap().id, tilde);
}
