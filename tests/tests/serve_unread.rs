//! `confine serve` and clients that do not read: what they say is heard all the same.

use std::fs;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use confine_tests::served::{Client, Server};
use confine_tests::world::{assert_gone, content, is_there, marker, within};
use confine_tests::{Backend, Scene, User, installation, needs};
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn a_client_that_does_not_read_holds_up_its_own_runs_only() {
    needs!(root, bwrap);
    let scene = Scene::new(User::Root, Backend::Bwrap);
    let server = Server::new(&scene);
    let flood = marker();
    let mut slow = UnixStream::connect(server.path()).expect("it listens");
    let script =
        format!("sleep {flood} & while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; : > beat; done");
    let hello = json!({ "kind": "hello", "version": 1 });
    let start = json!({ "kind": "run/start", "run": "flood", "command": ["sh", "-c", script], "cwd": scene.workspace() });
    slow.write_all(format!("{hello}\n{start}\n").as_bytes()).expect("room");
    let beat = scene.workspace().join("beat");
    assert!(within(PATIENCE, || is_there(&beat)), "the flood runs");
    let is_still = || {
        let _ = fs::remove_file(&beat);
        !within(Duration::from_millis(100), || is_there(&beat))
    };
    assert!(within(PATIENCE, is_still), "the program waits for its reader");

    let mut other = Client::socket(server.path()).greet("never");
    other.start(&scene, "quick", &["true"], json!({}));
    assert_eq!(other.report("quick")["verdict"], "passed");
    let status = content(Path::new(&format!("/proc/{}/status", server.pid()))).expect("it lives");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kilobytes < 64 * 1024, "{kilobytes} kB");

    // It goes on being heard, also where answers to what it says have no room.
    let cancel = json!({ "kind": "run/cancel", "run": "flood" });
    slow.write_all(format!("{}{cancel}\n", answered(100)).as_bytes()).expect("room");
    assert_gone(&flood, PATIENCE);
}

/// Lines that the server answers at once, each of them in another way.
fn answered(count: usize) -> String {
    let lines = |number| {
        format!(
            "{{\"kind\":\"probe\",\"id\":\"{number}\"}}\n{{\n{{\"kind\":\"turn/close\",\"turn\":\"none\"}}\n"
        )
    };
    (0..count).map(lines).collect()
}

#[test]
fn a_client_that_never_reads_is_heard_when_it_ends_and_when_it_asks_too_much() {
    needs!(root, bwrap);
    let scene = Scene::new(User::Root, Backend::Bwrap);
    let server = Server::new(&scene);
    for (lines, closes) in [(100, true), (2000, false)] {
        let mut stdio = scene.command(installation::confine());
        stdio.args(["serve", "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut stdio = stdio.spawn().expect("it starts");
        let socket = UnixStream::connect(server.path()).expect("it listens");
        let pipe = stdio.stdin.take().expect("a pipe");
        let writers: [Box<dyn Write>; 2] = [Box::new(&socket), Box::new(pipe)];
        for (number, mut writer) in writers.into_iter().enumerate() {
            let (beat, ends) = (scene.workspace().join(format!("beat-{closes}-{number}")), marker());
            let script = format!("sleep {ends} & : > {}; yes", beat.display());
            let hello = json!({ "kind": "hello", "version": 1 });
            let start = json!({ "kind": "run/start", "run": "a", "command": ["sh", "-c", script], "cwd": scene.workspace() });
            write!(writer, "{hello}\n{start}\n").expect("room");
            assert!(within(PATIENCE, || is_there(&beat)), "it runs");
            std::thread::sleep(Duration::from_millis(100));
            // The server may have hung up by now.
            let _ = writer.write_all(answered(lines).as_bytes());
            if closes {
                drop(writer);
                let _ = socket.shutdown(Shutdown::Write);
            }
            assert_gone(&ends, Duration::from_secs(4));
        }
        assert!(within(PATIENCE, || stdio.try_wait().is_ok_and(|ended| ended.is_some())), "the server ends");
    }
}
