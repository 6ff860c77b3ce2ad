use super::*;
use proptest::prelude::*;

fn toml(text: &str) -> Result<PolicyFile, ParseError> {
    PolicyFile::parse(text, Syntax::Toml)
}

const WHOLE: &str = r#"
version = 1
mode = "workspace-write"
extends = "workspace-write"
[filesystem]
read = ["/"]
write = ["a"]
hide = ["~/secrets"]
protect = ["deploy.key"]
git = "protect"
missing-protected = "refuse"
tmp = "host"
proc = "host"
symlinks = "deny"
sockets = ["/s"]
devices = ["/dev/kvm"]
precreate = ["p"]
[network]
access = "open"
allow = []
deny = []
resolve = {}
[egress]
tools = []
[environment]
pass = ["PATH"]
set = { CI = "1" }
[limits]
time = "10min"
memory = 1024
processes = 5
cpu = 3
file-size = "1G"
open-files = 9
background = "deny"
[syscalls]
mode = "enforce"
[approval]
default = "ask"
[enforcement]
require = ["fs-exec"]
accept-missing = ["fs-carve-out-new"]
nested = true
"#;

#[test]
fn every_key_is_read_and_survives_json_and_toml() {
    let file = toml(WHOLE).unwrap();
    let json = serde_json::to_string(&file).unwrap();
    assert_eq!(PolicyFile::parse(&json, Syntax::Json).unwrap(), file);
    assert_eq!(toml(&toml::to_string(&file).unwrap()).unwrap(), file);
    assert_eq!(file.limits.memory.unwrap().0, 1024);
}

#[test]
fn an_error_names_line_key_reason_and_help() {
    let rows = [
        ("version = 1\nmode = \"write\"", 2, "mode", "unknown variant `write`"),
        ("version = 1\n[filesystem]\nraed = []", 3, "filesystem", "unknown field `raed`"),
        ("version = 1\n[filesystem]\nread = 5", 3, "filesystem.read", "invalid type"),
        ("version = 2", 1, "version", "version 2 is not known"),
        ("version = 1\n[limits]\ntime = \"5m\"", 3, "limits.time", "`m` is no unit"),
        ("version = 1\n[enforcement]\nrequire = [\"fs-nope\"]", 3, "enforcement.require", "fs-nope"),
        ("version = 1\n[[", 2, "", ""),
        ("mode = \"read-only\"", 1, "", "missing field `version`"),
    ];
    for (text, line, key, reason) in rows {
        let error = toml(text).unwrap_err();
        assert_eq!(error.line, Some(line), "{error}");
        assert!(error.message.contains(key) && error.message.contains(reason), "{error}");
        assert!(error.help.is_some());
    }
}

#[test]
fn a_json_error_names_line_and_key() {
    let error =
        PolicyFile::parse("{\n\"version\": 1,\n\"network\": {\"access\": 3}}", Syntax::Json).unwrap_err();
    assert_eq!(error.line, Some(3));
    assert!(error.message.contains("network.access"), "{error}");
    // K01: a trailing comma left by a hand edit, and a second document.
    assert_eq!(PolicyFile::parse("{\"version\": 1,\n}", Syntax::Json).unwrap_err().line, Some(2));
    assert!(PolicyFile::parse("{\"version\": 1} {}", Syntax::Json).is_err());
}

#[test]
fn a_key_of_a_later_feature_names_the_feature() {
    let rows = [
        ("[network]\naccess = \"proxy\"", "needs the network proxy"),
        ("[network]\nallow = [\"example.org\"]", "needs the network proxy"),
        ("[network]\ndeny = [\"example.org\"]", "needs the network proxy"),
        ("[network]\nresolve = { a = \"127.0.0.1\" }", "needs the network proxy"),
        ("[egress]\ntools = [\"fetch\"]", "needs egress tools"),
        ("[syscalls]\nmode = \"log\"", "needs the system-call observer"),
    ];
    for (text, words) in rows {
        let error = toml(&format!("version = 1\n{text}")).unwrap_err();
        assert!(error.message.contains(words) && error.line == Some(3), "{error:?}");
        assert!(!error.help.unwrap().is_empty());
    }
}

#[test]
fn the_built_in_policies_differ_in_mode_only() {
    let read = PolicyFile::builtin("read-only").unwrap();
    let write = PolicyFile::builtin("workspace-write").unwrap();
    assert_eq!(PolicyFile { mode: write.mode, ..read }, write);
    assert_eq!(write.enforcement.accept_missing, [Effect::FsCarveOutNew, Effect::NetUnixPathNew]);
    assert_eq!(PolicyFile::builtin("danger-full-access"), None);
}

#[cfg(feature = "schema")]
#[test]
fn the_schema_describes_every_key() {
    let schema = schema().to_string();
    for key in ["missing-protected", "accept-missing", "file-size", "precreate", "Reserved"] {
        assert!(schema.contains(key), "{key}");
    }
}

proptest! {
    #[test]
    fn parsing_never_panics(text: String) {
        let _ = toml(&text);
        let _ = PolicyFile::parse(&text, Syntax::Json);
    }

    #[test]
    fn parsing_a_broken_policy_never_panics(at in 0..WHOLE.len(), with: String) {
        let mut text = WHOLE.to_owned();
        if text.is_char_boundary(at) { text.insert_str(at, &with); }
        let _ = toml(&text);
    }
}
