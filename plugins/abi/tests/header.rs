//! The header and `confine_plugin_abi::table` say the same, and what the header shows as a plugin is one.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test reports by panicking")]

use std::fs;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

use confine_plugin_abi::table::{self, Bytes, Egress, Host, Sink, Source};
use confine_plugin_abi::{Code, Level};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// With every warning an error, as a careful stranger builds.
fn compile(words: &[&str], output: &Path) {
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", &format!("{HERE}/include")]);
    let done = cc.args(words).arg("-o").arg(output).output().expect("`cc` starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

fn lines() -> Vec<(&'static str, i64)> {
    let sizes = [
        ("confine_bytes", size_of::<Bytes>()),
        ("confine_bytes.ptr", offset_of!(Bytes, ptr)),
        ("confine_bytes.len", offset_of!(Bytes, len)),
        ("confine_sink", size_of::<Sink>()),
        ("confine_sink.ctx", offset_of!(Sink, ctx)),
        ("confine_sink.write", offset_of!(Sink, write)),
        ("confine_source", size_of::<Source>()),
        ("confine_source.ctx", offset_of!(Source, ctx)),
        ("confine_source.read", offset_of!(Source, read)),
        ("confine_host", size_of::<Host>()),
        ("confine_host.size", offset_of!(Host, size)),
        ("confine_host.abi", offset_of!(Host, abi)),
        ("confine_host.ctx", offset_of!(Host, ctx)),
        ("confine_host.log", offset_of!(Host, log)),
        ("confine_host.fetch", offset_of!(Host, fetch)),
        ("confine_host.connect", offset_of!(Host, connect)),
        ("confine_host.cancelled", offset_of!(Host, cancelled)),
        ("confine_egress", size_of::<Egress>()),
        ("confine_egress.size", offset_of!(Egress, size)),
        ("confine_egress.abi", offset_of!(Egress, abi)),
        ("confine_egress.manifest", offset_of!(Egress, manifest)),
        ("confine_egress.open", offset_of!(Egress, open)),
        ("confine_egress.call", offset_of!(Egress, call)),
        ("confine_egress.close", offset_of!(Egress, close)),
        ("CONFINE_EGRESS_ABI", usize::try_from(table::ABI).unwrap()),
        ("CONFINE_EGRESS_MANIFEST_MAX", table::MANIFEST_MAX),
        ("CONFINE_EGRESS_TEXT_MAX", table::TEXT_MAX),
        ("CONFINE_EGRESS_PART_MAX", table::PART_MAX),
        ("CONFINE_EGRESS_SIZE_MIN", table::EGRESS_SIZE_MIN),
    ];
    let numbers = [
        ("CONFINE_OK", confine_plugin_abi::code::OK),
        ("CONFINE_PANICKED", Code::Panicked.number()),
        ("CONFINE_BAD_INPUT", Code::BadInput.number()),
        ("CONFINE_FAILED", Code::Failed.number()),
        ("CONFINE_DENIED", Code::Denied.number()),
        ("CONFINE_CANCELLED", Code::Cancelled.number()),
    ];
    let levels = [
        ("CONFINE_LOG_ERROR", Level::Error),
        ("CONFINE_LOG_WARN", Level::Warn),
        ("CONFINE_LOG_INFO", Level::Info),
        ("CONFINE_LOG_DEBUG", Level::Debug),
    ];
    let sizes = sizes.into_iter().map(|(name, size)| (name, i64::try_from(size).unwrap()));
    let numbers = numbers.into_iter().map(|(name, number)| (name, i64::from(number)));
    let levels = levels.into_iter().map(|(name, level)| (name, i64::from(level.number())));
    sizes.chain(numbers).chain(levels).collect()
}

#[test]
fn every_size_offset_and_number_is_the_same_in_c() {
    let program = place("layout");
    compile(&[&format!("{HERE}/tests/layout.c")], &program);
    let printed = Command::new(&program).output().unwrap();
    fs::remove_file(&program).unwrap();
    let mut expected: Vec<String> = lines().iter().map(|(name, number)| format!("{name} {number}")).collect();
    expected.extend(["manifest { \"abi\": 1 }".to_owned(), "has 1 0".to_owned()]);
    assert_eq!(String::from_utf8(printed.stdout).unwrap().lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_plugin_that_the_header_shows_compiles() {
    let header = fs::read_to_string(format!("{HERE}/include/confine_egress.h")).unwrap();
    let (_, example) = header.split_once("A PLUGIN IN FULL\n").unwrap();
    let (example, command) = example.split_once(" *   cc ").unwrap();
    let code: String = example.lines().map(|line| format!("{}\n", line.trim_start_matches(" *"))).collect();
    let (source, library) = (place("hello.c"), place("hello.so"));
    fs::write(&source, code).unwrap();
    assert!(command.starts_with("-shared -fPIC -fvisibility=hidden "), "{command}");
    compile(&["-shared", "-fPIC", "-fvisibility=hidden", source.to_str().unwrap()], &library);
    let bytes = fs::read(&library).unwrap();
    for text in ["CONFINE_EGRESS_V1", "{ \"abi\": 1, \"name\": \"hello\", "] {
        assert!(bytes.windows(text.len()).any(|window| window == text.as_bytes()), "{text}");
    }
    for file in [source, library] {
        fs::remove_file(file).unwrap();
    }
}
