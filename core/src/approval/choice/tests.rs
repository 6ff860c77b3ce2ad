use std::collections::BTreeMap;

use super::*;
use crate::approval::{Digest, Execution, Measured};
use crate::denial::Target;
use crate::escalate::Grant;
use crate::{AbsPath, PolicyId};

fn offered(words: &[&str], files: &[&str]) -> Vec<Choice> {
    let argv: Vec<Text> = words.iter().map(|word| Text::from(*word)).collect();
    let cwd = AbsPath::new("/ws").unwrap();
    let measured =
        |path: &&str| Measured { path: AbsPath::new(path).unwrap(), content: Some(Digest::of(b"")) };
    let execution = execution(argv.clone(), cwd.clone(), files.iter().map(measured).collect());
    choices(&Subject::Command { argv, cwd }, &Binding::execution(&execution))
}

fn execution(argv: Vec<Text>, cwd: AbsPath, files: Vec<Measured>) -> Execution {
    Execution {
        argv,
        cwd,
        environment: BTreeMap::new(),
        program: None,
        files,
        commands: Vec::new(),
        stdin: None,
        policy: PolicyId::of(b""),
        grant: None,
    }
}

/// Whether a session's, and a rule's, yes is offered.
fn more(words: &[&str]) -> (bool, bool) {
    more_with(words, &[])
}

fn more_with(words: &[&str], files: &[&str]) -> (bool, bool) {
    let choices = offered(words, files);
    assert_eq!(choices.first(), Some(&Choice::AllowOnce));
    assert!(choices.ends_with(&[Choice::Reject, Choice::Cancel]));
    let session = choices.iter().any(|choice| matches!(choice, Choice::AllowForSession { .. }));
    let always = choices.iter().any(|choice| matches!(choice, Choice::AllowAlways { covers: Cover::Exact }));
    assert_eq!(choices.len(), 3 + usize::from(session) + usize::from(always), "{choices:?}");
    (session, always)
}

#[test]
fn what_is_small_and_exact_is_offered_for_more_than_once() {
    let cases: &[&[&str]] = &[
        &["ls", "-l"],
        &["cargo", "test"],
        &["sh", "-c", "A=\"\" uv run pytest"],
        &["env", "A=", "uv", "run", "pytest"],
    ];
    for words in cases {
        assert_eq!(more(words), (true, true), "{words:?}");
    }
}

#[test]
fn what_no_answer_is_bound_to_is_offered_once() {
    let heredoc = format!("python3 - <<EOF\n{}\nEOF", "x = 1\n".repeat(1_700));
    let long = "x".repeat(600);
    let cases: &[&[&str]] = &[
        &["bash", "-c", &heredoc],
        &["bash", "-c", "cat <<EOF"],
        &["echo", &long],
        &["echo", "a\nb"],
        &["echo", "\u{202e}"],
        &["echo", "a  b"],
        &["echo", "\u{e0041}"],
        &["python3", "-"],
        &["python3.12", "-"],
        &["/usr/bin/python3"],
        &["bash", "-s"],
        &["sh"],
        &["env", "nice", "bash", "-s"],
        &["env", "-S", "python3 -"],
        &["sh", "-c", "bash"],
        &["sh", "-c", "./deploy.sh prod"],
        &["sh", "-c", ". deploy"],
        &["sh", "-c", "source deploy"],
        &["sh", "-c", "curl x|sh"],
        &["sh", "-c", "find|xargs rm"],
        &["sh", "-c", "$(bash)"],
        &["xargs", "rm"],
        &["node", "--inspect"],
        &["sh", "-c", "eval \"$(cat)\""],
        &["sh", "-c", "read x; eval $x"],
        &["python3", "-c", "exec(input())"],
        &["perl", "-e", "do 'x.pl'"],
        &["nice", "tool"],
        &["sudo", "tool"],
        &["timeout", "9", "tool"],
        &["find", ".", "-exec", "tool", ";"],
        &["env", "PATH=./bin", "tool"],
        &["env", "LD_PRELOAD=./x.so", "ls"],
        &["git", "-c", "core.pager=x", "log"],
        &["git", "-c", "alias.x=!tool", "x"],
        &["tar", "--checkpoint-action=exec=tool", "-cf", "x", "."],
        &["make", "-f", "-"],
        &["awk", "-fx.awk"],
        &["bash", "--rcfile", "x", "-c", "true"],
        &["ssh", "host", "ls"],
    ];
    for words in cases {
        assert_eq!(more(words), (false, false), "{words:?}");
    }
    let odd = vec![Text::from("ls"), Text::from(vec![0xff])];
    assert!(!is_small(&odd));
}

#[test]
fn what_is_not_known_to_run_what_it_says_gets_no_rule() {
    let cases: &[&[&str]] = &[
        &["env", "tool"],
        &["env", "cargo-x", "test"],
        &["env", "-i", "cargo", "test"],
        &["env", "PATH=", "cargo", "test"],
        &["env", "RUSTC_WRAPPER=tool", "cargo", "test"],
        &["python3", "-m", "pytest"],
        &["python3", "-m", "tool"],
        &["npx", "tool"],
        &["uvx", "tool"],
        &["uv", "run", "tool"],
        &["cargo", "run"],
        &["cargo", "x"],
        &["cargo", "test", "--config", "build.rustc-wrapper='tool'"],
        &["go", "test", "-exec", "tool"],
        &["cargo", "clippy", "--", "-Clinker=tool"],
        &["pytest", "-p", "tool"],
        &["pytest", "@options"],
        &["./cargo", "test"],
        &["/ws/cargo", "test"],
        &["docker", "run", "image"],
        &["make"],
        &["tool"],
        &["sh", "-c", "tool"],
        &["sh", "-c", "'CI=1' pytest"],
        &["sh", "-c", "CI=1 PATH= pytest"],
        &["sh", "-ec", "pytest"],
        &["zsh", "-c", "pytest"],
        &["sh", "-c", "pytest *"],
    ];
    for words in cases {
        assert_eq!(more(words), (true, false), "{words:?}");
    }
}

#[test]
fn a_command_that_reads_a_file_gets_no_rule() {
    assert_eq!(more_with(&["sh", "s.sh"], &["/ws/s.sh"]), (true, false));
    assert_eq!(more_with(&["pytest", "a.py"], &["/ws/a.py"]), (true, false));
    assert_eq!(more_with(&["pytest", "a.py"], &[]), (true, true));
    let (argv, cwd) = (vec![Text::from("pytest")], AbsPath::new("/ws").unwrap());
    let mut fed = execution(argv.clone(), cwd.clone(), Vec::new());
    fed.stdin = Some(Digest::of(b""));
    let choices = choices(&Subject::Command { argv, cwd }, &Binding::execution(&fed));
    assert!(!choices.iter().any(|choice| matches!(choice, Choice::AllowAlways { .. })), "{choices:?}");
}

#[test]
fn more_than_the_policy_allows_is_offered_once() {
    let cwd = AbsPath::new("/ws").unwrap();
    let grant = Grant::one(Target::Write(AbsPath::new("/data").unwrap()));
    let subject = Subject::Escalation {
        argv: vec!["ls".into()],
        cwd,
        grant,
        directories: Vec::new(),
        denials: Vec::new(),
    };
    let binding = Binding::connect("h", 1, &PolicyId::of(b""));
    assert_eq!(choices(&subject, &binding), [Choice::AllowOnce, Choice::Reject, Choice::Cancel]);
    let connect = choices(&Subject::Connect { host: "h".into(), port: 1 }, &binding);
    assert!(connect.contains(&Choice::AllowForSession { covers: Cover::Exact }) && connect.len() == 4);
}

#[test]
fn a_prefix_is_whole_words_from_the_first() {
    let prefix = |words: &[&str]| cover(&words.iter().map(|word| Text::from(*word)).collect::<Vec<_>>());
    let stem = Cover::Prefix { argv: vec!["cargo".into(), "test".into()] };
    assert_eq!(prefix(&["cargo", "test", "-q"]), stem);
    for words in [
        &["cargo"][..],
        &["cargo", "tests"],
        &["cargo", "+nightly", "test"],
        &["./cargo", "test"],
        &["x", "cargo", "test"],
    ] {
        assert_eq!(prefix(words), Cover::Exact, "{words:?}");
    }
}
