use super::*;
use crate::confine::Confine;
use confine_core::denial::DialectId;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use tempfile::TempDir;

/// A backend that answers as its script says, and notes that it ran.
struct Bench {
    top: TempDir,
}

const DIALECT: &str = r#"id = \"jail\""#;
const HONEST: &str = r#"{"id": "jail", "protocol": 1, "dialect": "DIALECT", "payload": "command"}"#;

impl Bench {
    fn new() -> Self {
        Self { top: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().canonicalize().unwrap().join(name)
    }

    fn program(&self) -> PathBuf {
        self.at("confine-backend-jail")
    }

    fn write(&self, path: &Path, script: &str) {
        let text = format!("#!/bin/sh\necho $1 >> {}\n{script}\n", self.at("ran").display());
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Pinned as it is.
    fn pinned(&self, script: &str) -> Foreign {
        self.write(&self.program(), script);
        Foreign::new(locate(self.program().as_os_str(), &Find::default()).unwrap())
    }

    /// Answers each verb with what follows it.
    fn answering(&self, describe: &str, governs: &str, confine: &str) -> Foreign {
        let describe = describe.replace("DIALECT", DIALECT);
        let script = format!(
            "case $1 in describe) cat <<'E'\n{describe}\nE\n;; governs) cat <<'E'\n{governs}\nE\n;; confine) cat <<'E'\n{confine}\nE\n;; esac"
        );
        self.pinned(&script)
    }

    /// Every verb that it was asked.
    fn ran(&self) -> String {
        fs::read_to_string(self.at("ran")).unwrap_or_default().replace('\n', " ")
    }
}

fn probe() -> Probe {
    Confine::detect().unwrap().probe().clone()
}

fn said(foreign: &Foreign) -> String {
    foreign.describe().unwrap_err().to_string()
}

#[test]
fn an_honest_one_is_asked_once_who_it_is_and_once_about_a_host() {
    let bench = Bench::new();
    let governs = r#"{"effects": {"fs-write": {"status": "enforced", "layers": ["mount"]}}}"#;
    let foreign = bench.answering(HONEST, governs, "");
    let probe = Probe { stage: Ok(confine_core::probe::Tool { path: AbsPath::root() }), ..probe() };
    for _ in 0..2 {
        assert!(foreign.governs(&probe)[&Effect::FsWrite].is_enforced());
        assert_eq!(foreign.dialect().unwrap().id(), &DialectId::new("jail"));
    }
    assert_eq!(bench.ran(), "describe governs ");
    let other = Probe { uid: probe.uid + 1, ..probe };
    assert!(foreign.governs(&other)[&Effect::FsWrite].is_enforced());
    assert_eq!(bench.ran(), "describe governs governs ");
}

#[test]
fn what_is_no_answer_is_refused_by_name() {
    let bench = Bench::new();
    for (answer, named) in [
        (
            "garbage",
            "`confine-backend-jail` answers `describe` with what is no answer: expected value at line 1",
        ),
        ("", "EOF while parsing"),
        ("{}", "missing field `id`"),
        (&HONEST.replace("jail", "evil"), "`confine-backend-jail` calls itself `evil`"),
        (&HONEST.replace(": 1", ": 2"), "it speaks protocol 2, and this confine speaks protocol 1"),
        (&HONEST.replace("DIALECT", "nonsense"), "has a dialect that cannot be read: "),
        (&HONEST.replace("command", "nothing"), "unknown variant `nothing`"),
    ] {
        let foreign = bench.answering(answer, "", "");
        let said = said(&foreign);
        assert!(said.contains(named), "{answer}: {said}");
        assert!(foreign.dialect().is_none());
        let governed = foreign.governs(&probe());
        assert!(governed.values().all(|answer| !answer.is_enforced()), "{answer}");
    }
}

#[test]
fn one_that_hangs_crashes_or_floods_is_refused_by_name() {
    let bench = Bench::new();
    let hangs = bench.pinned("sleep 600").with_time_limit(Duration::from_millis(200));
    assert!(said(&hangs).contains("does not answer `describe`: it has not ended within 200ms"));
    assert!(said(&bench.pinned("echo oh no >&2; exit 7")).contains("it exits with 7: `oh no`"));
    assert!(said(&bench.pinned("kill -ABRT $$")).contains("it is ended by SIGABRT"));
    assert!(said(&bench.pinned("exec cat /dev/zero")).contains("it writes more than 1048576 bytes"));
}

#[test]
fn one_that_hangs_is_asked_once_whoever_asks() {
    let bench = Bench::new();
    let limit = Duration::from_millis(300);
    let probe = Probe { stage: Ok(confine_core::probe::Tool { path: AbsPath::root() }), ..probe() };
    let governs =
        format!("case $1 in describe) echo '{}' ;; *) sleep 600 ;; esac", HONEST.replace("DIALECT", DIALECT));
    for (script, asked) in [("sleep 600", "describe "), (&governs, "describe governs ")] {
        let hangs = bench.pinned(script).with_time_limit(limit);
        fs::write(bench.at("ran"), "").unwrap();
        let ask = || hangs.governs(&probe).values().any(Governed::is_enforced);
        std::thread::scope(|scope| {
            let asking: Vec<_> = (0..3).map(|_| scope.spawn(ask)).collect();
            assert!(asking.into_iter().all(|one| !one.join().unwrap()));
        });
        let other = Probe { uid: probe.uid + 1, ..probe.clone() };
        assert!(!hangs.governs(&other)[&Effect::FsWrite].is_enforced());
        assert!(asked.starts_with("describe ") && hangs.dialect().is_none());
        assert_eq!(bench.ran(), asked);
    }
}

#[test]
fn one_that_changed_since_it_was_pinned_is_not_run() {
    let bench = Bench::new();
    let foreign = bench.answering(HONEST, "", "");
    foreign.verify().unwrap();
    bench.write(&bench.program(), "echo other");
    let refused = foreign.describe().unwrap_err();
    assert!(refused.to_string().contains("changed since it was pinned: its sha256 is "), "{refused}");
    assert!(refused.help().contains("`confine backend lock jail`"));
    assert!(matches!(foreign.verify(), Err(ForeignError::Changed { .. })));
    assert_eq!(bench.ran(), "");
}

#[test]
fn one_that_was_exchanged_is_not_run() {
    let bench = Bench::new();
    let foreign = bench.answering(HONEST, "", "");
    bench.write(&bench.at("other"), "echo other");
    fs::rename(bench.program(), bench.at("moved")).unwrap();
    assert!(matches!(foreign.describe(), Err(ForeignError::Gone(_))));
    symlink(bench.at("other"), bench.program()).unwrap();
    assert!(matches!(foreign.describe(), Err(ForeignError::Moved { .. })), "a link");
    fs::remove_file(bench.program()).unwrap();
    symlink(bench.at("moved"), bench.program()).unwrap();
    assert!(matches!(foreign.describe(), Err(ForeignError::Moved { .. })), "a link to the very file");
    fs::remove_file(bench.program()).unwrap();
    fs::create_dir(bench.program()).unwrap();
    assert!(matches!(foreign.describe(), Err(ForeignError::Untrusted(_))), "a directory");
    assert_eq!(bench.ran(), "");
    fs::remove_dir(bench.program()).unwrap();
    fs::rename(bench.at("moved"), bench.program()).unwrap();
    foreign.describe().unwrap();
    assert_eq!(bench.ran(), "describe ", "as it was, it runs");
}

#[test]
fn one_that_others_can_write_or_replace_is_not_run() {
    let bench = Bench::new();
    let foreign = bench.answering(HONEST, "", "");
    let mode = |path: &Path, bits| fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    mode(&bench.program(), 0o775);
    assert!(matches!(foreign.describe(), Err(ForeignError::Untrusted(_))));
    mode(&bench.program(), 0o755);
    mode(&bench.at(""), 0o777);
    assert!(matches!(foreign.describe(), Err(ForeignError::Untrusted(_))));
    mode(&bench.at(""), 0o700);
    mode(&bench.program(), 0o644);
    assert!(matches!(foreign.describe(), Err(ForeignError::Untrusted(_))), "not executable");
    assert_eq!(bench.ran(), "");
}

/// The file is rewritten and exchanged all the time: what runs is what was hashed, or nothing.
#[test]
fn whatever_happens_between_the_check_and_the_start_only_what_was_pinned_runs() {
    let bench = Bench::new();
    let foreign = bench.answering(HONEST, "", "");
    let (program, honest, evil) = (bench.program(), bench.at("honest"), bench.at("evil"));
    fs::copy(&program, &honest).unwrap();
    let marker = bench.at("evil-ran");
    bench.write(&evil, &format!("touch {}; echo x", marker.display()));
    let (good, bad) = (fs::read(&honest).unwrap(), fs::read(&evil).unwrap());
    let done = std::sync::atomic::AtomicBool::new(false);
    let (mut ran, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let aside = bench.at("aside");
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                // In place, by rename, and by a link.
                fs::write(&program, &bad).unwrap();
                fs::write(&program, &good).unwrap();
                let _ = fs::remove_file(&aside);
                symlink(&evil, &aside).unwrap();
                fs::rename(&aside, &program).unwrap();
                fs::copy(&honest, &aside).unwrap();
                fs::rename(&aside, &program).unwrap();
                // Long enough for some starts, too short for others.
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while (ran < 20 || refused < 20) && std::time::Instant::now() < until {
            match Foreign::new(foreign.pin().clone()).describe() {
                Ok(()) => ran += 1,
                Err(_) => refused += 1,
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(!marker.exists(), "after {ran} starts and {refused} refusals");
    assert!(ran >= 20 && refused >= 20, "{ran} starts, {refused} refusals: the race was not run");
}

#[test]
fn a_pin_comes_from_a_file_or_from_the_path() {
    let bench = Bench::new();
    let pin = bench.answering(HONEST, "", "").pin().clone();
    assert_eq!((pin.name.to_string().as_str(), pin.path.as_path()), ("jail", bench.program().as_path()));
    let find = Find { path: bench.at("").into_os_string(), ..Find::default() };
    assert_eq!(locate("jail".as_ref(), &find).unwrap(), pin);
    for (word, named) in [
        ("other", "there is no `confine-backend-other` on PATH"),
        ("bwrap", "confine's own"),
        ("A", "no backend's name"),
        ("/bin/true", "the file `true` is not called `confine-backend-NAME`"),
        ("/nope/confine-backend-x", "`/nope/confine-backend-x` is not there"),
    ] {
        let refused = locate(word.as_ref(), &find).unwrap_err();
        assert!(refused.to_string().contains(named), "{word}: {refused}");
        assert!(!refused.help().is_empty());
    }
    assert_eq!(bench.ran(), "", "pinning runs nothing");
}

#[test]
fn a_script_is_pinned_only_where_its_interpreter_does_not_depend_on_where_it_starts() {
    let bench = Bench::new();
    for (line, fine) in [
        ("#!/bin/sh", true),
        ("#! \t/bin/sh -e", true),
        ("#!bin/sh", false),
        ("#! ./sh", false),
        ("#!", false),
        ("#!\n/bin/sh", false),
    ] {
        fs::write(bench.program(), format!("{line}\n")).unwrap();
        fs::set_permissions(bench.program(), fs::Permissions::from_mode(0o755)).unwrap();
        let found = locate(bench.program().as_os_str(), &Find::default());
        let refused = matches!(found, Err(ForeignError::Interpreter { .. }));
        assert_eq!((found.is_ok(), refused), (fine, !fine), "{line:?}");
    }
}
