//! Every wrong call names what is wrong, says what helps, exits 125, and runs nothing.

use crate::call::{answer, confine, text};

/// Words, what the message must name, and what the help must name.
const WRONG: &[(&[&str], &str, &str)] = &[
    (&[], "a command is missing", "--help"),
    (&["--json"], "a command is missing", "--help"),
    (&["--nope"], "there is no option `--nope`", "--help"),
    (&["rnu", "--", "true"], "there is no command `rnu`", ""),
    (&["--probe", "--version"], "does not go with", "--help"),
    (&["--require", "fs-read"], "`--probe` is missing", "--help"),
    (&["run"], "is missing", "`confine run -- COMMAND`"),
    (&["run", "--"], "is missing", "`confine run -- COMMAND`"),
    (&["run", "ls"], "`ls` is out of place", "after `--`"),
    (&["run", "--nope", "--", "true"], "there is no option `--nope`", "--help"),
    (&["run", "--wirte", "x", "--", "true"], "there is no option `--wirte`", "`--write`"),
    (&["run", "--read", "--", "true"], "`--read <PATH>` lacks its value", "--help"),
    (&["run", "--read=", "--", "true"], "`--read <PATH>` lacks its value", "--help"),
    (&["run", "--git", "x", "--", "true"], "`x` is no value for `--git", "work, protect, open"),
    (&["run", "--network", "x", "--", "true"], "`x` is no value for `--network", "off, open"),
    (&["run", "--timeout", "5x", "--", "true"], "`x` is no unit", "`30s`"),
    (&["run", "--timeout", "-5", "--", "true"], "`-5` is no value for `--timeout", "`30s`"),
    (&["run", "--memory", "-1", "--", "true"], "`-1` is no value for `--memory", "`512MiB`"),
    (&["run", "--processes", "-1", "--", "true"], "`-1` is no value for `--processes", "a whole number"),
    (&["run", "--", ""], "the command is empty", "name the program to run"),
    (&["policy", "show", "/nope"], "`/nope`", "name a file that exists"),
    (&["run", "--timeout", "1", "--timeout", "2", "--", "true"], "given twice", "`30s`"),
    (&["run", "--memory", "much", "--", "true"], "`much`", "`512MiB`"),
    (&["run", "--processes", "x", "--", "true"], "`x` is no value for `--processes", "a whole number"),
    (&["run", "--max-output", "1MB", "--", "true"], "`MB` is no unit", "`1MiB`"),
    (&["run", "--accept-missing", "fs-nope", "--", "true"], "`fs-nope` is no effect", "lists every effect"),
    (&["run", "--env", "=x", "--", "true"], "the name is empty", "`NAME=VALUE`"),
    (&["run", "--json", "--tty", "--", "true"], "does not go with", "--help"),
    (&["run", "--cwd", "/nope", "--", "true"], "`--cwd /nope`", "a directory that exists"),
    (&["run", "--workspace", "/etc/passwd", "--", "true"], "`--workspace /etc/passwd`", "a directory"),
    (&["run", "--policy", "wide-open", "--", "true"], "`wide-open` is no built-in policy", "`read-only`"),
    (&["run", "--report", "/nope/r.json", "--", "true"], "`/nope/r.json`", "existing directory"),
    (&["run", "--report", "/", "--", "true"], "`/`", "name a file"),
    (&["run", "--report", "fd:x", "--", "true"], "`fd:x`", "--report fd:3"),
    (&["run", "--report", "fd:-1", "--", "true"], "`fd:-1`", "--report fd:3"),
    (&["run", "--report", "fd:77", "--", "true"], "not open for writing", "3>report.json"),
    (
        &["run", "--backend", "nope", "--", "true"],
        "there is no backend `nope`",
        "`auto`, `bwrap`, `landlock`",
    ),
    (&["plan", "--tty", "--", "true"], "`--tty`", "leave"),
    (&["plan", "--report", "x", "--", "true"], "`--report`", "leave"),
    (&["plan", "--strict", "--", "true"], "`--strict`", "leave"),
    (&["plan", "--annotate", "--", "true"], "`--annotate`", "leave"),
    (&["explain", "read"], "is missing", "--help"),
    (&["explain", "delete", "/"], "`delete` is no value", "read, write, exec, connect"),
    (&["explain", "connect", "example.org"], "`example.org`", "connect example.org:443"),
    (&["explain", "connect", "example.org:x"], "`example.org:x`", "connect example.org:443"),
    (&["explain", "connect", ":80"], "`:80`", "connect example.org:443"),
    (&["classify", "--", "true"], "is missing", "--help"),
    (&["classify", "--status", "1"], "is missing", "`confine run -- COMMAND`"),
    (&["classify", "--status", "1", "--signal", "9", "--", "true"], "does not go with", "--help"),
    (&["classify", "--status", "256", "--", "true"], "`256` is no value for `--status", "--help"),
    (&["classify", "--signal", "0", "--", "true"], "`0` is no value for `--signal", "--help"),
    (&["classify", "--status", "1", "--stderr", "/nope", "--", "true"], "`--stderr /nope`", "can be read"),
    (&["policy", "describe"], "is missing", "--help"),
    (&["policy", "describe", "--for", "nobody"], "`nobody` is no value", "model"),
    (&["plan", "--max-output", "1", "--", "true"], "`--max-output`", "leave"),
    (&["plan", "--ask", "--", "true"], "`--ask`", "leave"),
    (&["run", "--ask", "--tty", "--", "true"], "does not go with", "--help"),
    (&["policy"], "a command is missing", "--help"),
    (&["policy", "show", "nope.toml"], "nope.toml", ""),
    (&["policy", "show", "a.toml", "--policy", "read-only"], "does not go with", "--help"),
    (&["quarantine"], "a command is missing", "--help"),
    (&["quarantine", "restore"], "`<ID>` is missing", "--help"),
    (&["probe", "--require", "x"], "`x` is no effect", "lists every effect"),
    (&["completions", "tcsh"], "`tcsh` is no value", "bash"),
];

/// Words of later versions, and the feature that the message must name.
const LATER: &[(&[&str], &str)] = &[
    (&["run", "--network", "proxy", "--", "true"], "the network proxy"),
    (&["run", "--allow", "example.org", "--", "true"], "the network proxy"),
    (&["run", "--allow=example.org", "--", "true"], "the network proxy"),
    (&["run", "--resolve", "a=b", "--", "true"], "the network proxy"),
    (&["run", "--rules", "x", "--", "true"], "command rules"),
    (&["rules", "explain"], "command rules"),
    (&["plugin", "verify"], "egress tools"),
];

#[test]
fn every_wrong_call_is_125_names_the_mistake_and_says_what_helps() {
    for (words, named, helps) in WRONG {
        let output = answer(words);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(125), "{words:?}: {stderr}");
        assert_eq!(stdout, "", "{words:?}");
        let (mistake, help) = stderr.split_once("\nhelp: ").unwrap_or_else(|| panic!("{words:?}: {stderr}"));
        assert!(mistake.starts_with("confine: cannot "), "{words:?}: {stderr}");
        assert!(mistake.contains(named), "{words:?}: {stderr}");
        assert!(help.contains(helps), "{words:?}: {stderr}");
        assert!(help.ends_with('\n') && help.lines().count() == 1, "{words:?}: {stderr}");
    }
}

#[test]
fn words_of_later_versions_are_refused_by_the_name_of_their_feature() {
    for (words, feature) in LATER {
        let output = answer(words);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{words:?}");
        assert!(
            stderr.contains(feature) && stderr.contains("which this version does not have"),
            "{words:?}: {stderr}"
        );
        assert!(stderr.contains("\nhelp: "), "{words:?}: {stderr}");
    }
}

#[test]
fn hostile_words_cannot_move_the_cursor() {
    let directory = tempfile::tempdir().unwrap();
    let output =
        confine(directory.path()).args(["run", "--timeout", "\x1b[2J\r5x", "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let stderr = text(&output.stderr);
    assert!(!stderr.chars().any(|c| c.is_control() && c != '\n'), "{stderr:?}");
}

#[test]
fn help_and_version_are_answers() {
    for words in [&["--help"][..], &["-h"], &["run", "--help"], &["--version"], &["-V"]] {
        let output = answer(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let script =
        format!("{} man | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_confine"));
    let output = std::process::Command::new("bash")
        .arg("-c")
        .arg(script)
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "0\n");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn an_answer_that_cannot_be_written_is_said() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let output = confine(directory.path()).arg("--version").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("cannot write to stdout"));
}
