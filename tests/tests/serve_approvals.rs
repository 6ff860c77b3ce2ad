//! Approvals over `confine serve`: what is asked, whose answer counts, and front ends that misbehave.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use confine_tests::served::{Client, Server};
use confine_tests::world::{content, is_there, names};
use confine_tests::{Backend, Scene, User, each, needs};
use serde_json::{Value, json};

const ROOT_AND_ORDINARY: &[User] = &[User::Root, User::Ordinary];

fn scene() -> Scene {
    Scene::new(User::Ordinary, Backend::Bwrap)
}

fn outside(scene: &Scene, name: &str) -> PathBuf {
    scene.outside().join(name)
}

/// Starts a command that writes to `file`, and then to its neighbour.
fn write(client: &mut Client, scene: &Scene, run: &str, file: &Path, fields: Value) {
    let script = format!("echo yes >> {0} && echo no >> {0}-neighbour", file.display());
    client.start(scene, run, &["sh", "-c", &script], fields);
}

fn answer(client: &mut Client, question: &Value, answer: &str) {
    client.say(json!({ "kind": "approval/answer", "approval": question["approval"], "answer": answer }));
}

/// Asked about a denial, in whatever way a test then goes on.
fn asked(client: &mut Client, scene: &Scene, run: &str, file: &Path) -> Value {
    client.start(scene, run, &["sh", "-c", &format!("echo yes >> {}", file.display())], json!({}));
    client.of("approval/request", run)
}

#[test]
fn a_denial_is_asked_about_and_a_yes_is_good_for_exactly_that_once() {
    needs!(root, bwrap);
    each(ROOT_AND_ORDINARY, &[Backend::Bwrap], |scene| {
        let file = outside(scene, "file");
        let mut client = Client::stdio(scene).greet("ask");
        write(&mut client, scene, "a", &file, json!({}));
        let question = client.of("approval/request", "a");
        assert_eq!(
            question["subject"]["grant"],
            json!({ "grants": [{ "precreate": file }] }),
            "{question:#}"
        );
        assert_eq!(question["rerun"]["kind"], "ran-before");
        let text = question["text"].to_string();
        assert!(text.contains(file.to_str().expect("text")), "{text}");
        answer(&mut client, &question, "allow-once");
        assert_eq!(client.of("approval/decided", "a")["outcome"]["kind"], "allowed-once");
        // The neighbour is denied all the same, and asked about by itself.
        let second = client.of("approval/request", "a");
        answer(&mut client, &second, "reject");
        assert_eq!(client.of("approval/decided", "a")["outcome"]["kind"], "rejected");
        let report = client.report("a");
        assert_eq!(
            (&report["verdict"], &report["refusal"]["outcome"]),
            (&json!("denied"), &json!("rejected"))
        );
        assert_eq!(report["attempts"].as_array().map(Vec::len), Some(2), "{report:#}");
        assert_eq!(content(&file).as_deref(), Some("yes\n"));
        assert!(!is_there(&outside(scene, "file-neighbour")));
        // The next run of the same command has nothing of it.
        write(&mut client, scene, "b", &file, json!({}));
        let question = client.of("approval/request", "b");
        client.say(json!({ "kind": "run/cancel", "run": "b" }));
        assert_eq!(client.of("approval/decided", "b")["outcome"]["kind"], "cancelled");
        assert_eq!(client.report("b")["verdict"], "cancelled");
        assert_eq!(content(&file).as_deref(), Some("yes\n"));
        // Too late.
        answer(&mut client, &question, "allow-once");
        assert_eq!(client.next("error", |error| error["of"] == "approval/answer")["fault"], "decided");
        client.close();
        assert!(client.wait().success());
        let logs = scene.home().join(".local/state/confine/sessions");
        let log = names(&logs).into_iter().find(|name| name.ends_with(".jsonl")).expect("a log");
        let log = content(&logs.join(log)).expect("a log");
        for event in ["approval/asked", "approval/decided", "approval/used", "approval/ignored"] {
            assert!(log.contains(event), "{event} is not in\n{log}");
        }
    });
}

#[test]
fn a_request_ahead_is_asked_about_before_the_start_and_one_that_is_not_wider_never() {
    needs!(root, bwrap);
    let scene = scene();
    let file = outside(&scene, "file");
    let ahead =
        |grant: Value| json!({ "sandbox_permissions": grant, "justification": "it says\u{1b}[2J so" });
    let grant = json!({ "grants": [{ "precreate": file }] });
    let mut client = Client::stdio(&scene).greet("ask");
    for (said, verdict, code, is_written) in [
        ("reject", "refused", 77, false),
        ("cancel", "refused", 77, false),
        ("allow-once", "passed", 0, true),
    ] {
        client.start(
            &scene,
            "a",
            &["sh", "-c", &format!("echo {said} > {}", file.display())],
            ahead(grant.clone()),
        );
        let question = client.of("approval/request", "a");
        assert_eq!(question["rerun"]["kind"], "not-started");
        assert!(!question["text"].to_string().contains('\u{1b}'));
        answer(&mut client, &question, said);
        let result = client.of("run/result", "a");
        assert_eq!(
            (&result["exit_code"], &result["report"]["verdict"]),
            (&json!(code), &json!(verdict)),
            "{result:#}"
        );
        assert_eq!(is_there(&file), is_written, "{said}");
    }
    let started = client.rest().iter().filter(|one| one["kind"] == "run/started").count();
    assert_eq!(started, 1, "what was refused never started");
    // What the policy gives anyway is answered without a question.
    let narrow = ahead(json!({ "grants": [{ "write": scene.workspace() }] }));
    client.start(&scene, "b", &["true"], narrow);
    assert_eq!(client.report("b")["verdict"], "passed");
    assert!(!client.rest().iter().any(|one| one["kind"] == "approval/request"));
    for (fields, fault) in [
        (json!({ "justification": "x" }), "malformed"),
        (json!({ "sandbox_permissions": grant }), "malformed"),
        (
            json!({ "sandbox_permissions": { "mode": "danger-full-access" }, "justification": "x" }),
            "malformed",
        ),
        (json!({ "sandbox_permissions": grant, "justification": "x".repeat(1001) }), "malformed"),
    ] {
        client.start(&scene, "c", &["true"], fields.clone());
        assert_eq!(client.of("error", "c")["fault"], fault, "{fields}");
    }
}

/// A cancel that comes while the tree of a denied attempt is being wound up, or at any time around that.
#[test]
fn once_a_run_is_cancelled_nothing_of_it_begins_whatever_is_answered_then() {
    needs!(root, bwrap);
    let scene = scene();
    let mut client = Client::stdio(&scene).greet("ask");
    for delay in (0..=20).chain(0..=8) {
        let file = outside(&scene, &format!("file-{delay}"));
        let script = format!("echo said; echo x >> {}", file.display());
        client.start(&scene, "a", &["sh", "-c", &script], json!({}));
        client.next("run/output", |one| one["run"] == "a" && one["stream"] == "stdout");
        std::thread::sleep(Duration::from_millis(delay));
        client.say(json!({ "kind": "run/cancel", "run": "a" }));
        let result = loop {
            let next = client.next_of_any("a", &["approval/request", "run/result"]);
            if next["kind"] == "run/result" {
                break next;
            }
            answer(&mut client, &next, "allow-once");
        };
        assert_eq!(result["report"]["verdict"], "cancelled", "after {delay} ms: {result:#}");
        let started = client.take("run/started");
        assert_eq!(started.len(), 1, "after {delay} ms: {started:?}");
        assert!(!is_there(&file), "after {delay} ms");
    }
}

#[test]
fn with_never_no_front_end_is_asked_whatever_it_says() {
    needs!(root, bwrap);
    let scene = scene();
    let file = outside(&scene, "file");
    let mut client = Client::stdio(&scene).greet("never");
    write(&mut client, &scene, "a", &file, json!({}));
    assert_eq!(client.report("a")["verdict"], "denied");
    let ahead = json!({ "sandbox_permissions": { "grants": [{ "precreate": file }] }, "justification": "x" });
    write(&mut client, &scene, "b", &file, ahead);
    let result = client.of("run/result", "b");
    assert_eq!((&result["exit_code"], &result["report"]["verdict"]), (&json!(77), &json!("refused")));
    assert_eq!(result["report"]["refusal"]["by"], "service");
    client.say(
        json!({ "kind": "approval/answer", "approval": result["report"]["run"], "answer": "allow-once" }),
    );
    assert_eq!(client.next("error", |_| true)["fault"], "unknown-approval");
    assert!(!client.rest().iter().any(|one| one["kind"] == "approval/request"));
    assert!(!is_there(&file) && !is_there(&scene.home().join(".local/state/confine/sessions")));
}

#[test]
fn a_front_end_that_misbehaves_is_named_and_nothing_runs() {
    needs!(root, bwrap);
    let scene = scene();
    let file = outside(&scene, "file");
    let said = |answer: &str| format!(r#"{{"kind":"approval/answer","approval":ID,"answer":{answer}}}"#);
    for (outcome, line) in [
        ("unavailable", said(r#""perhaps""#)),
        ("unavailable", said(r#"{"yes":1}"#)),
        ("unavailable", said(r#""allow-always""#)),
        ("unavailable", "yes, of course {".to_owned()),
        ("unavailable", r#"{"kind":"approval/cancel","approval":ID}"#.to_owned()),
        ("cancelled", said(r#""cancel""#)),
    ] {
        let mut client = Client::stdio(&scene).greet("ask");
        let question = asked(&mut client, &scene, "a", &file);
        let line = line.replace("ID", &question["approval"].to_string());
        client.write(format!("{line}\n").as_bytes());
        let decided = client.of("approval/decided", "a");
        assert_eq!(decided["outcome"]["kind"], outcome, "{line}");
        let report = client.report("a");
        assert_eq!(
            (&report["verdict"], &report["refusal"]["outcome"]),
            (&json!("denied"), &json!(outcome)),
            "{line}"
        );
        // An answer after that changes nothing.
        answer(&mut client, &question, "allow-once");
        client.next("error", |error| error["fault"] == "decided");
        client.close();
        assert!(client.wait().success());
        assert!(!is_there(&file), "{line}");
    }
    // One that hangs.
    let mut client = Client::stdio(&scene);
    client.say(json!({ "kind": "hello", "version": 1, "approvals": "ask", "deadline_ms": 300 }));
    let question = asked(&mut client, &scene, "a", &file);
    assert_eq!(question["deadline_ms"], 300);
    let since = Instant::now();
    assert_eq!(client.of("approval/decided", "a")["outcome"]["kind"], "timed-out");
    assert!(since.elapsed() < Duration::from_secs(5));
    assert_eq!(client.report("a")["refusal"]["outcome"], "timed-out");
    // One that goes away.
    let mut client = Client::stdio(&scene).greet("ask");
    asked(&mut client, &scene, "a", &file);
    client.close();
    assert!(client.wait().success());
    assert!(!is_there(&file));
    let logs = scene.home().join(".local/state/confine/sessions");
    let said =
        |name: &String| content(&logs.join(name)).is_some_and(|log| log.contains("the front end is gone"));
    assert!(names(&logs).iter().any(said), "the log says why");
}

#[test]
fn only_the_client_that_was_asked_can_answer_and_only_once() {
    needs!(root, bwrap);
    let scene = Scene::new(User::Root, Backend::Bwrap);
    let (file, server) = (outside(&scene, "file"), Server::new(&scene));
    let mut client = Client::socket(server.path()).greet("ask");
    let mut other = Client::socket(server.path()).greet("ask");
    let question = asked(&mut client, &scene, "a", &file);
    answer(&mut other, &question, "allow-once");
    assert_eq!(other.next("error", |_| true)["fault"], "unknown-approval");
    let id = question["approval"].as_str().expect("a name");
    let forged: String = id.chars().rev().collect();
    for forged in [forged.as_str(), "", "../a", &"a".repeat(200)] {
        client.say(json!({ "kind": "approval/answer", "approval": forged, "answer": "allow-once" }));
        assert_eq!(client.next("error", |_| true)["fault"], "unknown-approval", "{forged}");
    }
    assert!(!is_there(&file), "nobody has answered yet");
    for said in ["reject", "allow-once", "allow-once"] {
        answer(&mut client, &question, said);
    }
    assert_eq!(client.report("a")["refusal"]["outcome"], "rejected");
    for _ in 0..2 {
        assert_eq!(client.next("error", |_| true)["fault"], "decided");
    }
    assert!(!is_there(&file));
    // The twin.
    let twin = outside(&scene, "twin");
    let question = asked(&mut client, &scene, "b", &twin);
    answer(&mut client, &question, "allow-once");
    assert_eq!(client.report("b")["verdict"], "passed");
    assert!(is_there(&twin));
}

#[test]
fn what_changes_while_the_question_stands_is_named_and_does_not_run() {
    needs!(root, bwrap);
    let scene = scene();
    let script = scene.workspace().join("s.sh");
    for changes in [true, false] {
        let file = outside(&scene, "file");
        scene.write(&script, &format!("echo one >> {}\n", file.display()));
        let mut client = Client::stdio(&scene).greet("ask");
        client.start(&scene, "a", &["sh", "s.sh"], json!({}));
        let question = client.of("approval/request", "a");
        if changes {
            scene.write(&script, &format!("echo two >> {}\n", file.display()));
        }
        answer(&mut client, &question, "allow-once");
        let report = client.report("a");
        if changes {
            assert_eq!(
                (&report["verdict"], &report["refusal"]["outcome"]),
                (&json!("denied"), &json!("rejected"))
            );
            assert!(report["refusal"]["reason"].to_string().contains("s.sh"), "{report:#}");
        } else {
            assert_eq!(report["verdict"], "passed", "{report:#}");
        }
        assert_eq!(is_there(&file), !changes);
    }
}

#[test]
fn a_grant_that_is_something_else_by_the_time_of_the_answer_is_refused() {
    needs!(root, bwrap);
    let scene = scene();
    let (file, other) = (outside(&scene, "file"), outside(&scene, "other"));
    for changes in [true, false] {
        scene.write(&file, "");
        scene.write(&other, "");
        let mut client = Client::stdio(&scene).greet("ask");
        let question = asked(&mut client, &scene, "a", &file);
        assert_eq!(question["evidence"], "text", "{question:#}");
        if changes {
            std::fs::remove_file(&file).expect("it is there");
            std::os::unix::fs::symlink(&other, &file).expect("a free name");
        }
        answer(&mut client, &question, "allow-once");
        let report = client.report("a");
        if changes {
            assert_eq!(report["refusal"]["outcome"], "rejected", "{report:#}");
            assert!(report["refusal"]["reason"].to_string().contains("changed"), "{report:#}");
            std::fs::remove_file(&file).expect("it is there");
        } else {
            assert_eq!(report["verdict"], "passed", "{report:#}");
        }
        assert_eq!(content(&other).as_deref(), Some(""));
    }
}

#[test]
fn three_refusals_in_a_turn_end_its_questions_and_a_closed_turn_takes_what_waits() {
    needs!(root, bwrap);
    let scene = scene();
    let mut client = Client::stdio(&scene).greet("ask");
    let turn = |client: &mut Client, kind: &str, turn: &str| {
        client.say(json!({ "kind": kind, "turn": turn }));
        client.next(kind, |one| one["turn"] == turn);
    };
    turn(&mut client, "turn/open", "one");
    for run in ["a", "b", "c"] {
        write(&mut client, &scene, run, &outside(&scene, run), json!({ "turn": "one" }));
        let question = client.of("approval/request", run);
        answer(&mut client, &question, "reject");
        assert_eq!(client.report(run)["verdict"], "denied");
    }
    write(&mut client, &scene, "d", &outside(&scene, "d"), json!({ "turn": "one" }));
    let report = client.report("d");
    assert!(report["refusal"]["reason"].to_string().contains("in a row"), "{report:#}");
    turn(&mut client, "turn/close", "one");
    turn(&mut client, "turn/open", "two");
    write(&mut client, &scene, "e", &outside(&scene, "e"), json!({ "turn": "two" }));
    client.of("approval/request", "e");
    turn(&mut client, "turn/close", "two");
    assert_eq!(client.of("approval/decided", "e")["outcome"]["kind"], "cancelled");
    assert_eq!(client.report("e")["verdict"], "denied");
    assert_eq!(names(&scene.outside()), Vec::<String>::new());
}
