//! Backends of others, for real: the example around firejail, and small ones that keep or break the protocol.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use confine_core::Effect;
use confine_tests::world::{assert_gone, content, is_there, living, marker, within};
use confine_tests::{Backend, Confine, Finished, Scene, User, each, needs};
use nix::sys::signal::Signal;
use serde_json::json;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/confine-backend-firejail");
/// What the default policy loses with the example, and says so.
const LOSSES: &str = "fs-hide,fs-carve-out-new,net-unix-path-new";
/// firejail takes neither the overflow user nor one who has no entry in the passwd file.
const KNOWN: &[User] = &[User::Root];

/// Puts a program in a place that only root can write, and pins it as the scene's user.
fn pinned(scene: &Scene, name: &str, program: &str) -> PathBuf {
    let path = placed(scene, name, program);
    scene.plain().verb(["backend", "lock"]).options([path.as_os_str()]).run::<&str>([]).exits(0);
    path
}

fn placed(scene: &Scene, name: &str, program: &str) -> PathBuf {
    let path = scene.base().join(format!("confine-backend-{name}"));
    fs::write(&path, program).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn example(scene: &Scene) {
    pinned(scene, "firejail", &fs::read_to_string(EXAMPLE).unwrap());
}

fn by<'a>(scene: &'a Scene, name: &str, losses: &str) -> Confine<'a> {
    quiet();
    scene.plain().options(["--backend", name, "--accept-missing", losses])
}

/// Waits for a moment when other tests have few sockets: each one that listens is masked by an option, and firejail takes
/// 127 words.
fn quiet() {
    let listening = || {
        let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
        table.lines().filter(|line| line.contains(" 00010000 ") && line.contains(" /")).count()
    };
    within(Duration::from_secs(10), || listening() < 40);
}

#[test]
fn the_example_confines_with_firejail_and_the_records_are_the_stage_s() {
    needs!(root, firejail, git);
    each(KNOWN, &[Backend::Bwrap], |scene| {
        example(scene);
        scene.repository(&scene.workspace());
        let out = scene.directory(&scene.outside().join("kept"));
        let script = format!("echo hi > in.txt; echo x > {}/new", out.display());
        let denied = by(scene, "firejail", LOSSES).with_report().shell(&script).fails();
        let denied = denied.reports("/backend", "firejail").reports("/verdict", "denied");
        denied.reports("/denials/0/layer", "mount").reports("/missing/0/effect", "fs-hide");
        assert_eq!(content(&scene.workspace().join("in.txt")).as_deref(), Some("hi\n"));
        assert!(!is_there(&out.join("new")));
        let twin = by(scene, "firejail", LOSSES).options(["--write".as_ref(), out.as_os_str()]);
        twin.shell(&script).exits(0);
        assert_eq!(content(&out.join("new")).as_deref(), Some("x\n"));

        by(scene, "firejail", LOSSES).shell("echo x > .git/hooks/pre-commit").fails();
        by(scene, "firejail", LOSSES).shell("mv .git moved").fails();
        assert!(is_there(&scene.workspace().join(".git/config")));
        // Words and codes like those of a launcher are the program's own.
        let own = by(scene, "firejail", LOSSES).with_report().shell("echo 'Error: mount' >&2; exit 125");
        own.exits(125).reports("/outcome/kind", "exited").reports("/verdict", "failed");
        let signalled = by(scene, "firejail", LOSSES).with_report().shell("kill -SEGV $$");
        signalled.exits(139).reports("/outcome/kind", "signaled");
    });
}

#[test]
fn nothing_outlives_a_run_of_the_example_and_its_time_is_kept() {
    needs!(root, firejail);
    each(KNOWN, &[Backend::Bwrap], |scene| {
        example(scene);
        let marker = marker();
        let script = format!("setsid sh -c 'sleep 600; : {marker}' & sleep 600; : {marker}");
        let run = by(scene, "firejail", LOSSES).options(["--timeout", "1s"]).with_report();
        run.shell(&script).exits(124).reports("/outcome/kind", "timed-out");
        assert_gone(&marker, Duration::from_secs(5));
        let running = by(scene, "firejail", LOSSES).start(["sh", "-c", &script]);
        assert!(within(Duration::from_secs(20), || living(&marker).len() > 1));
        running.signal(Signal::SIGKILL);
        running.wait();
        assert_gone(&marker, Duration::from_secs(5));
    });
}

#[test]
fn auto_never_takes_a_backend_of_others() {
    needs!(root, bwrap, firejail);
    each(KNOWN, &[Backend::Bwrap], |scene| {
        example(scene);
        scene.plain().with_report().run(["true"]).exits(0).reports("/backend", "bwrap");
        // Nor where ours lack something.
        let refused = scene.plain().env("PATH", "/nowhere").run(["/bin/true"]);
        refused.exits(125).says("the bwrap backend is not usable here");
    });
}

#[test]
fn a_policy_that_the_example_has_no_words_for_is_refused_by_name() {
    needs!(root, firejail);
    each(KNOWN, &[Backend::Bwrap], |scene| {
        example(scene);
        let ran = scene.workspace().join("ran");
        scene.plain().options(["--backend", "firejail"]).run(["touch", "ran"]).exits(125).says("fs-hide");
        let words = vec!["x"; 120];
        by(scene, "firejail", LOSSES)
            .run([&["touch", "ran"], &words[..]].concat())
            .exits(125)
            .says("firejail takes 127 words");
        scene.write(
            &scene.base().join("nested.toml"),
            "version = 1\nextends = \"workspace-write\"\n[enforcement]\nnested = true\n",
        );
        let nested = by(scene, "firejail", LOSSES)
            .options(["--policy".as_ref(), scene.base().join("nested.toml").as_os_str()]);
        nested.run(["touch", "ran"]).exits(125).says("no user namespace inside");
        let odd = scene.directory(&scene.outside().join("a*b"));
        let call = by(scene, "firejail", LOSSES).options(["--write".as_ref(), odd.as_os_str()]);
        call.run(["touch", "ran"]).exits(125).says("firejail has no words for the name");
        assert!(!is_there(&ran));
    });
}

/// One that says it enforces everything, and wraps with nothing.
fn liar(scene: &Scene) -> String {
    let launch =
        json!({"launch": {"program": "/usr/bin/env", "options": [], "layers": ["namespace", "mount"]}});
    let all: Vec<&str> = Effect::ALL.iter().map(|effect| effect.name()).collect();
    claiming(scene, &all, &format!("echo '{launch}'"))
        .replace("\"plain\"", "\"liar\"")
        .replace("command\"", "stage\"")
}

/// What the stage and the runner do for every backend whose sandbox starts the stage.
const OF_OURS: &[Effect] = &[
    Effect::FsSetid,
    Effect::FdInherit,
    Effect::FdStdio,
    Effect::ProcPrivilege,
    Effect::IdsMapped,
    Effect::ProcNamespace,
    Effect::ProcKernel,
    Effect::TtyInject,
    Effect::EnvLeak,
    Effect::Orphan,
    Effect::LimitTime,
    Effect::LimitMemory,
    Effect::LimitFileSize,
    Effect::LimitCpu,
    Effect::LimitOpenFiles,
    Effect::NetOther,
];

#[test]
fn the_probe_lists_them_by_attempts_and_catches_one_that_lies() {
    needs!(root, firejail);
    each(KNOWN, &[Backend::Bwrap], |scene| {
        example(scene);
        let path = pinned(scene, "liar", &liar(scene));
        quiet();
        let probe = scene.plain().verb(["probe"]).options(["--json"]).run::<&str>([]).exits(0);
        let found: serde_json::Value = serde_json::from_str(&probe.stdout).unwrap();
        let of = |name: &str| {
            let backends = found["backends"].as_array().unwrap();
            backends.iter().find(|backend| backend["id"] == name).unwrap_or_else(|| panic!("{found}")).clone()
        };
        let firejail = of("firejail");
        assert_eq!(
            (&firejail["usable"], &firejail["contradicted"]),
            (&json!(true), &json!(null)),
            "{firejail}"
        );
        assert_eq!(firejail["effects"]["fs-write"]["status"], "enforced");
        let liar = of("liar");
        assert_eq!(liar["program"], path.to_str().unwrap());
        let caught = liar["contradicted"].to_string();
        for effect in Effect::ALL {
            let status = &liar["effects"][effect.name()]["status"];
            let by_us = OF_OURS.contains(effect) && status == "enforced";
            let nobody = status == "untestable";
            assert!(
                caught.contains(&format!("\"{effect}\"")) || by_us || nobody,
                "{effect} is {status}: {caught}"
            );
        }
        assert_eq!(liar["enforcement"], "partial");
        assert_ne!(found["default"], "liar");
    });
}

/// A backend that answers each verb by its text, and notes that it was asked.
fn script(scene: &Scene, confine: &str) -> String {
    let effects = [
        "fs-hide",
        "fs-write",
        "fs-truncate",
        "fs-rename",
        "fs-metadata",
        "fs-setid",
        "fs-carve-out",
        "fs-device",
        "fd-stdio",
        "net-tcp",
        "net-udp",
        "net-unix-path",
        "net-unix-abstract",
        "net-other",
        "proc-see",
        "proc-signal",
        "proc-trace",
        "proc-privilege",
        "proc-sysctl",
        "proc-namespace",
        "proc-kernel",
        "ipc-sysv",
        "orphan",
    ];
    claiming(scene, &effects, confine)
}

fn claiming(scene: &Scene, effects: &[&str], confine: &str) -> String {
    let describe = json!({"id": "plain", "protocol": 1, "payload": "command", "dialect": DIALECT});
    let enforced = json!({"status": "enforced", "layers": ["namespace", "mount"]});
    let effects: serde_json::Map<_, _> =
        effects.iter().map(|effect| ((*effect).to_owned(), enforced.clone())).collect();
    let governs = json!({"effects": effects});
    let asked = scene.base().join("asked");
    format!(
        "#!/bin/sh\necho $1 >> {}\ncase $1 in\ndescribe) cat <<'E'\n{describe}\nE\n;;\ngoverns) cat <<'E'\n{governs}\nE\n;;\nconfine) {confine}\n;;\nesac\n",
        asked.display()
    )
}

const DIALECT: &str = "id = \"plain\"\ninclude = [\"tools\"]\n[launcher]\nexit-codes = [1]\nprefixes = [\"bwrap: \"]\n\
    [[answer]]\neffect = \"fs-write\"\nlayers = [\"mount\"]\nerrno = [\"EROFS\"]\n";

/// Wraps with bubblewrap, which runs the program itself.
fn bwrap(scene: &Scene, more: &[&str]) -> String {
    let workspace = scene.workspace();
    let workspace = workspace.to_str().unwrap();
    let mut options =
        vec!["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", workspace, workspace];
    options.extend(["--unshare-user", "--unshare-all", "--chdir", workspace]);
    options.extend(more);
    options.push("--");
    let launch = json!({"launch": {"program": "/usr/bin/bwrap", "options": options, "layers": ["namespace", "mount"]}});
    script(scene, &format!("cat <<'E'\n{launch}\nE"))
}

#[test]
fn a_wrapper_that_runs_the_program_itself_is_judged_by_its_exit_status() {
    needs!(root, bwrap);
    // Around the wrapper the stage drops every capability, and root without CAP_SETFCAP cannot map itself.
    each(&[User::Nobody, User::Ordinary], &[Backend::Bwrap], |scene| {
        pinned(scene, "plain", &bwrap(scene, &[]));
        let losses = "fs-carve-out-new,net-unix-path-new";
        let call = || by(scene, "plain", losses).options(["--json"]);
        let out = scene.directory(&scene.outside().join("kept"));
        let script = format!("echo hi > in.txt; echo x > {}/new", out.display());
        let denied = verdict(&call().shell(&script).fails());
        assert_eq!(denied, ("denied".into(), json!("likely"), false));
        assert_eq!(content(&scene.workspace().join("in.txt")).as_deref(), Some("hi\n"));
        assert!(!is_there(&out.join("new")));
        assert_eq!(verdict(&call().shell("exit 7").exits(7)).0, "failed");

        pinned(scene, "plain", &bwrap(scene, &["--ro-bind", "/no/such/place", "/mnt"]));
        let failed = verdict(&call().shell("touch ran").exits(1));
        assert_eq!(failed, ("launcher-failed".into(), json!(null), true));
        assert!(!is_there(&scene.workspace().join("ran")));
    });
}

/// The verdict, the certainty of the first denial, and whether there is a launch fault.
fn verdict(finished: &Finished) -> (String, serde_json::Value, bool) {
    let report: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let verdict = report["verdict"].as_str().unwrap().to_owned();
    (verdict, report["denials"][0]["certainty"].clone(), !report["launch_fault"].is_null())
}

#[test]
fn one_that_breaks_the_protocol_is_refused_by_name_and_nothing_runs() {
    needs!(root, bwrap);
    each(&[User::Root], &[Backend::Bwrap], |scene| {
        let loose = scene.base().join("loose");
        fs::copy("/bin/true", &loose).unwrap();
        fs::set_permissions(&loose, fs::Permissions::from_mode(0o777)).unwrap();
        let inside = scene.workspace().join("wrapper");
        fs::copy("/bin/true", &inside).unwrap();
        let launch = |program: &Path| {
            let launch = json!({"launch": {"program": program, "options": [], "layers": ["mount"]}});
            format!("echo '{launch}'")
        };
        for (answer, named) in [
            ("echo garbage".to_owned(), "answers `confine` with what is no answer: expected value"),
            ("echo '{\"launch\": {}}'".into(), "missing field `program`"),
            ("exec cat /dev/zero".into(), "it writes more than 1048576 bytes"),
            ("echo why >&2; exit 4".into(), "does not answer `confine`: it exits with 4: `why`"),
            ("echo '{\"error\": {\"reason\": \"not today\", \"remedy\": \"wait\"}}'".into(), "not today"),
            (launch(Path::new("/no/such/wrapper")), "it wraps with `/no/such/wrapper`, which is not there"),
            (launch(&loose), "can be written by others"),
            (launch(&inside), "lies in a write grant"),
        ] {
            pinned(scene, "plain", &script(scene, &answer));
            let refused = by(scene, "plain", "fs-carve-out-new,net-unix-path-new").run(["touch", "ran"]);
            refused.exits(125).says(named);
            assert!(!is_there(&scene.workspace().join("ran")), "{named}");
        }
    });
}
