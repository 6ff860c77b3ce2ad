//! `confine serve`: many runs over one connection, and clients that misbehave.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use confine_tests::served::{Client, Server};
use confine_tests::world::{assert_gone, is_there, living, marker, within};
use confine_tests::{Backend, Finished, Scene, User, each, needs};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);

fn scene(user: User) -> Scene {
    Scene::new(user, Backend::Bwrap)
}

fn stop(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.cast_signed()), signal).expect("it is alive");
}

/// How many descriptors a process has open.
fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Standard output of `run`, up to now, where all of it is text.
fn text(client: &mut Client, run: &str) -> String {
    let chunks = client.rest().iter().filter(|one| one["stream"] == "stdout" && one["run"] == run);
    chunks.filter_map(|one| one["data"].as_str()).collect()
}

#[test]
fn every_run_has_its_own_directory_environment_policy_input_and_backend() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Root, User::Ordinary], &[Backend::Bwrap], |scene| {
        let other = scene.directory(&scene.base().join("other"));
        let losses = confine_tests::backend::LANDLOCK_LOSSES;
        let settings = json!({ "version": 1, "enforcement": { "accept-missing": losses.split(',').collect::<Vec<_>>() } });
        let script = "pwd; echo $LC_ALL $OTHER; cat; echo x > file";
        let mut client = Client::stdio(scene).greet("never");
        let one = json!({ "environment": { "PATH": "/usr/bin:/bin", "LC_ALL": "one", "OTHER": "no" }, "stdin": { "data": "first\n" } });
        client.start(scene, "one", &["sh", "-c", script], one);
        let two = json!({
            "cwd": other, "policy": "read-only", "backend": "landlock", "settings": settings, "stdin": "pipe",
            "environment": { "PATH": "/usr/bin:/bin", "LC_ALL": "two" },
        });
        client.start(scene, "two", &["sh", "-c", script], two);
        client.say(json!({ "kind": "run/stdin", "run": "two", "data": "second\n" }));
        client.say(json!({ "kind": "run/stdin", "run": "two", "data": "", "end": true }));
        let (one, two) = (client.report("one"), client.report("two"));
        assert_eq!(text(&mut client, "one"), format!("{}\none\nfirst\n", scene.workspace().display()));
        assert_eq!(text(&mut client, "two"), format!("{}\ntwo\nsecond\n", other.display()));
        assert_eq!((&one["backend"], &two["backend"]), (&json!("bwrap"), &json!("landlock")));
        assert_eq!((&one["verdict"], &two["verdict"]), (&json!("passed"), &json!("denied")), "{two:#}");
        assert!(is_there(&scene.workspace().join("file")) && !is_there(&other.join("file")));
    });
}

#[test]
fn output_is_text_where_it_can_be_and_base64_where_not() {
    needs!(root, bwrap);
    let scene = scene(User::Ordinary);
    let mut client = Client::stdio(&scene).greet("never");
    // 3 bytes each, which no chunk of a power of two ends with.
    client.start(
        &scene,
        "text",
        &["sh", "-c", "i=0; while [ $i -lt 40000 ]; do echo €€; i=$((i+1)); done"],
        json!({}),
    );
    client.start(&scene, "bytes", &["printf", r"\377\n\376"], json!({}));
    assert_eq!(client.report("text")["verdict"], "passed");
    assert_eq!(client.report("bytes")["verdict"], "passed");
    assert_eq!(text(&mut client, "text"), "€€\n".repeat(40_000));
    let bytes = client.of("run/output", "bytes");
    assert_eq!(bytes["data"], json!({ "base64": "/wr+" }));
}

#[test]
fn a_connection_that_ends_ends_its_runs_and_leaves_nothing() {
    needs!(root, bwrap);
    each(&[User::Root, User::Ordinary], &[Backend::Bwrap], |scene| {
        let ends = marker();
        let mut client = Client::stdio(scene).greet("never");
        client.start(scene, "a", &["sleep", &ends], json!({}));
        client.of("run/started", "a");
        client.close();
        assert_eq!(client.report("a")["verdict"], "cancelled");
        assert!(client.wait().success());
        assert_gone(&ends, PATIENCE);
    });
    // Whoever runs the tests is root, and only connects to root's server.
    let scene = scene(User::Root);
    let server = Server::new(&scene);
    Client::socket(server.path()).greet("never");
    let before = descriptors(server.pid());
    let (stays, ends) = (marker(), marker());
    let mut bystander = Client::socket(server.path()).greet("never");
    bystander.start(&scene, "stays", &["sleep", &stays], json!({}));
    bystander.of("run/started", "stays");
    for closes in [true, false] {
        let mut client = Client::socket(server.path()).greet("never");
        for run in ["a", "b", "c"] {
            let script = format!("trap '' TERM; sleep {ends} & wait");
            client.start(&scene, run, &["sh", "-c", &script], json!({}));
        }
        client.of("run/started", "c");
        let _open = if closes {
            client.close();
            Some(client)
        } else {
            drop(client);
            None
        };
        assert_gone(&ends, PATIENCE);
    }
    assert!(!living(&stays).is_empty(), "another connection's run goes on");
    drop(bystander);
    assert_gone(&stays, PATIENCE);
    let open = || descriptors(server.pid());
    assert!(within(PATIENCE, || open() <= before), "{} descriptors, and {before} before", open());
}

#[test]
fn a_server_that_ends_takes_every_run_with_it() {
    needs!(root, bwrap);
    let scene = scene(User::Ordinary);
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let ends = marker();
        let mut client = Client::stdio(&scene).greet("never");
        client.start(&scene, "a", &["sleep", &ends], json!({}));
        client.of("run/started", "a");
        stop(client.server(), signal);
        client.wait();
        assert_gone(&ends, PATIENCE);
    }
    let server = Server::new(&scene);
    stop(server.pid(), Signal::SIGTERM);
    assert!(within(PATIENCE, || !is_there(server.path())), "the socket is gone");
}

#[test]
fn what_is_no_message_is_named_and_the_connection_goes_on_or_ends() {
    needs!(root, bwrap);
    let scene = scene(User::Ordinary);
    let mut client = Client::stdio(&scene).greet("never");
    for (line, fault) in [
        ("{", "malformed"),
        ("[]", "malformed"),
        (r#"{"kind":"run/start","run":"a","command":["true"],"cwd":"/","cwd":"/tmp"}"#, "malformed"),
        (
            r#"{"kind":"run/start","run":"a","command":["true"],"cwd":"/","environment":{"A":"1","\u0041":"2"}}"#,
            "malformed",
        ),
        (r#"{"kind":"run/start","run":"a"}"#, "malformed"),
        (r#"{"kind":"run/start","run":"a","cwd":"x","command":[]}"#, "malformed"),
        (r#"{"kind":"later"}"#, "unknown-kind"),
        (r#"{"kind":"hello","version":1}"#, "second-hello"),
        (r#"{"kind":"run/cancel","run":"a"}"#, "unknown-run"),
        (r#"{"kind":"run/stdin","run":"a","data":""}"#, "unknown-run"),
        (r#"{"kind":"turn/close","turn":"a"}"#, "unknown-turn"),
        (r#"{"kind":"run/start","run":"a","command":["true"],"cwd":"/","turn":"t"}"#, "unknown-turn"),
        (r#"{"kind":"approval/answer","approval":"a","answer":"allow-once"}"#, "unknown-approval"),
        (r#"{"kind":"plan","id":"a","cwd":"/nope","command":["true"]}"#, "refused"),
    ] {
        client.write(format!("{line}\n").as_bytes());
        let error = client.next("error", |_| true);
        assert_eq!(error["fault"], fault, "{line}");
        assert!(error["text"].as_str().is_some_and(|text| !text.is_empty()));
    }
    client.write(b"\xff\xfe\n\n\r\n");
    assert_eq!(client.next("error", |_| true)["fault"], "malformed");
    client.start(&scene, "a", &["cat"], json!({ "stdin": "pipe", "unknown": [1] }));
    client.start(&scene, "a", &["true"], json!({}));
    let error = client.of("error", "a");
    assert_eq!((&error["fault"], &error["of"]), (&json!("run-exists"), &json!("run/start")));
    client.say(json!({ "kind": "run/stdin", "run": "a", "data": "x".repeat(1024 * 1024 - 1000) }));
    client.say(json!({ "kind": "run/signal", "run": "a", "signal": 65 }));
    assert_eq!(client.of("error", "a")["fault"], "malformed");
    client.say(json!({ "kind": "run/signal", "run": "a", "signal": 15 }));
    let result = client.of("run/result", "a");
    assert_eq!((&result["exit_code"], &result["report"]["verdict"]), (&json!(143), &json!("cancelled")));

    client.write(&vec![b' '; 1024 * 1024 + 1]);
    assert_eq!(client.ends().last().expect("an error")["fault"], "too-long");
    for (line, fault) in [
        (r#"{"kind":"probe","id":"a"}"#, "no-hello"),
        (r#"{"kind":"hello","version":2}"#, "version"),
        ("hello", "malformed"),
    ] {
        let mut client = Client::stdio(&scene);
        client.write(format!("{line}\n").as_bytes());
        assert_eq!(client.ends().last().expect("an error")["fault"], fault, "{line}");
        assert!(client.wait().success());
    }
}

#[test]
fn a_run_that_cannot_be_confined_has_a_result_that_says_why() {
    needs!(root, bwrap);
    let scene = scene(User::Ordinary);
    let mut client = Client::stdio(&scene).greet("never");
    let wrong = [
        (json!({ "policy": "nope" }), "nope"),
        (json!({ "backend": "nope" }), "nope"),
        (json!({ "cwd": "/nope" }), "/nope"),
        (json!({ "workspaces": ["/nope"] }), "/nope"),
        (json!({ "settings": { "version": 1, "filesystem": { "wirte": ["/x"] } } }), "wirte"),
        (json!({ "settings": { "version": 1, "filesystem": { "write": ["/nope/x"] } } }), "/nope/x"),
        (json!({ "environment": { "A=B": "x" } }), "A=B"),
        (json!({ "environment": { "A": "x\u{0}y" } }), "`A`"),
        (json!({ "command": [] }), "run"),
        (json!({ "command": ["a\u{0}b"] }), ""),
    ];
    for (fields, named) in wrong {
        client.start(&scene, "a", &["sh", "-c", "echo > ran"], fields.clone());
        let result = client.of("run/result", "a");
        assert_eq!(
            (&result["exit_code"], &result["report"]["verdict"]),
            (&json!(125), &json!("launcher-failed")),
            "{fields}"
        );
        let text = result["report"]["launch_fault"]["text"].as_str().expect("a text");
        assert!(text.contains(named), "{fields}: {text}");
    }
    assert!(!is_there(&scene.workspace().join("ran")));
}

#[test]
fn questions_are_answered_as_the_command_line_answers_them() {
    needs!(root, bwrap);
    let scene = scene(User::Ordinary);
    let workspace = scene.workspace();
    let mut client = Client::stdio(&scene).greet("never");
    let mut ask = |kind: &str, fields: Value| {
        let mut message = json!({ "kind": kind, "id": "a", "cwd": workspace });
        message.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        client.say(message);
        client.next(kind, |answer| answer["id"] == "a")
    };
    let told = |words: &[&str]| scene.plain().verb(words.iter().copied()).run::<&str>([]).exits(0).stdout;
    assert_eq!(ask("policy/describe", json!({}))["text"], told(&["policy", "describe", "--for", "model"]));
    let shown: Value = serde_json::from_str(&told(&["policy", "show", "--json"])).expect("JSON");
    assert_eq!(ask("policy/show", json!({}))["policy"], shown);
    assert_eq!(ask("policy/check", json!({}))["ok"], true);
    let wrong = ask("policy/check", json!({ "policy": "nope" }));
    assert!(
        wrong["ok"] == false && wrong["fault"]["text"].as_str().is_some_and(|text| text.contains("nope"))
    );
    assert!(ask("probe", json!({}))["governs"]["bwrap"]["fs-write"].is_object());
    let losses = "orphan,fd-stdio,fs-carve-out-new";
    let settings =
        json!({ "version": 1, "enforcement": { "accept-missing": losses.split(',').collect::<Vec<_>>() } });
    client.say(
        json!({ "kind": "plan", "id": "p", "cwd": workspace, "command": ["true"], "settings": settings }),
    );
    let answer = loop {
        match client.rest().iter().find(|one| one["id"] == "p").cloned() {
            Some(answer) => break answer,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    // What a plan goes without depends on the host: it is a plan, or a refusal that names what to accept.
    let is_plan = answer["plan"]["argv"].is_array();
    assert!(
        is_plan
            || answer["launch_fault"]["help"].as_str().is_some_and(|help| help.contains("--accept-missing")),
        "{answer}"
    );
}

#[test]
fn the_socket_is_the_users_own_and_nobody_else_is_let_in() {
    needs!(root, bwrap, python3);
    let scene = scene(User::Ordinary);
    let server = Server::new(&scene);
    let mode = server.path().symlink_metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    // Root gets past the mode, and the kernel says who it is.
    let mut root = Client::socket(server.path());
    root.say(json!({ "kind": "hello", "version": 1 }));
    assert_eq!(root.ends(), Vec::<Value>::new());
    // The twin: the same program as the user itself.
    let script = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('{}')\ns.sendall(b'{{\"kind\":\"hello\",\"version\":1}}\\n')\nprint(s.recv(9))",
        server.path().display()
    );
    assert!(scene.control(["python3", "-c", &script]).stdout.contains("kind"));
    let stranger = Finished::of(
        {
            let mut command = User::Nobody.command("python3", &scene.home());
            command.args(["-c", &script]);
            command
        },
        &[],
    );
    assert!(stranger.stderr.contains("PermissionError"), "{stranger}");
}

#[test]
fn a_socket_lies_out_of_reach_of_what_runs() {
    needs!(root, bwrap, landlock = 6, python3);
    let scene = scene(User::Root);
    let inside = scene.workspace().join("socket");
    let refused = scene.plain().verb(["serve", "--socket"]).options([inside.as_os_str()]).run::<&str>([]);
    refused.exits(125).says("the confined program may write there");
    assert!(!is_there(&inside));

    let server = Server::new(&scene);
    let mut client = Client::socket(server.path()).greet("never");
    let connect =
        format!("import socket; socket.socket(socket.AF_UNIX).connect('{}')", server.path().display());
    client.start(&scene, "reach", &["python3", "-c", &connect], json!({}));
    assert_ne!(client.report("reach")["verdict"], "passed");
    scene.control(["python3", "-c", &connect]).exits(0);
    let home = json!({ "settings": { "version": 1, "filesystem": { "write": [scene.home()] } } });
    client.start(&scene, "wide", &["sh", "-c", "echo > ran"], home);
    assert_eq!(client.report("wide")["verdict"], "launcher-failed");
    let losses: Vec<_> = confine_tests::backend::LANDLOCK_LOSSES.split(',').collect();
    let settings = json!({ "version": 1, "enforcement": { "accept-missing": losses } });
    client.start(
        &scene,
        "open",
        &["sh", "-c", "echo > ran"],
        json!({ "backend": "landlock", "settings": settings }),
    );
    let text = client.report("open")["launch_fault"]["text"].to_string();
    assert!(text.contains("net-unix-path"), "{text}");
    assert!(!is_there(&scene.workspace().join("ran")));
}
