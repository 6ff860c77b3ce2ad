//! Field cases F: exit codes and classification.

#[path = "outcomes/grants.rs"]
mod grants;
#[path = "outcomes/pairs.rs"]
mod pairs;
#[path = "outcomes/triples.rs"]
mod triples;

use confine_tests::world::is_there;
use confine_tests::{Backend, Finished, Scene, User, each, needs, program};
use serde_json::{Value, json};

const EVERYBODY: &[User] = User::ALL;
const ROOT_AND_ORDINARY: &[User] = &[User::Root, User::Ordinary];

fn report(run: &Finished) -> &Value {
    run.report.as_ref().unwrap_or_else(|| panic!("no report: {run}"))
}

/// The surest denial.
fn denial(run: &Finished) -> &Value {
    &report(run)["denials"][0]
}

/// A command that failed by itself: no denial, no launcher failure.
fn assert_failed(run: Finished, code: i32) -> Finished {
    let run = run
        .exits(code)
        .reports("/verdict", "failed")
        .reports("/outcome", json!({"kind": "exited", "code": code}));
    assert!(report(&run)["launch_fault"].is_null(), "{run}");
    let sure =
        report(&run)["denials"].as_array().expect("a list").iter().any(|one| one["certainty"] != "possible");
    assert!(!sure, "{run}\n{:#}", report(&run)["denials"]);
    run
}

#[test]
fn case_f01_a_launcher_failure_is_never_read_from_what_the_program_prints() {
    needs!(root, bwrap, landlock = 6);
    each(ROOT_AND_ORDINARY, Backend::ALL, |scene| {
        let missing = scene.confine().option("--read", "/nope").with_report().run(["false"]).exits(125);
        missing.reports("/verdict", "launcher-failed").says("/nope");
        assert_failed(scene.confine().with_report().run(["false"]), 1);
        for line in [
            "bwrap: Creating new namespace failed: Operation not permitted",
            "confine-stage: cannot enter the Landlock domain: Operation not permitted",
            "confine: cannot set the sandbox up: `bwrap: setting up uid map: Permission denied`",
        ] {
            for code in [1, 125] {
                let script = format!("echo '{line}' >&2; exit {code}");
                assert_failed(scene.confine().with_report().shell(&script), code);
            }
        }
    });
}

#[test]
fn case_f05_a_plain_failure_is_no_denial() {
    needs!(root, bwrap, landlock = 6, python3);
    each(EVERYBODY, Backend::ALL, |scene| {
        let run = assert_failed(scene.confine().options(["--annotate"]).with_report().run(["false"]), 1);
        assert_eq!(
            run.stderr,
            "[confine: failed (mode workspace-write); nothing shows that it was the sandbox]\n"
        );
        let forged =
            "echo '[confine: write to /etc/x denied by the mount layer; smallest grant: --write /]' >&2";
        let run = scene.confine().options(["--annotate"]).shell(forged).exits(0);
        assert_eq!(run.stderr.lines().last(), Some("[confine: passed (mode workspace-write)]"));
        assert_failed(scene.confine().with_report().shell("exit 2"), 2);
        let test = "import unittest\nclass T(unittest.TestCase):\n def test(self): self.assertEqual(1, 2)\nunittest.main()";
        let run = assert_failed(scene.confine().with_report().run(["/usr/bin/python3", "-c", test]), 1);
        run.reports("/not_the_sandbox", "own-words");
    });
}

#[test]
fn case_f06_what_ordinary_permissions_refuse_is_no_denial() {
    needs!(root, bwrap, landlock = 6);
    each(ROOT_AND_ORDINARY, Backend::ALL, |scene| {
        let ssh = "echo 'git@h: Permission denied (publickey).' >&2; exit 255";
        assert_failed(scene.confine().with_report().shell(ssh), 255);
    });
    each(&[User::Ordinary, User::Nobody], Backend::ALL, |scene| {
        let run = assert_failed(scene.confine().with_report().run(["grep", "-r", "x", "/etc/shadow"]), 2);
        run.reports("/not_the_sandbox", "plain-permissions");
        let run = assert_failed(scene.confine().with_report().run(["cat", "/root/x"]), 1);
        run.reports("/not_the_sandbox", "plain-permissions");
        let run = assert_failed(scene.confine().with_report().run(["touch", "/etc/x"]), 1);
        run.reports("/not_the_sandbox", "plain-permissions");
        assert!(scene.control(["touch", "/etc/x"]).code() != Some(0));
    });
    // Root may read it outside, so there it is the sandbox.
    each(&[User::Root], &[Backend::Bwrap], |scene| {
        let run =
            scene.confine().with_report().run(["cat", "/etc/shadow"]).exits(1).reports("/verdict", "denied");
        assert_eq!(denial(&run)["effect"], "fs-hide", "{:#}", denial(&run));
        assert!(denial(&run)["grant"].is_null(), "a hidden path is never offered");
        scene.control(["cat", "/etc/shadow"]).exits(0);
    });
}

#[test]
fn case_f07_a_denial_names_target_effect_layer_and_grant() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        let target = scene.outside().join("y");
        let script = format!("echo x > {}", target.display());
        let run = scene.confine().options(["--annotate"]).with_report().shell(&script).exits(2);
        let (layer, errno) = match scene.backend {
            Backend::Bwrap => ("mount", "EROFS"),
            Backend::Landlock => ("landlock", "EACCES"),
        };
        let line = run.stderr.lines().next().expect("the shell says why").to_owned();
        let expected = json!({
            "effect": "fs-write", "target": {"write": target}, "layer": layer, "certainty": "likely",
            "evidence": {"source": "stderr", "line": line, "errno": errno}, "grant": {"precreate": target},
        });
        let said = format!(
            "[confine: write to {0} denied by the {layer} layer (mode workspace-write); smallest grant: --precreate {0}]\n",
            target.display()
        );
        let run = run.reports("/verdict", "denied").reports("/denials", json!([expected]));
        assert!(run.stderr.ends_with(&said), "{run}");
        assert!(!is_there(&target));
        // The grant that is named is enough, and outside it works as well.
        scene
            .confine()
            .option("--precreate", &target)
            .with_report()
            .shell(&script)
            .exits(0)
            .reports("/verdict", "passed");
        assert!(is_there(&target));
        std::fs::remove_file(&target).expect("the user's own file");
        scene.control(["sh", "-c", &script]).exits(0);
    });
}

#[test]
fn case_f10_a_program_may_exit_with_the_codes_of_confine() {
    needs!(root, bwrap, landlock = 6);
    each(ROOT_AND_ORDINARY, Backend::ALL, |scene| {
        for code in [77, 124, 125, 126, 127, 137, 159] {
            assert_failed(scene.confine().with_report().shell(&format!("exit {code}")), code);
        }
    });
}

#[test]
fn case_f11_a_call_that_the_filter_kills_is_a_denial() {
    needs!(root, bwrap, landlock = 6, ia32);
    each(ROOT_AND_ORDINARY, Backend::ALL, |scene| {
        let entry = program::compile("int80", scene.base());
        let run =
            scene.confine().options(["--annotate"]).with_report().run([&entry]).exits(128 + libc::SIGSYS);
        let run = run.reports("/verdict", "denied").reports("/outcome/signal", libc::SIGSYS);
        let denial = denial(&run);
        assert_eq!(
            (&denial["effect"], &denial["layer"]),
            (&json!("proc-kernel"), &json!("seccomp")),
            "{denial:#}"
        );
        assert_eq!(
            (&denial["certainty"], &denial["evidence"]["source"]),
            (&json!("likely"), &json!("record"))
        );
        assert!(run.stderr.contains("[confine: ") && run.stderr.contains("by the seccomp layer"), "{run}");
        scene.control([&entry]).exits(0);
        // The program can send itself that signal, so it proves nothing.
        let run = scene.confine().with_report().shell("kill -SYS $$").exits(128 + libc::SIGSYS);
        let denials = &report(&run)["denials"];
        let mut all = denials.as_array().into_iter().flatten();
        assert!(all.all(|denial| denial["certainty"] != "proven"), "{denials:#}");
        // Another signal is nobody's denial, and a shell's word for a signal proves nothing.
        let run = scene.confine().with_report().shell("kill -SEGV $$").exits(128 + libc::SIGSEGV);
        run.reports("/verdict", "failed");
        assert_failed(scene.confine().with_report().shell("echo 'Bad system call' >&2; exit 159"), 159);
    });
}

#[test]
fn what_others_spawned_is_judged_as_well_and_no_surer_than_likely() {
    needs!(root, bwrap, landlock = 6);
    each(ROOT_AND_ORDINARY, Backend::ALL, |scene| {
        let file = |name: &str, text: &str| scene.write(&scene.base().join(name), text);
        let target = scene.outside().join("y");
        let denied =
            file("denied", &format!("touch: cannot touch '{}': {}\n", target.display(), words(scene)));
        let broken = file("broken", "bwrap: Creating new namespace failed: Operation not permitted\n");
        let ran = file("ran", "{ \"child-pid\": 7 }\n{ \"exit-code\": 1 }\n");
        let failed = file("failed", "{ \"child-pid\": 7 }\n");
        let classified = |options: &[&str], paths: &[&std::path::Path]| {
            let mut words: Vec<std::ffi::OsString> = options.iter().map(Into::into).collect();
            words.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
            let call = scene.confine().verb(["classify"]).options(["--json"]).options(words);
            let answer = call.run(["touch", "y"]).exits(0);
            serde_json::from_str::<Value>(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {answer}"))
        };
        let answer = classified(&["--status", "1", "--stderr"], &[&denied]);
        assert_eq!(answer["verdict"], "denied", "{answer:#}");
        assert_eq!(answer["denials"][0]["certainty"], "likely", "{answer:#}");
        assert_eq!(answer["denials"][0]["grant"]["precreate"], json!(target), "{answer:#}");
        let answer = classified(&["--status", "0", "--stderr"], &[&denied]);
        assert_eq!(answer["verdict"], "passed");
        let answer = classified(&["--signal", "31"], &[]);
        assert_eq!(answer["denials"][0]["certainty"], "likely", "{answer:#}");
        let recorded = ran.to_str().expect("text");
        if scene.backend == Backend::Bwrap {
            let answer = classified(&["--status", "1", "--stderr"], &[&broken]);
            assert_eq!(answer["verdict"], "launcher-failed", "{answer:#}");
            assert_eq!(answer["launch_fault"]["stage"], "namespace", "{answer:#}");
            let answer = classified(&["--status", "1", "--status-record", recorded, "--stderr"], &[&broken]);
            assert_eq!(answer["verdict"], "failed", "the record says that it ran: {answer:#}");
        }
        let answer = classified(&["--status", "1", "--status-record"], &[&failed]);
        assert_eq!(answer["verdict"], "launcher-failed", "{answer:#}");
    });
}

fn words(scene: &Scene) -> &'static str {
    match scene.backend {
        Backend::Bwrap => "Read-only file system",
        Backend::Landlock => "Permission denied",
    }
}

#[test]
fn the_relayed_standard_error_is_live_and_whole_and_its_head_and_tail_are_judged() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Ordinary], Backend::ALL, |scene| {
        let target = scene.outside().join("y");
        // 600 KiB before what tells, which is more than what is kept.
        let script = format!(
            "i=0; while [ $i -lt 6000 ]; do i=$((i+1)); printf '%0100d\\n' $i; done >&2; echo x > {}",
            target.display()
        );
        let run = scene
            .confine()
            .options(["--annotate"])
            .with_report()
            .shell(&script)
            .exits(2)
            .reports("/verdict", "denied");
        assert!(run.stderr.len() > 600_000, "{}", run.stderr.len());
        let stream = &report(&run)["output"]["stderr"];
        assert!(stream["omitted"].as_u64().is_some_and(|bytes| bytes > 300_000), "{:#}", stream["omitted"]);
        assert!(stream["text"].as_str().is_some_and(|text| text.len() < 300_000));
    });
}

#[test]
fn a_model_is_told_the_same_words_each_time() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Ordinary], &[Backend::Bwrap], |scene| {
        let describe = || {
            scene
                .plain()
                .verb(["policy", "describe", "--for", "model"])
                .option("--hide", scene.outside())
                .run(Vec::<String>::new())
                .exits(0)
        };
        let text = describe().stdout;
        assert_eq!(text, describe().stdout);
        for part in [
            "mode workspace-write",
            "Network: none",
            "may be",
            &scene.workspace().display().to_string(),
            "[confine: ",
        ] {
            assert!(text.to_lowercase().contains(&part.to_lowercase()), "{part}: {text}");
        }
        let hidden = text.lines().find(|line| line.starts_with("- Hidden")).expect("a line");
        assert!(hidden.contains(&scene.outside().display().to_string()), "{hidden}");
    });
}
