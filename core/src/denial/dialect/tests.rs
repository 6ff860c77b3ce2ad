use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn builtin(name: &str) -> &'static Dialect {
    Dialect::builtin(&DialectId::new(name)).unwrap()
}

fn only(name: &str, line: &str) -> Sighting {
    let mut found = builtin(name).read(Stream::Stderr, line.as_bytes());
    assert_eq!(found.len(), 1, "{line}: {found:?}");
    found.remove(0)
}

fn path(text: &str) -> Object {
    Object::Path(text.into())
}

#[test]
fn every_example_is_read_by_its_own_row_of_every_dialect_that_has_it() {
    let mut taken = Vec::new();
    for id in Dialect::names() {
        let rows = builtin(id.as_str()).rows();
        for (number, row) in rows.iter().enumerate() {
            let fits = |other: &Row| {
                let holds = |literal: &str| row.example.contains(literal);
                other.template.literal().is_none_or(holds)
                    && other.captures(row.example.as_bytes(), || row.beside.as_bytes()).is_some()
            };
            let first = rows.iter().position(fits);
            if first != Some(number) {
                taken.push((&row.example, first.map(|first| &rows[first].text)));
            }
        }
    }
    assert!(taken.is_empty(), "{taken:#?}");
}

#[test]
fn every_row_is_answered_in_some_dialect() {
    // Words that tell what a line of socat's leaves out.
    let context = b"UNIX-CONNECT:";
    let read = |row: &Row| {
        let both = format!("{}\n{}\n", row.beside, row.example);
        Dialect::names().any(|id| {
            let found = builtin(id.as_str()).matches(Stream::Stderr, both.as_bytes(), context);
            found.iter().any(|(found, _)| found.text == row.text)
        })
    };
    let silent: Vec<_> =
        builtin("bwrap").rows().iter().filter(|row| !read(row)).map(|row| &row.text).collect();
    assert_eq!(silent, [""; 0]);
}

#[test]
fn a_read_only_tree_is_a_write_refused_by_the_mount_layer() {
    let found = only("bwrap", "touch: cannot touch '/srv/ro/it'\\''s': Read-only file system\n");
    assert_eq!((found.effect, found.attempt, found.errno), (Effect::FsWrite, Attempt::Create, Some("EROFS")));
    assert_eq!(found.layers, [Layer::Mount]);
    assert_eq!(found.object, path("/srv/ro/it's"));
    assert_eq!(found.tool, "coreutils");
}

#[test]
fn the_same_words_mean_another_layer_elsewhere() {
    let found = only("landlock", "cat: /srv/secret/key: Permission denied");
    assert_eq!((found.effect, found.attempt), (Effect::FsWrite, Attempt::Open));
    assert_eq!(found.layers, [Layer::Landlock]);
    assert_eq!(only("bwrap", "cat: /srv/secret/key: Permission denied").effect, Effect::FsHide);
}

#[test]
fn a_rename_names_both_paths() {
    let found = only("landlock", "mv: cannot move '/srv/ro/f.txt' to '/srv/ws/zz.txt': Permission denied");
    assert_eq!(found.object, path("/srv/ws/zz.txt"));
    assert_eq!(found.from, Some("/srv/ro/f.txt".into()));
}

#[test]
fn hosts_and_processes_are_captured() {
    let found =
        only("bwrap", "curl: (7) Failed to connect to ::1 port 80 after 0 ms: Couldn't connect to server");
    assert_eq!(found.object, Object::Host("::1:80".into()));
    assert_eq!(found.layers, [Layer::Namespace]);
    assert_eq!(
        only("landlock", "bash: line 1: kill: (77) - Operation not permitted").object,
        Object::Process(77)
    );
    let found = only("bwrap", "(Could not resolve host: index.crates.io)");
    assert_eq!(found.object, Object::Host("index.crates.io".into()));
}

#[test]
fn a_line_near_by_tells_the_path() {
    let cargo = "error: failed to create directory `/ro/target`\n\nCaused by:\n  Read-only file system (os error 30)\n";
    let found = only("bwrap", cargo);
    assert_eq!((found.attempt, found.object), (Attempt::MakeDirectory, path("/ro/target")));
    let npm = "npm error code EACCES\nnpm error syscall mkdir\nnpm error path /ro/node_modules\n";
    assert_eq!(only("landlock", npm).object, path("/ro/node_modules"));
}

#[test]
fn the_command_tells_what_a_line_leaves_out() {
    let line = b"PermissionError: [Errno 13] Permission denied";
    let told = |context: &[u8]| builtin("landlock").read_beside(Stream::Stderr, line, context).remove(0);
    assert_eq!(told(b"socket.create_connection(('127.0.0.1',1))").effect, Effect::NetTcp);
    assert_eq!(told(b"s.bind(('127.0.0.1',1))").attempt, Attempt::Bind);
}

#[test]
fn other_languages_and_kernel_settings_are_read_too() {
    let found = only("bwrap", "Fehler: [Errno 30] Das Dateisystem ist nur lesbar: '/srv/ro/x'");
    assert_eq!((found.effect, found.object), (Effect::FsWrite, path("/srv/ro/x")));
    let found = only("bwrap", "sh: 1: cannot create /proc/sys/kernel/core_pattern: Read-only file system");
    assert_eq!(found.effect, Effect::ProcSysctl);
}

#[test]
fn words_of_a_program_s_own_are_no_sighting() {
    for line in [
        "git@h: Permission denied (publickey).",
        "AssertionError: 1 != 2",
        "error: the sandbox denied nothing, permission is fine",
        "I was denied permission",
        "EACCESS granted",
    ] {
        assert_eq!(builtin("bwrap").read(Stream::Stderr, line.as_bytes()), [], "{line}");
        assert_eq!(builtin("landlock").read(Stream::Stderr, line.as_bytes()), [], "{line}");
    }
}

#[test]
fn launcher_failures_are_told_by_exit_code_and_prefix_never_by_words() {
    let bwrap = builtin("bwrap");
    let line = b"bwrap: loopback: Failed RTM_NEWADDR: No child processes";
    assert_eq!(
        bwrap.launcher_failure(1, b"x\nbwrap: loopback: Failed RTM_NEWADDR: No child processes\n"),
        Some(&line[..])
    );
    assert_eq!(bwrap.launcher_failure(2, line), None);
    assert_eq!(bwrap.launcher_failure(1, b"echo bwrap: no"), None);
    assert_eq!(builtin("landlock").launcher_failure(1, b"confine-stage: cannot x"), None);
    assert!(builtin("landlock").launcher_failure(125, b"confine-stage: cannot x").is_some());
}

#[test]
fn informational_lines_are_removed_by_exact_equality() {
    let text = "id = 'x'\n[launcher]\nexit-codes = [1]\nprefixes = ['w: ']\ninformational = ['w: hello']\n";
    let dialect = Dialect::parse(text).unwrap();
    assert_eq!(dialect.launcher_failure(1, b"w: hello\n"), None);
    assert_eq!(dialect.launcher_failure(1, b"w: hello \n"), Some(&b"w: hello "[..]));
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_key() {
    let error = |text: &str| Dialect::parse(text).unwrap_err().to_string();
    assert_eq!(
        error("id = 'x'\nfoo = 1\n"),
        "line 2: `foo`: unknown field `foo`, expected one of `id`, `source`, `include`, `launcher`, `row`, `answer`, `context`"
    );
    let row = "id = 'x'\n[[row]]\ntool = 't'\nattempt = 'read'\nexample = ''\ntext = 'a {nope}'\n";
    assert!(error(row).starts_with("line 6: `row[0].text`: `{nope}` is no slot"), "{}", error(row));
    let answer = "id = 'x'\n[[answer]]\neffect = 'fs-read'\nlayers = []\nerrno = ['ENOPE']\n";
    assert!(error(answer).starts_with("line 5: `answer[0].errno`: `ENOPE`"), "{}", error(answer));
    assert!(error("id = 'x'\ninclude = ['y']\n").starts_with("line 2: `include`: `y`"));
}

/// Far above what either takes, even unoptimised on a busy machine; what is quadratic takes minutes.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_mebibyte_of_hostile_output_is_read_in_time_and_yields_a_bounded_answer() {
    let literals: String = builtin("bwrap").rows().iter().map(|row| row.example.as_str()).collect();
    let lines: String = (0..30_000).map(|number| format!("x: /p{number}: Permission denied\n")).collect();
    for output in [
        "Permission denied: ".repeat(10_000),
        "[Errno 30] ".repeat(20_000),
        "'''''''''''Read-only file system".repeat(6_000),
        format!("{literals}\n").repeat(8),
        format!("{literals} x").repeat(8),
        lines,
        "\n".repeat(1 << 20),
        "bwrap: x".repeat(1 << 17),
    ] {
        let started = Instant::now();
        let found = builtin("bwrap").read_beside(Stream::Stderr, output.as_bytes(), b"sh");
        assert!(found.len() <= SIGHTING_BOUND);
        assert!(found.iter().all(|one| one.line.as_os_str().len() <= LINE_BOUND));
        let _ = builtin("bwrap").launcher_failure(1, output.as_bytes());
        let begins: String = output.chars().take(40).collect();
        assert!(started.elapsed() < PATIENCE, "{:?} for `{begins}`…", started.elapsed());
    }
}

#[test]
fn the_first_and_the_last_of_many_are_kept() {
    let output: String = (0..500).map(|number| format!("cat: /p{number}: Permission denied\n")).collect();
    let found = builtin("landlock").read(Stream::Stderr, output.as_bytes());
    assert_eq!(found.len(), SIGHTING_BOUND);
    assert_eq!(found.first().unwrap().object, path("/p0"));
    assert_eq!(found.last().unwrap().object, path("/p499"));
}

#[test]
fn a_line_that_is_repeated_costs_no_work_that_another_needs() {
    let same = format!("touch: cannot touch '/etc/{}': Read-only file system\n", "a".repeat(900));
    let other = "mkdir: cannot create directory '/opt/x': Read-only file system\n";
    let output = [&same.repeat(500), other, &same.repeat(1000)].concat();
    let found = builtin("bwrap").read(Stream::Stderr, output.as_bytes());
    assert!(found.iter().any(|one| one.object == path("/opt/x")), "{} sightings", found.len());
}

#[test]
fn a_repeated_line_is_read_with_what_is_around_it() {
    let dialect = builtin("bwrap");
    let row = dialect.rows().iter().find(|row| !row.beside.is_empty()).unwrap();
    let far = "nothing of that kind\n".repeat(200);
    let output = [row.example.as_str(), "\n", &far, &row.example, "\n", &row.beside, "\n"].concat();
    let found = dialect.matches(Stream::Stderr, output.as_bytes(), b"");
    assert!(found.iter().any(|(found, _)| found.text == row.text), "{found:?}");
}

proptest! {
    #[test]
    fn no_output_panics(output: Vec<u8>, context: Vec<u8>, exit: u8) {
        for id in Dialect::names() {
            let dialect = builtin(id.as_str());
            prop_assert!(dialect.read_beside(Stream::Stderr, &output, &context).len() <= SIGHTING_BOUND);
            let _ = dialect.launcher_failure(exit, &output);
        }
    }

    #[test]
    fn no_mixture_of_known_lines_panics(picks in proptest::collection::vec((0usize..200, "[ -~]{0,9}|\n|\r|\u{1b}\\[1m"), 0..12)) {
        let dialect = builtin("bwrap");
        let line = |(pick, noise): &(usize, String)| {
            let row = &dialect.rows()[pick % dialect.rows().len()];
            format!("{noise}{}{noise}", row.example)
        };
        let output: String = picks.iter().map(line).collect();
        for found in dialect.read(Stream::Stdout, output.as_bytes()) {
            prop_assert!(found.line.as_os_str().len() <= LINE_BOUND);
        }
    }

    #[test]
    fn no_text_panics_the_parser(text: String) {
        let _ = Dialect::parse(&text);
    }
}
