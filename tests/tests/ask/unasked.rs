//! When nobody is asked.

use super::*;

#[test]
fn case_h01_nobody_there_is_refused_at_once_and_never_waits() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, Backend::ALL, |scene| {
        let target = scene.outside().join("y");
        let call = || scene.confine().options(["--ask"]).under(ALONE).with_report();
        let run = call().shell(&writes(&target)).exits(2).reports("/verdict", "denied");
        let run = run.says("approval needed, non-interactive").reports("/refusal/outcome", "unavailable");
        let run = run.reports("/refusal/by", "service").reports("/attempts", json!([]));
        assert!(!is_there(&target));
        // The same call without a denial is none of its business, and takes as long.
        let plain = call().shell("exit 3").exits(3).reports("/refusal", Value::Null);
        assert!(run.took < plain.took + Duration::from_secs(1), "{run}");
        call()
            .option("--precreate", &target)
            .shell(&writes(&target))
            .exits(0)
            .reports("/refusal", Value::Null);
        assert!(is_there(&target));
    });
}

#[test]
fn in_the_background_nobody_is_there_and_the_call_is_not_stopped() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        // timeout(1) puts what it starts into a process group of its own.
        let asked = Asked::new(scene).through("timeout 20 \"$0\" \"$@\"; exit $?");
        let run = asked.shell(&writes(&target)).asks_nothing();
        run.exits(2).reports("/refusal/outcome", "unavailable").says("approval needed, non-interactive");
    });
}

#[test]
fn what_cannot_be_written_down_is_allowed_only_where_the_policy_says_so() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Ordinary], &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        // There can be no directory of sessions.
        let state = scene.directory(&scene.home().join(".local/state/confine"));
        std::fs::set_permissions(&state, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .expect("root may");
        scene.write(&state.join("sessions"), "");
        let run = Asked::new(scene).shell(&writes(&target)).asks_nothing();
        run.exits(2).reports("/refusal/outcome", "unavailable");
        let policy = |audit: &str| {
            let text =
                format!("version = 1\nextends = \"workspace-write\"\n[approval]\naudit = \"{audit}\"\n");
            scene.write(&scene.home().join("audit.toml"), &text)
        };
        let required = Asked::new(scene).option("--policy", policy("required"));
        required.shell(&writes(&target)).asks_nothing().exits(2).reports("/refusal/outcome", "unavailable");
        assert!(!is_there(&target));
        let asking = Asked::new(scene).option("--policy", policy("best-effort")).shell(&writes(&target));
        asking.answers(1, "y\r");
        asking.ends().0.exits(0);
        assert!(is_there(&target));
        scene
            .confine()
            .option("--policy", policy("perhaps"))
            .run(["true"])
            .exits(125)
            .says("`required` or `best-effort`");
    });
}

#[test]
fn without_being_told_nobody_is_asked() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let target = scene.outside().join("y");
        let run = Asked::of(scene.confine()).shell(&writes(&target)).asks_nothing();
        run.exits(2).reports("/verdict", "denied").reports("/refusal", Value::Null);
    });
}

#[test]
fn what_is_hidden_and_what_no_grant_lifts_is_never_offered() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let secret = scene.write(&scene.home().join(".ssh/id"), "secret");
        let run = Asked::new(scene).run(&["cat", &secret.display().to_string()]).asks_nothing();
        run.fails().reports("/refusal", Value::Null).reports("/attempts", json!([]));
        let hidden = scene.write(&scene.outside().join("hidden"), "secret");
        let run = Asked::new(scene).option("--hide", &hidden).run(&["cat", &hidden.display().to_string()]);
        run.asks_nothing().fails().reports("/refusal", Value::Null);
        scene.confine().run([Path::new("cat"), &hidden]).exits(0);
    });
}

#[test]
fn case_f13_a_launcher_failure_never_asks() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, &[Backend::Bwrap], |scene| {
        let stub = Stub::failing("bwrap: Creating new namespace failed: Read-only file system");
        let target = scene.outside().join("y");
        for _ in 0..5 {
            let mut asked = Asked::new(scene);
            asked.confine = asked.confine.env("PATH", stub.path());
            let run = asked.shell(&writes(&target)).asks_nothing();
            run.exits(125).reports("/verdict", "launcher-failed").reports("/refusal", Value::Null);
        }
        let asking = Asked::new(scene).shell(&writes(&target));
        asking.answers(1, "y\r");
        asking.ends().0.exits(0);
    });
}

#[test]
fn a_denied_connection_names_host_and_port_and_is_not_offered() {
    needs!(root, bwrap, landlock = 6);
    each(USERS, Backend::ALL, |scene| {
        // A documentation address: RFC 5737. Nothing is sent there.
        let connect = ["bash", "-c", "echo > /dev/tcp/192.0.2.1/80"];
        let run = Asked::new(scene).run(&connect).asks_nothing();
        let run = run.fails().reports("/verdict", "denied").reports("/refusal", Value::Null);
        let denials = report(&run)["denials"].as_array().expect("a list");
        let named = |denial: &Value| denial["target"] == json!({"connect": "192.0.2.1:80"});
        assert!(denials.iter().any(named), "{denials:#?}");
        assert!(denials.iter().all(|denial| denial["grant"].is_null()), "{denials:#?}");
        assert_eq!(report(&run)["attempts"], json!([]));
    });
}
