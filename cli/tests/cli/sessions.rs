//! `confine audit` and `confine preset`: sessions as they lie on the disk.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use confine_core::AbsPath;
use confine_core::approval::{ApprovalPolicy, SessionId};
use confine_core::policy::resolve::{Request, Written, resolve};
use confine_core::policy::{PolicyFile, Source};
use confine_runner::approvals::{Approvals, Asked};
use confine_runner::places::Places;
use confine_runner::view::HostView;
use serde_json::Value;
use tempfile::TempDir;

use crate::call::{confine, text};

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir_in("/var/tmp").unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Exit code, stdout and stderr.
    fn call(&self, session: Option<&str>, words: &[&str]) -> (Option<i32>, String, String) {
        let mut command = confine(self.0.path());
        command.env("HOME", self.0.path()).args(words);
        if let Some(session) = session {
            command.env("CONFINE_SESSION", session);
        }
        let output = command.output().unwrap();
        (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    }

    fn json(&self, session: Option<&str>, words: &[&str], code: i32) -> Value {
        let (found, stdout, stderr) = self.call(session, words);
        assert_eq!((found, stderr.as_str()), (Some(code), ""), "{words:?}");
        serde_json::from_str(&stdout).unwrap()
    }
}

#[test]
fn a_preset_is_chosen_for_a_session_and_its_log_says_so() {
    let home = Home::new();
    let listed = home.json(None, &["preset", "list", "--json"], 0);
    assert_eq!(listed["presets"][0]["name"], "plan");
    assert_eq!((&listed["session"], &listed["chosen"]), (&Value::Null, &Value::Null));
    assert!(!home.file(".local").exists(), "nothing is made by looking");
    let used = home.json(Some("work"), &["preset", "use", "plan", "--json"], 0);
    assert_eq!((&used["session"], &used["preset"]["mode"]), (&"work".into(), &"read-only".into()));
    assert_eq!(home.json(Some("work"), &["preset", "list", "--json"], 0)["chosen"], "plan");
    assert_eq!(home.json(Some("other"), &["preset", "list", "--json"], 0)["chosen"], Value::Null);
    let (_, table, _) = home.call(None, &["preset", "list", "--session", "work"]);
    assert!(table.starts_with("* plan "), "{table}");
    let shown = home.json(Some("work"), &["audit", "show", "--json"], 0);
    let events: Vec<&str> =
        shown["events"].as_array().unwrap().iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["session/opened", "permission/preset", "permission/mode", "permission/approval"]);
    let (code, lines, stderr) = home.call(None, &["audit", "show", "work"]);
    assert_eq!((code, stderr.as_str(), lines.lines().count()), (Some(0), "", 4));
    assert!(lines.contains("preset  plan\n"), "{lines}");
}

#[test]
fn presets_of_the_user_stand_beside_the_others() {
    let home = Home::new();
    let directory = home.file(".config/confine");
    fs::create_dir_all(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    let file = directory.join("presets.toml");
    let preset = "[[preset]]\nname = \"careful\"\nmode = \"read-only\"\napproval = \"never\"\n";
    fs::write(&file, format!("version = 1\n{preset}")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let used = home.json(None, &["preset", "use", "careful", "--session", "s", "--json"], 0);
    assert_eq!(used["preset"]["approval"], "never");
    fs::write(&file, format!("version = 1\n{preset}{preset}")).unwrap();
    let (code, _, stderr) = home.call(None, &["preset", "list"]);
    assert_eq!(code, Some(125));
    assert!(stderr.contains("cannot read the presets: ") && stderr.contains("help: mend "), "{stderr}");
}

#[test]
fn a_log_that_was_tampered_with_is_found_out_and_not_gone_on_with() {
    let home = Home::new();
    home.json(Some("work"), &["preset", "use", "plan", "--json"], 0);
    home.json(Some("fine"), &["preset", "use", "plan", "--json"], 0);
    let whole = home.json(None, &["audit", "verify", "--json"], 0);
    assert_eq!(whole["sessions"].as_array().unwrap().len(), 2);
    let log = home.file(".local/state/confine/sessions/work.jsonl");
    let before = fs::read_to_string(&log).unwrap();
    let last = before.lines().count() - 1;
    let cut: String = before.split_inclusive('\n').take(last).collect();
    for (tampered, named) in [
        (before.replace("\"preset\":\"plan\"", "\"preset\":\"full\""), "line 2 was changed"),
        (cut, "was cut off"),
        (before.split_inclusive('\n').skip(1).collect(), "was cut off"),
    ] {
        fs::write(&log, &tampered).unwrap();
        let found = home.json(None, &["audit", "verify", "--json"], 1);
        assert_eq!(
            (&found["sessions"][0]["whole"], &found["sessions"][1]["whole"]),
            (&true.into(), &false.into())
        );
        let faults = found["sessions"][1]["faults"].to_string();
        assert!(faults.contains(named), "{faults}");
        let (code, _, stderr) = home.call(Some("work"), &["preset", "use", "plan"]);
        assert_eq!(code, Some(125), "{stderr}");
        assert!(stderr.contains("event log") && stderr.contains("help: `confine audit verify`"), "{stderr}");
        assert_eq!(fs::read_to_string(&log).unwrap(), tampered, "it stays as it is");
    }
    let (code, text, _) = home.call(None, &["audit", "verify", "fine"]);
    assert_eq!((code, text.as_str()), (Some(0), "fine  whole, 4 events\n"));
}

#[test]
fn what_is_not_there_is_said() {
    let home = Home::new();
    for (words, named) in [
        (&["audit", "show"][..], "cannot choose a session: none is named"),
        (&["audit", "show", "none"], "cannot read the log of `none`: there is no such session"),
        (&["audit", "verify", "a/b"], "cannot use the session `a/b`: an id is 1 to 64"),
        (&["preset", "use", "plan"], "cannot choose a session: none is named"),
        (
            &["preset", "use", "none", "--session", "s"],
            "cannot use the preset `none`: there is none of that name",
        ),
    ] {
        let (code, stdout, stderr) = home.call(None, words);
        assert_eq!((code, stdout.as_str()), (Some(125), ""), "{words:?}");
        assert!(stderr.contains(named) && stderr.contains("\nhelp: "), "{stderr}");
    }
    assert_eq!(home.call(None, &["audit", "verify"]), (Some(0), String::new(), String::new()));
    assert!(!home.file(".local").exists(), "nothing is made");
}

/// A question about a hostile command, by the library, with nobody there to answer.
fn asked(home: &Home) {
    let places = Places::with(|name| (name == "HOME").then(|| home.0.path().as_os_str().to_owned()));
    let session = SessionId::new("work").unwrap();
    // Before the policy is resolved: what is there is kept out of its reach.
    let approvals = Approvals::open(&places, &session, ApprovalPolicy::Ask).unwrap();
    let cwd = AbsPath::new(home.0.path()).unwrap();
    let file = PolicyFile::builtin("workspace-write").unwrap();
    let request = Request {
        layers: vec![Written { file, base: cwd.clone(), source: Source::BuiltIn }],
        workspaces: vec![cwd.clone()],
        workspaces_named: true,
        cwd: cwd.clone(),
        own_directories: places.own_directories(),
        own_files: Vec::new(),
    };
    let policy = resolve(&request, &HostView::here()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let turn = approvals.turn().await.unwrap();
        let asked = Asked::command(["rm", "a b", "\u{1b}[2K\u{202e}c"], cwd, policy);
        assert!(approvals.request(&turn, &asked).await.unwrap().pass.is_none());
        turn.close().await.unwrap();
    });
}

#[test]
fn what_was_asked_is_shown_with_nothing_hidden_in_it() {
    let home = Home::new();
    asked(&home);
    let (code, lines, _) = home.call(Some("work"), &["audit", "show"]);
    assert_eq!(code, Some(0));
    let shown = r"rm 'a b' '\u{1b}[2K\u{202e}c' in ";
    assert!(
        lines.contains(shown) && lines.contains("unavailable (approval needed, non-interactive), by service")
    );
    assert!(lines.chars().all(|character| character == '\n' || !character.is_control()), "{lines}");
    let json = home.json(Some("work"), &["audit", "show", "--json"], 0);
    let events = json["events"].as_array().unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let story = ["session/opened", "turn/opened", "approval/asked", "approval/decided", "turn/closed"];
    assert_eq!(kinds, story);
    assert_eq!(events[2]["request"]["subject"]["argv"][2], "\u{1b}[2K\u{202e}c", "stored as it is");
}
