//! What is about files: which lines are a denial, of what, and which are not.

use super::*;

#[test]
fn a_known_text_about_what_the_policy_blocks_and_permissions_allow_is_a_denial() {
    use Effect::*;
    use Layer::*;
    let rows: Vec<Row> = vec![
        (
            "bwrap",
            "touch: cannot touch '/new/x': Read-only file system",
            Some((FsWrite, Mount, write("/new/x"), precreate("/new/x"))),
        ),
        (
            "bwrap",
            "touch: cannot touch '/etc/x': Read-only file system",
            Some((FsWrite, Mount, write("/etc/x"), Some(write("/etc/x")))),
        ),
        (
            "bwrap",
            "mkdir: cannot create directory '/new/d': Read-only file system",
            Some((FsWrite, Mount, write("/new/d"), Some(write("/new")))),
        ),
        (
            "bwrap",
            "mkdir: cannot create directory '/srv/d': Read-only file system",
            Some((FsWrite, Mount, write("/srv/d"), Some(write("/srv")))),
        ),
        (
            "bwrap",
            "rm: cannot remove '/srv/f': Read-only file system",
            Some((FsWrite, Mount, write("/srv/f"), Some(write("/srv")))),
        ),
        (
            "bwrap",
            "chmod: changing permissions of '/srv/f': Read-only file system",
            Some((FsMetadata, Mount, write("/srv/f"), Some(write("/srv/f")))),
        ),
        ("bwrap", "cat: /etc/shadow: Permission denied", Some((FsHide, Mount, read("/etc/shadow"), None))),
        (
            "bwrap",
            "cat: /home/u/.ssh/id: No such file or directory",
            Some((FsHide, Mount, read("/home/u/.ssh/id"), None)),
        ),
        (
            "bwrap",
            "/bin/sh: 1: cannot create .envrc: Read-only file system",
            Some((FsCarveOut, Mount, write("/ws/.envrc"), Some(write("/ws/.envrc")))),
        ),
        (
            "bwrap",
            "touch: cannot touch '/work/.envrc': Read-only file system",
            Some((FsCarveOut, Mount, write("/ws/.envrc"), Some(write("/ws/.envrc")))),
        ),
        (
            "bwrap",
            "touch: cannot touch '.git/config': Read-only file system",
            Some((FsCarveOut, Mount, write("/ws/.git/config"), Some(Target::Git("open".into())))),
        ),
        (
            "bwrap",
            "fatal: Unable to create '/ws/locked/.git/index.lock': Read-only file system",
            Some((FsCarveOut, Mount, write("/ws/locked/.git/index.lock"), Some(Target::Git("work".into())))),
        ),
        (
            "bwrap",
            "touch: cannot touch '/ws/locked/.git/hooks/x': Read-only file system",
            Some((FsCarveOut, Mount, write("/ws/locked/.git/hooks/x"), Some(Target::Git("open".into())))),
        ),
        (
            "bwrap",
            "touch: cannot touch '.git/commondir': Read-only file system",
            Some((FsCarveOutNew, Mount, write("/ws/.git/commondir"), Some(Target::Git("open".into())))),
        ),
        (
            "bwrap",
            "mv: cannot move '.git' to 'g': Device or resource busy",
            Some((FsCarveOut, Mount, write("/ws/.git"), Some(Target::Git("open".into())))),
        ),
        (
            "landlock",
            "touch: cannot touch '/etc/x': Permission denied",
            Some((FsWrite, Landlock, write("/etc/x"), Some(write("/etc/x")))),
        ),
        (
            "landlock",
            "touch: cannot touch '/tmp/x': Permission denied",
            Some((FsWrite, Landlock, write("/tmp/x"), Some(write("/tmp/x")))),
        ),
        // Nothing that the policy blocks there.
        ("bwrap", "touch: cannot touch '/ws/x': Permission denied", None),
        ("bwrap", "cat: /ws/x: No such file or directory", None),
        ("bwrap", "cat: /etc/passwd: Permission denied", None),
        ("landlock", "chmod: changing permissions of '/theirs/f': Operation not permitted", None),
        (
            "landlock",
            "chmod: changing permissions of 'tool': Operation not permitted",
            Some((FsSetid, Seccomp, write("/ws/tool"), None)),
        ),
        ("bwrap", "git@h: Permission denied (publickey).", None),
    ];
    for (backend, line, expected) in rows {
        let mut question = Question::of(backend);
        question.host.missing.extend(["/new/x", "/new/d"]);
        question.host.foreign.push("/theirs");
        let judgement = question.ask(line.as_bytes());
        let sure = judgement.denials.iter().find(|denial| denial.certainty == Certainty::Likely);
        match expected {
            None => assert_eq!(
                (judgement.verdict, sure),
                (Verdict::Failed, None),
                "{backend}: {line}: {judgement:?}"
            ),
            Some((effect, layer, target, grant)) => {
                let denial = sure.unwrap_or_else(|| panic!("{backend}: {line}: {judgement:?}"));
                assert_eq!((denial.effect, denial.layer), (effect, Some(layer)), "{backend}: {line}");
                assert_eq!((&denial.target, &denial.grant), (&Some(target), &grant), "{backend}: {line}");
                assert_eq!(judgement.verdict, Verdict::Denied, "{backend}: {line}");
                assert_eq!(denial.evidence.line, Some(Text::from(line)), "{backend}");
                assert_eq!(denial.evidence.source, Seen::Stderr, "{backend}");
            }
        }
    }
}

#[test]
fn what_ordinary_permissions_would_refuse_as_well_is_not_the_sandbox() {
    let mut question = Question::of("bwrap");
    question.host.refused = vec!["/etc", "/home/u/.ssh"];
    question.host.missing = vec!["/none"];
    question.host.foreign = vec!["/ws/theirs"];
    let rows = [
        ("touch: cannot touch '/etc/x': Read-only file system", Because::PlainPermissions),
        ("cat: /etc/shadow: Permission denied", Because::PlainPermissions),
        ("cat: /home/u/.ssh/id: No such file or directory", Because::PlainPermissions),
        ("cat: /none/x: No such file or directory", Because::MissingFile),
        ("touch: cannot touch '/ws/theirs/x': Permission denied", Because::ForeignOwner),
        ("expected 3, found 4", Because::OwnWords),
        ("MemoryError", Because::OutOfMemory),
        ("bash: fork: Cannot allocate memory", Because::OutOfMemory),
    ];
    for (line, because) in rows {
        let judgement = question.ask(line.as_bytes());
        assert_eq!(judgement.denials, vec![], "{line}");
        assert_eq!(
            (judgement.verdict, judgement.not_the_sandbox),
            (Verdict::Failed, Some(because)),
            "{line}"
        );
    }
    assert_eq!(question.ask(b"").not_the_sandbox, None, "silence says nothing");
}

#[test]
fn what_lies_above_a_link_is_above_its_target() {
    let mut question = Question::of("bwrap");
    question.host.links = vec![("/ws/out", "/srv/deep"), ("/etc/in", "../ws/sub"), ("/ws/loop", "loop")];
    question.host.missing = vec!["/ws/none"];
    // By its words it lies in the workspace, and by its words outside.
    let blocked = question.ask(b"touch: cannot touch 'out/../x': Read-only file system");
    assert_eq!(blocked.denials[0].target, Some(write("/srv/x")), "{blocked:?}");
    assert_eq!(blocked.verdict, Verdict::Denied);
    for line in [
        "touch: cannot touch '/etc/in/../x': Permission denied",
        "touch: cannot touch '/ws/none/../../etc/x': No such file or directory",
    ] {
        let judgement = question.ask(line.as_bytes());
        assert_eq!((judgement.verdict, judgement.denials), (Verdict::Failed, vec![]), "{line}");
    }
    let circle = question.ask(b"touch: cannot touch 'loop/x': Read-only file system");
    assert!(circle.denials.iter().all(|denial| denial.certainty == Certainty::Possible), "{circle:?}");
}

#[test]
fn a_link_that_is_removed_is_meant_itself() {
    let mut question = Question::of("bwrap");
    question.host.links = vec![("/ws/out", "/srv/deep"), ("/srv/in", "/ws/sub")];
    let theirs = question.ask(b"rm: cannot remove '/srv/in': Read-only file system");
    assert_eq!(theirs.denials[0].target, Some(write("/srv/in")), "{theirs:?}");
    let ours = question.ask(b"rm: cannot remove '/ws/out': Permission denied");
    assert_eq!(ours.denials, vec![]);
    let through = question.ask(b"touch: cannot touch '/ws/out': Read-only file system");
    assert_eq!(through.denials[0].target, Some(write("/srv/deep")), "{through:?}");
}

#[test]
fn words_of_a_refusal_that_nobody_can_place_are_neither_the_program_s_nor_a_missing_file() {
    let mut question = Question::of("bwrap");
    question.host.missing = vec!["/none", "/ws/none"];
    for line in [
        "cat: /none/x: Permission denied",
        "cat: none: Permission denied",
        "something went wrong: Read-only file system (twice)",
        "etwas ging schief: Das Dateisystem ist nur lesbar!",
    ] {
        let judgement = question.ask(line.as_bytes());
        assert_eq!((judgement.verdict, judgement.not_the_sandbox), (Verdict::Failed, None), "{line}");
    }
    let missing = question.ask(b"cat: /none/x: No such file or directory");
    assert_eq!(missing.not_the_sandbox, Some(Because::MissingFile));
}

#[test]
fn what_programs_say_in_other_languages_is_read() {
    for line in [
        "touch: /etc/x: Das Dateisystem ist nur lesbar",
        "touch: /etc/x: Système de fichiers accessible en lecture seulement",
        "touch: /etc/x: 只读文件系统",
        "PermissionError: [Errno 30] Read-only file system: b'/etc/x'",
        r"OSError: [Errno 30] Read-only file system: '/etc\x2fx'",
    ] {
        let judgement = Question::of("bwrap").ask(line.as_bytes());
        assert_eq!(judgement.verdict, Verdict::Denied, "{line}: {judgement:?}");
        assert_eq!(judgement.denials[0].target, Some(write("/etc/x")), "{line}");
    }
}

#[test]
fn a_denial_beside_other_lines_is_found_and_said_once() {
    let text =
        b"cat: /ws/x: No such file or directory\ntouch: cannot touch '/etc/x': Read-only file system\n\
        touch: cannot touch '/etc/x': Read-only file system\nmake: *** [all] Error 1\n";
    let judgement = Question::of("bwrap").ask(text);
    assert_eq!(judgement.denials.len(), 1, "{judgement:?}");
    assert_eq!((judgement.verdict, judgement.not_the_sandbox), (Verdict::Denied, None));
}

#[test]
fn a_relative_name_starts_where_the_command_goes() {
    let line = b"touch: cannot touch 'new': Read-only file system";
    let here = Question::of("bwrap").ask(line);
    assert_eq!(here.verdict, Verdict::Failed, "the workspace is writable: it is somewhere else");
    assert!(
        here.denials.iter().all(|denial| denial.certainty == Certainty::Possible && denial.target.is_none())
    );
    let there = Question { command: "sh -c cd /srv && touch new", ..Question::of("bwrap") }.ask(line);
    assert_eq!(there.denials[0].target, Some(write("/srv/new")));
    assert_eq!(there.verdict, Verdict::Denied);
}
