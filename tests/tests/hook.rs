//! `confine hook`: what an agent is about to run, wrapped; and every failure blocks it.

use std::process::Command;

use confine_tests::world::{content, is_there};
use confine_tests::{Backend, Finished, Scene, User, each, needs};
use serde_json::{Value, json};

/// Answers `event` to `confine hook WORDS`.
fn hook(scene: &Scene, words: &[&str], event: &[u8]) -> Finished {
    scene.plain().verb(["hook"]).options(words.iter().copied()).input(event).run::<&str>([])
}

fn event(scene: &Scene, command: &str) -> Value {
    json!({
        "session_id": "s", "transcript_path": "/nope", "cwd": scene.workspace(), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t",
        "tool_input": { "command": command, "description": "says it", "timeout": 1000, "run_in_background": false },
    })
}

/// The answer to an event that is one.
fn answered(scene: &Scene, words: &[&str], command: &str) -> Value {
    let answer = hook(scene, words, event(scene, command).to_string().as_bytes()).exits(0);
    assert_eq!(answer.stderr, "");
    serde_json::from_str(&answer.stdout).expect("JSON")
}

/// Runs a line as an agent would: in a shell, in the workspace.
fn run(scene: &Scene, shell: &str, line: &str) -> Finished {
    let mut command: Command = scene.command(shell);
    command.args(["-c", line]);
    Finished::of(command, &[])
}

#[test]
fn the_command_of_an_agent_runs_confined_and_as_it_was_written() {
    needs!(root, bwrap);
    each(&[User::Root, User::Ordinary], &[Backend::Bwrap], |scene| {
        let outside = scene.outside().join("file");
        for command in [
            format!(
                "printf '%s|' \"it's\" $'a\\tb' \"$((1 + 1))\" 'x\ny' é '!!' \\\\; echo > {}",
                outside.display()
            ),
            format!(
                "cat <<'END' && [[ a == a ]] && echo > {}\n'quoted' \"$HOME\" `x`\nEND",
                outside.display()
            ),
        ] {
            let answer = answered(scene, &["claude-code"], &command);
            let output = &answer["hookSpecificOutput"];
            assert_eq!(
                (&output["hookEventName"], &output["permissionDecision"]),
                (&json!("PreToolUse"), &json!("allow"))
            );
            let input = &output["updatedInput"];
            assert_eq!(input["description"], "says it");
            assert_eq!((&input["timeout"], &input["run_in_background"]), (&json!(1000), &json!(false)));
            let line = input["command"].as_str().expect("a command");
            let wrapped = run(scene, "bash", line).fails().says("[confine: ");
            assert!(!is_there(&outside));
            // The twin, without the hook.
            let plain = run(scene, "bash", &command).exits(0);
            assert_eq!(wrapped.stdout, plain.stdout);
            std::fs::remove_file(&outside).expect("it was written");
        }
        let place = scene.outside();
        let options = ["claude-code", "--ask", "--", "--write", place.to_str().expect("text")];
        let answer = answered(scene, &options, &format!("echo granted > {}", outside.display()));
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "ask");
        let line = answer["hookSpecificOutput"]["updatedInput"]["command"].clone();
        run(scene, "sh", line.as_str().expect("a command")).exits(0);
        assert_eq!(content(&outside).as_deref(), Some("granted\n"));
    });
}

#[test]
fn whatever_is_wrong_blocks_and_says_why() {
    needs!(root, bwrap);
    let scene = Scene::new(User::Ordinary, Backend::Bwrap);
    let with = |pointer: &str, value: Value| {
        let mut event = event(&scene, "echo");
        *event.pointer_mut(pointer).expect("a field") = value;
        event.to_string()
    };
    let whole = event(&scene, "echo").to_string();
    let events = [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        format!("{whole}{whole}"),
        whole.replacen('{', r#"{"cwd":"/","#, 1),
        whole.replace(r#""command":"#, r#""command":"true","command":"#),
        whole.get(..40).expect("long").to_owned(),
        with("/hook_event_name", json!("PostToolUse")),
        with("/tool_name", json!("Shell")),
        with("/tool_input/command", json!(["echo"])),
        with("/tool_input/command", json!(" ")),
        with("/tool_input/command", json!("a\u{0}b")),
        with("/tool_input", json!("echo")),
        with("/cwd", json!("relative")),
        with("/cwd", json!("/nope")),
        with("/tool_input/command", json!("confine run --write / -- sh -c 'id'")),
        with("/tool_input/command", json!("A=1 'confine' run -- id")),
        with("/tool_input/command", json!(format!("echo {}", "a".repeat(128 * 1024)))),
    ];
    for event in events {
        let blocked = hook(&scene, &["claude-code"], event.as_bytes()).exits(2);
        assert_eq!(blocked.stdout, "", "{event}");
        assert!(blocked.stderr.starts_with("confine: cannot "), "{event}: {blocked}");
    }
    let options: [&[&str]; 7] = [
        &["claude-code", "--nope"],
        &["nope"],
        &["claude-code", "--", "--nope"],
        &["claude-code", "--", "--policy", "nope"],
        &["claude-code", "--", "--", "sh"],
        &["claude-code", "--", "--cwd", "/nope"],
        &["claude-code", "--", "--backend", "landlock", "--accept-missing", ""],
    ];
    for options in options {
        assert_eq!(hook(&scene, options, whole.as_bytes()).exits(2).stdout, "", "{options:?}");
    }
    // Nobody named the workspace, and the home directory is none by itself; the twin names it.
    let mut home = event(&scene, "echo");
    home["cwd"] = json!(scene.home());
    let home = home.to_string();
    assert_eq!(hook(&scene, &["claude-code"], home.as_bytes()).exits(2).stdout, "");
    let place = scene.home();
    let named = ["claude-code", "--", "--workspace", place.to_str().expect("text")];
    hook(&scene, &named, home.as_bytes()).exits(0);
    // Nobody gets the answer; the twin gets it.
    scene.write(&scene.workspace().join("event"), &whole);
    let program = confine_tests::installation::confine();
    for (stdout, code) in [(">&-", 2), (">/dev/null", 2), ("| cat; exit ${PIPESTATUS[0]}", 0)] {
        let line = format!("{} hook claude-code <event {stdout}", program.display());
        run(&scene, "bash", &line).exits(code);
    }
    // The twins: an event that is one, and one that is none of our business.
    hook(&scene, &["claude-code"], whole.as_bytes()).exits(0);
    let read = json!({ "hook_event_name": "PreToolUse", "cwd": "/", "tool_name": "Read", "tool_input": { "file_path": "/x" } });
    assert_eq!(hook(&scene, &["claude-code"], read.to_string().as_bytes()).exits(0).stdout, "");
}

#[test]
fn any_other_agent_gets_a_line_and_its_words_or_a_no() {
    needs!(root, bwrap);
    let scene = Scene::new(User::Ordinary, Backend::Bwrap);
    let ask = |event: Value| {
        let answer = hook(&scene, &["json"], event.to_string().as_bytes());
        (answer.code(), serde_json::from_str::<Value>(&answer.stdout).expect("JSON"))
    };
    let outside = scene.outside().join("file");
    for command in
        [json!(format!("echo 'a  b' | cat; echo > {}", outside.display())), json!(["touch", outside])]
    {
        let (code, answer) = ask(json!({ "version": 1, "command": command, "cwd": scene.workspace() }));
        assert_eq!((code, &answer["decision"]), (Some(0), &json!("allow")));
        let line = run(&scene, "sh", answer["command"].as_str().expect("a line")).fails();
        let argv: Vec<&str> =
            answer["argv"].as_array().expect("words").iter().filter_map(Value::as_str).collect();
        let words = scene.control(argv).fails();
        assert_eq!((line.code(), line.stdout), (words.code(), words.stdout));
        assert!(!is_there(&outside));
    }
    for event in [
        json!({ "version": 2, "command": "true", "cwd": "/" }),
        json!({ "version": 1, "command": "", "cwd": "/tmp" }),
        json!({ "version": 1, "command": [], "cwd": "/tmp" }),
        json!({ "version": 1, "command": [1], "cwd": "/tmp" }),
        json!({ "version": 1, "command": "true" }),
        json!({ "version": 1, "command": "confine run -- true", "cwd": scene.workspace() }),
    ] {
        let (code, answer) = ask(event.clone());
        assert_eq!((code, &answer["decision"]), (Some(2), &json!("deny")), "{event}");
        assert!(answer["reason"].as_str().is_some_and(|reason| reason.starts_with("cannot ")), "{answer}");
    }
}
