//! `confine plan`: an argv that any program can spawn, made only where what it loses is accepted.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::call::{confine, text};
use crate::exits::needs_a_sandbox;

/// The list that the refusal prints.
fn accepted(directory: &std::path::Path) -> String {
    let output = confine(directory).args(["plan", "--", "true"]).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(output.stdout.is_empty());
    let (_, list) = stderr.split_once("--accept-missing ").unwrap_or_else(|| panic!("no list: {stderr}"));
    list.split('`').next().unwrap().to_owned()
}

fn plan(directory: &std::path::Path, script: &str) -> Value {
    let list = accepted(directory);
    let words = ["plan", "--json", "--accept-missing", &list, "--", "sh", "-c", script];
    let output = confine(directory).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// As a program in another language would: exactly the argv, the environment and the directory.
fn spawn(plan: &Value) -> std::process::Output {
    let words: Vec<String> = serde_json::from_value(plan["argv"].clone()).unwrap();
    let pass: Vec<String> = serde_json::from_value(plan["env"]["pass"].clone()).unwrap();
    let set: BTreeMap<String, String> = serde_json::from_value(plan["env"]["set"].clone()).unwrap();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(plan["cwd"].as_str().unwrap()).env_clear();
    command.envs(pass.iter().filter_map(|name| Some((name, std::env::var_os(name)?)))).envs(set);
    command.output().unwrap()
}

#[test]
fn the_plan_spawned_without_confine_confines() {
    if !needs_a_sandbox("the_plan_spawned_without_confine_confines") {
        return;
    }
    let top = tempfile::Builder::new().prefix("confine-cli-").tempdir_in("/var/tmp").unwrap();
    let ws = top.path().join("ws");
    std::fs::create_dir(&ws).unwrap();
    let plan = plan(&ws, "echo in > in; echo out > ../out; echo $CONFINE_BACKEND; exit 3");
    let output = spawn(&plan);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), plan["backend"].as_str().unwrap());
    assert!(ws.join("in").exists());
    assert!(!top.path().join("out").exists());
    let missing: Vec<&str> =
        plan["missing"].as_array().unwrap().iter().map(|loss| loss["effect"].as_str().unwrap()).collect();
    assert!(missing.contains(&"orphan"), "{missing:?}");
}

#[test]
fn a_plan_that_needs_a_file_made_is_refused_by_its_name() {
    if !needs_a_sandbox("a_plan_that_needs_a_file_made_is_refused_by_its_name") {
        return;
    }
    let directory = tempfile::Builder::new().prefix("confine-cli-").tempdir_in("/var/tmp").unwrap();
    let list = accepted(directory.path());
    let policy = directory.path().join("policy.toml");
    let text_of_it = "version = 1\nextends = \"workspace-write\"\n[filesystem]\nprecreate = [\"result\"]\n";
    std::fs::write(&policy, text_of_it).unwrap();
    std::fs::create_dir(directory.path().join("ws")).unwrap();
    let words = ["plan", "--policy", "./policy.toml", "--workspace", "ws", "--accept-missing", &list];
    let output = confine(directory.path()).args(words).args(["--", "true"]).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("result` before the launch"), "{stderr}");
    assert!(stderr.contains("out of `precreate`") && !stderr.contains("--accept-missing"), "{stderr}");
}

#[test]
fn the_plan_for_people_is_one_line_of_shell_and_comments() {
    if !needs_a_sandbox("the_plan_for_people_is_one_line_of_shell_and_comments") {
        return;
    }
    let directory = tempfile::Builder::new().prefix("confine-cli-").tempdir_in("/var/tmp").unwrap();
    let list = accepted(directory.path());
    let words = ["plan", "--accept-missing", &list, "--", "printf", "%s", "it's\na word"];
    let output = confine(directory.path()).args(words).output().unwrap();
    let shown = text(&output.stdout);
    assert_eq!(shown.lines().filter(|line| !line.starts_with("# ")).count(), 1, "{shown}");
    let script = directory.path().join("plan.sh");
    std::fs::write(&script, shown).unwrap();
    let ran = Command::new("bash").arg(&script).current_dir(directory.path()).output().unwrap();
    assert_eq!(text(&ran.stdout), "it's\na word", "{}", text(&ran.stderr));
}
