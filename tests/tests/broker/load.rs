//! What is loaded, and what not: nothing but the bytes that were approved.

use std::fs;
use std::os::unix::fs::symlink;

use confine_broker::LoadError;
use confine_broker::plugin::PluginError;
use confine_broker::plugin::elf::ElfError;
use confine_core::approval::Digest;
use confine_tests::needs;
use serde_json::json;

use crate::scene::{BRIDGE, MISBEHAVE, Scene, approved, call};

/// The bytes of a file, with one changed at the first place where `what` stands.
fn changed(bytes: &[u8], what: &[u8]) -> Vec<u8> {
    let at = bytes.windows(what.len()).position(|window| window == what).unwrap();
    let mut changed = bytes.to_vec();
    changed[at] ^= 1;
    changed
}

#[tokio::test]
async fn one_byte_of_plugin_manifest_or_approval_changes_everything() {
    needs!(bwrap, cc);
    let scene = Scene::new();
    let file = scene.compiled(BRIDGE, &["-DPORT=80"]);
    let good = approved(&file);
    let broker = scene.broker(&["bridge"]);
    let whole = fs::read(&file).unwrap();
    for (about, bytes) in [
        ("code", changed(&whole, b"\"came\"")),
        ("manifest", changed(&whole, b"Move bytes")),
        ("one byte more", [whole.as_slice(), b"\0"].concat()),
        ("one byte less", whole[..whole.len() - 1].to_vec()),
    ] {
        fs::write(&file, bytes).unwrap();
        let refused = broker.load(&good).unwrap_err();
        assert!(matches!(refused, LoadError::Plugin(PluginError::Changed { .. })), "{about}: {refused}");
        assert!(!refused.help().is_empty());
    }
    // With the changed file approved, the manifest still is not.
    fs::write(&file, changed(&whole, b"Move bytes")).unwrap();
    let mut half = good.clone();
    half.sha256 = Digest::of(&fs::read(&file).unwrap());
    let refused = broker.load(&half).unwrap_err();
    assert!(matches!(refused, LoadError::Plugin(PluginError::OtherManifest { .. })), "{refused}");
    fs::write(&file, &whole).unwrap();
    let mut other = good.clone();
    other.manifest = Digest::of(b"another");
    assert!(matches!(broker.load(&other), Err(LoadError::Plugin(PluginError::OtherManifest { .. }))));
    let mut other = good.clone();
    other.sha256 = Digest::of(b"another");
    assert!(matches!(broker.load(&other), Err(LoadError::Plugin(PluginError::Changed { .. }))));
    let unlisted = scene.broker(&["other"]);
    assert!(matches!(unlisted.load(&good), Err(LoadError::Unlisted { .. })));
    assert_eq!(broker.load(&good).unwrap().name.as_str(), "bridge");
}

#[tokio::test]
async fn a_file_that_is_swapped_after_the_check_is_not_what_runs() {
    needs!(bwrap, cc);
    let scene = Scene::new();
    let file = scene.compiled(MISBEHAVE, &[]);
    let broker = scene.broker(&["misbehave"]);
    broker.load(&approved(&file)).unwrap();
    fs::write(&file, "nothing that could be loaded").unwrap();
    fs::remove_file(&file).unwrap();
    let did = call(&broker, "misbehave", json!({"do": "nothing"})).await.unwrap();
    assert_eq!(did, r#"{"did":"nothing"}"#);
    fs::write(&file, "nothing that could be loaded").unwrap();
    assert!(call(&broker, "misbehave", json!({"do": "crash"})).await.is_err());
    let did = call(&broker, "misbehave", json!({"do": "nothing"})).await.unwrap();
    assert_eq!(did, r#"{"did":"nothing"}"#, "a new helper has the bytes that were checked");
}

#[tokio::test]
async fn links_directories_and_pipes_are_no_plugins() {
    needs!(bwrap, cc);
    let scene = Scene::new();
    let file = scene.compiled(BRIDGE, &["-DPORT=80"]);
    let good = approved(&file);
    let broker = scene.broker(&["bridge"]);
    let moved = file.with_extension("moved");
    fs::rename(&file, &moved).unwrap();
    symlink(&moved, &file).unwrap();
    let refused = broker.load(&good).unwrap_err();
    assert!(matches!(refused, LoadError::Plugin(PluginError::Image(_))), "{refused}");
    fs::remove_file(&file).unwrap();
    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(matches!(broker.load(&good), Err(LoadError::Plugin(PluginError::Image(_)))));
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(matches!(broker.load(&good), Err(LoadError::Plugin(PluginError::Image(_)))));
    fs::remove_dir(&file).unwrap();
    assert!(matches!(broker.load(&good), Err(LoadError::Plugin(PluginError::Image(_)))));
    fs::rename(&moved, &file).unwrap();
    broker.load(&good).unwrap();
}

#[tokio::test]
async fn what_the_bytes_say_is_refused_before_any_code_runs() {
    needs!(cc);
    let scene = Scene::new();
    let path = |file: &std::path::Path| confine_core::AbsPath::new(file).unwrap();
    let read = |flags: &[&str]| {
        let file = scene.compiled(BRIDGE, flags);
        confine_broker::plugin::Plugin::read(&path(&file))
    };
    let port = "-DPORT=80";
    assert!(read(&[port]).is_ok());
    assert!(read(&[port, "-lm", "-Wl,--no-as-needed"]).is_ok());
    let elf = |read: Result<_, PluginError>| match read {
        Err(PluginError::Elf { source, .. }) => source,
        other => panic!("{other:?}"),
    };
    let steered = [port, "-Wl,-rpath,lib", "-Wl,--disable-new-dtags"];
    assert_eq!(elf(read(&steered)), ElfError::Steers("RPATH"));
    assert_eq!(elf(read(&[port, "-Wl,-rpath,lib", "-Wl,--enable-new-dtags"])), ElfError::Steers("RUNPATH"));
    assert_eq!(elf(read(&[port, "-Wl,--audit,x.so"])), ElfError::Steers("AUDIT"));
    assert_eq!(elf(read(&[port, "-Wl,-f,x.so"])), ElfError::Steers("AUXILIARY"));
    let liar = scene.compiled("examples/egress-liar/liar.c", &[]);
    let refused = confine_broker::plugin::Plugin::read(&path(&liar)).unwrap_err();
    assert!(
        matches!(&refused, PluginError::Imports { imports, .. } if imports.contains(&"connect")),
        "{refused}"
    );
    let late = scene.compiled("examples/egress-late-liar/late_liar.c", &[]);
    assert!(confine_broker::plugin::Plugin::read(&path(&late)).is_ok(), "the early check is no control");
    let no_plugin = path(std::path::Path::new("/bin/true").canonicalize().unwrap().as_path());
    assert!(matches!(elf(confine_broker::plugin::Plugin::read(&no_plugin)), ElfError::Manifest(0)));
    let text = scene.place.path().join("text.so");
    fs::write(&text, "#!/bin/sh\n").unwrap();
    assert!(matches!(elf(confine_broker::plugin::Plugin::read(&path(&text))), ElfError::Malformed(_)));
    let mut other = fs::read(scene.compiled(BRIDGE, &[port])).unwrap();
    other[18] ^= 1;
    fs::write(&text, &other).unwrap();
    assert!(matches!(elf(confine_broker::plugin::Plugin::read(&path(&text))), ElfError::Machine(_)));
}

/// A library is known to the loader by the name of its descriptor: the next one must not get the same name.
#[tokio::test]
async fn two_plugins_in_turn_are_never_taken_for_each_other() {
    needs!(bwrap, cc);
    let scene = Scene::new();
    let names: Vec<String> = (0..3).map(|number| format!("bridge{number}")).collect();
    let listed: Vec<&str> = names.iter().map(String::as_str).collect();
    let broker = scene.broker(&listed);
    for name in &names {
        let file = scene.compiled(BRIDGE, &["-DPORT=80", &format!("-DNAME={name}")]);
        assert_eq!(broker.load(&approved(&file)).unwrap().name.as_str(), name);
    }
    for name in names.iter().chain(&names) {
        let error = call(&broker, name, json!({"port": 81})).await.unwrap_err();
        assert!(error.text.contains(&format!("`{name}`")), "{error}");
    }
    let known = broker.inventory();
    assert_eq!(known.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), listed);
}
