//! Case H03: what changes between the question and the start.

use std::fs::File;

use super::*;

/// Asks twice about `words`: with `file` rewritten before the yes, which is refused by the name of `named`, and without.
fn is_refused_once_changed(place: &Place, words: &[&str], file: &Path, fed: Fed, named: &str) {
    let (ran, session) = (place.workspace().join("ran"), file_name(words));
    let before = std::fs::read(file).expect("it is there");
    let stdin = || match fed {
        Fed::Nothing => Stdio::null(),
        Fed::TheFile => File::open(file).expect("it is there").into(),
    };
    let asked = match fed {
        Fed::Nothing => place.command(words),
        Fed::TheFile => {
            place.command(words).stdin(File::open(file).expect("it is there"), 0).expect("a descriptor")
        }
    };
    let changed = place.session(&format!("changed-{session}"));
    let rewritten = file.to_owned();
    let rewrite = move || std::fs::write(&rewritten, "#!/bin/sh\necho other > ran\n").expect("it is ours");
    changed.approver(Says::after(Answer::AllowOnce, rewrite));
    let refused = run_fed_if_allowed(&changed, place, words, &asked, stdin()).unwrap_err();
    assert!(refused.contains(named) && refused.contains("changed"), "{words:?}: {refused}");
    assert!(!is_there(&ran), "{words:?} did not run");

    std::fs::write(file, before).expect("it is ours");
    let same = place.session(&format!("same-{session}"));
    same.approver(Says::new(Answer::AllowOnce));
    run_fed_if_allowed(&same, place, words, &asked, stdin()).expect("nothing changed");
    assert_eq!(content(&ran).as_deref(), Some("as shown\n"), "{words:?}");
    std::fs::remove_file(&ran).expect("it ran");
}

/// The words as the name of a session.
fn file_name(words: &[&str]) -> String {
    let letters = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    words.join("-").chars().map(letters).rev().take(40).collect()
}

/// What a command reads.
#[derive(Clone, Copy)]
enum Fed {
    Nothing,
    TheFile,
}

#[test]
fn case_h03_a_script_or_an_executable_that_changes_while_the_prompt_is_open_is_refused_by_name() {
    let place = Place::new();
    let script = place.write("s.sh", "echo as shown > ran");
    let program = place.write("tool", "#!/bin/sh\necho as shown > ran\n");
    set_executable(&program);
    let tool = program.display().to_string();
    is_refused_once_changed(&place, &["sh", "s.sh"], &script, Fed::Nothing, "s.sh");
    is_refused_once_changed(&place, &[&tool], &program, Fed::Nothing, "the executable");
}

#[test]
fn case_h03_a_script_on_standard_input_that_changes_while_the_prompt_is_open_is_refused_by_name() {
    let place = Place::new();
    let script = place.write("s.sh", "echo as shown > ran");
    for words in [&["sh"][..], &["sh", "-s", "word"], &["env", "A=b", "sh"], &["timeout", "5", "sh", "-"]] {
        is_refused_once_changed(&place, words, &script, Fed::TheFile, "the standard input");
    }
}

#[test]
fn case_h03_a_payload_behind_wrappers_that_changes_while_the_prompt_is_open_is_refused_by_name() {
    let place = Place::new();
    let script = place.write("s.sh", "echo as shown > ran");
    let program = place.write("tool", "#!/bin/sh\necho as shown > ran\n");
    set_executable(&program);
    for words in [
        &["env", "sh", "s.sh"][..],
        &["timeout", "5", "sh", "s.sh"],
        &["env", "A=b", "nice", "timeout", "5", "sh", "./s.sh"],
        &["sh", "-c", "exec env sh s.sh"],
    ] {
        is_refused_once_changed(&place, words, &script, Fed::Nothing, "s.sh");
    }
    for words in [&["env", "./tool"][..], &["nohup", "timeout", "5", "./tool"]] {
        is_refused_once_changed(&place, words, &program, Fed::Nothing, "tool");
    }
}

#[test]
fn case_h03_an_answer_is_bound_to_words_directory_environment_and_policy() {
    let place = Place::new();
    place.write("sub/file", "");
    let environment = |value: &str| {
        vec![(OsString::from("PATH"), OsString::from("/usr/bin:/bin")), ("HOME".into(), value.into())]
    };
    let asked = || place.command(&["cat", "file"]).environment(environment("/a"));
    let wider = Grant::layer(&[Grant::one(Target::Write(absolute(Path::new("/var/tmp"))))]).expect("a grant");
    let other_policy = widened(&place.workspace(), &wider).expect("it resolves");
    let directory = absolute(&place.workspace().join("sub"));
    let others = [
        (place.command(&["cat", "other"]).environment(environment("/a")), "the command"),
        (
            Asked::command(["cat", "file"], directory, place.policy()).environment(environment("/a")),
            "the working directory",
        ),
        (asked().environment(environment("/b")), "the environment"),
        (
            Asked::command(["cat", "file"], absolute(&place.workspace()), other_policy)
                .environment(environment("/a")),
            "the policy",
        ),
        (asked(), ""),
    ];
    for (number, (now, named)) in others.into_iter().enumerate() {
        let session = place.session(&format!("bound-{number}"));
        session.approver(Says::new(Answer::AllowOnce));
        let used = asking(&session, &asked(), async |decided| {
            decided
                .pass
                .expect("allowed")
                .consume(&now)
                .await
                .map(drop)
                .map_err(|refused| refused.to_string())
        });
        match named {
            "" => used.expect("the very same is accepted"),
            named => {
                assert!(used.as_ref().is_err_and(|refused| refused.contains(named)), "{named}: {used:?}")
            }
        }
    }
}

fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
}
