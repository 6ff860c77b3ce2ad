//! Field cases A: launcher and probe.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use confine_core::Outcome;
use confine_core::report::OutcomeNote;
use confine_tests::backend::LANDLOCK_LOSSES;
use confine_tests::library::{absolute, builder, workspace_write};
use confine_tests::world::{assert_gone, content, is_there, living, marker, names, within};
use confine_tests::{Backend, Finished, Scene, Stub, User, each, needs, program};
use nix::sys::signal::Signal;
use serde_json::Value;

const EVERYBODY: &[User] = User::ALL;
const ROOT_AND_ORDINARY: &[User] = &[User::Root, User::Ordinary];

/// A run that is a launcher failure by every sign, and left nothing behind.
fn assert_launcher_failed(scene: &Scene, run: Finished) -> Finished {
    let run =
        run.exits(125).reports("/verdict", "launcher-failed").reports("/outcome/kind", "launcher-failed");
    let run = run.reports("/denials", Value::Array(Vec::new())).reports("/refusal", Value::Null);
    assert!(!is_there(&scene.workspace().join("ran")), "the command ran: {run}");
    run
}

/// What the probe says about a backend.
fn probed(scene: &Scene, path: &str, backend: &str) -> Value {
    let probe = scene.plain().verb(["--probe", "--json"]).env("PATH", path).run(Vec::<String>::new());
    let probe: Value = serde_json::from_str(&probe.stdout).unwrap_or_else(|e| panic!("{e} in {probe}"));
    let backends = probe["backends"].as_array().expect("a list of backends").clone();
    backends
        .into_iter()
        .find(|one| one["id"] == backend)
        .unwrap_or_else(|| panic!("no {backend} in {probe:#}"))
}

#[test]
fn case_a01_a_loopback_failure_of_the_launcher_is_125_and_names_the_restriction() {
    needs!(root, bwrap, landlock = 6);
    // The errno words differ between hosts.
    for words in ["Operation not permitted", "No child processes"] {
        let stub = Stub::failing(&format!("bwrap: loopback: Failed RTM_NEWADDR: {words}"));
        each(ROOT_AND_ORDINARY, &[Backend::Bwrap], |scene| {
            let run = scene.confine().env("PATH", stub.path()).with_report().run(["touch", "ran"]);
            let run = assert_launcher_failed(scene, run).says("help:");
            assert!(run.stderr.to_lowercase().contains("apparmor"), "no remedy in {run}");
            // Landlock alone runs it, and the report says what is lost and that the network is still off.
            let landlock = Scene::new(scene.user, Backend::Landlock);
            let run =
                landlock.confine().env("PATH", stub.path()).with_report().run(["touch", "ran"]).exits(0);
            let report = run.report.as_ref().expect("a report");
            assert_eq!(report["backend"], "landlock");
            assert!(is_there(&landlock.workspace().join("ran")));
            assert!(report["missing"].as_array().is_some_and(|missing| !missing.is_empty()), "{report:#}");
        });
    }
}

#[test]
fn case_a01_without_net_admin_the_network_is_off_or_the_run_is_refused() {
    needs!(root, bwrap, unshare);
    each(&[User::Root], &[Backend::Bwrap], |scene| {
        let under = ["unshare", "-Ur", "setpriv", "--bounding-set=-net_admin"];
        let run = scene.confine().under(under).with_report().shell("touch ran; cat /proc/net/dev > devices");
        if run.code() == Some(125) {
            assert_launcher_failed(scene, run).says("help:");
            return;
        }
        run.exits(0).reports("/backend", "bwrap");
        let devices = content(&scene.workspace().join("devices")).expect("it ran");
        let others = devices.lines().skip(2).filter(|line| !line.trim_start().starts_with("lo:")).count();
        assert_eq!(others, 0, "a device besides loopback:\n{devices}");
    });
}

#[test]
fn case_a02_denial_words_of_the_launcher_are_no_denial() {
    needs!(root, bwrap, landlock = 3);
    let stub = Stub::failing("bwrap: setting up uid map: Permission denied");
    each(EVERYBODY, &[Backend::Bwrap], |scene| {
        let run = scene.plain().env("PATH", stub.path()).with_report().run(["touch", "ran"]);
        assert_launcher_failed(scene, run);
        let bwrap = probed(scene, &stub.path(), "bwrap");
        assert_eq!(bwrap["usable"], false, "{bwrap:#}");
        assert!(bwrap["reason"].as_str().is_some_and(|reason| reason.contains("uid map")), "{bwrap:#}");
    });
}

/// In a container that covers a part of `/proc`, the kernel allows no fresh one. Everything is the caller's own.
fn masked(place: &str) -> [String; 6] {
    let script = format!("mount -t tmpfs none {place}; exec \"$@\"");
    ["unshare", "-Urm", "sh", "-c", &script, "sh"].map(str::to_owned)
}

#[test]
fn case_a03_where_a_container_masks_proc_the_run_is_125_with_the_remedy_and_the_probe_says_so() {
    needs!(root, bwrap, landlock = 6, unshare);
    for place in
        ["/proc/bus", "/proc/irq", "/proc/tty"].into_iter().filter(|place| is_there(Path::new(place)))
    {
        let scene = Scene::new(User::Root, Backend::Bwrap);
        let run = scene.confine().under(masked(place)).with_report().run(["touch", "ran"]);
        let run = assert_launcher_failed(&scene, run).says("help:");
        assert!(
            run.stderr.contains("proc = \"host\"") && run.stderr.contains("landlock"),
            "no remedy in {run}"
        );
        // The remedy is true, and what it costs is reported.
        let policy = scene.write(
            &scene.home().join("policy.toml"),
            "version = 1\nextends = \"workspace-write\"\n[filesystem]\nproc = \"host\"\n",
        );
        let mended = scene.confine().options(["--policy".into(), policy]).under(masked(place)).with_report();
        let mended = mended.run(["touch", "ran"]).exits(0);
        let missing = mended.report.as_ref().expect("a report")["missing"].to_string();
        assert!(missing.contains("proc-see") && is_there(&scene.workspace().join("ran")), "{missing}");
        let landlock = Scene::new(User::Root, Backend::Landlock);
        landlock.confine().under(masked(place)).run(["touch", "ran"]).exits(0);
    }
    // The probe tries the very options of a run.
    let scene = Scene::new(User::Root, Backend::Bwrap);
    let probe =
        scene.plain().verb(["--probe", "--json"]).under(masked("/proc/bus")).run(Vec::<String>::new());
    let probe: Value = serde_json::from_str(&probe.exits(0).stdout).expect("an answer");
    let bwrap = probe["backends"].as_array().expect("a list").iter().find(|one| one["id"] == "bwrap");
    let bwrap = bwrap.expect("bwrap");
    assert_eq!(bwrap["usable"], false, "{bwrap:#}");
    assert!(bwrap["reason"].as_str().is_some_and(|reason| reason.contains("proc")), "{bwrap:#}");
    assert!(bwrap["remedy"].as_str().is_some_and(|remedy| remedy.contains("proc = \"host\"")), "{bwrap:#}");
}

#[test]
fn case_a04_exhausted_user_namespaces_are_125_with_the_limit_named() {
    needs!(root, bwrap, landlock = 6, unshare);
    let exhausted =
        ["unshare", "-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"", "sh"];
    each(&[User::Root], &[Backend::Bwrap], |scene| {
        let run = scene.plain().under(exhausted).with_report().run(["touch", "ran"]);
        let run = assert_launcher_failed(scene, run).says("help:");
        assert!(run.stderr.contains("namespaces"), "the limit is not named: {run}");
    });
    each(&[User::Root], &[Backend::Landlock], |scene| {
        let out = scene.outside().join("out");
        let script = format!("touch ran; echo x > {}", out.display());
        scene.confine().under(exhausted).with_report().shell(&script).fails().reports("/backend", "landlock");
        assert!(is_there(&scene.workspace().join("ran")) && !is_there(&out));
    });
}

#[test]
fn case_a05_a_bwrap_that_lacks_an_option_is_not_used() {
    needs!(root, bwrap);
    let stub = Stub::script(
        "case $1 in\n--version) echo bubblewrap 0.4.0; exit 0;;\n\
         --help) echo 'usage: bwrap [OPTIONS...] [--] COMMAND [ARGS...]'; echo '    --unshare-all'; exit 0;;\nesac\n\
         for word; do case $word in --as-pid-1|--disable-userns|--args) echo \"bwrap: Unknown option $word\" >&2; exit 1;; esac; done\n\
         echo 'bwrap: Unknown option --argv0' >&2; exit 1\n",
    );
    each(ROOT_AND_ORDINARY, &[Backend::Bwrap], |scene| {
        let bwrap = probed(scene, &stub.path(), "bwrap");
        assert_eq!(bwrap["usable"], false, "{bwrap:#}");
        let reason = bwrap["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("0.4.0") || reason.contains("Unknown option"), "{bwrap:#}");
        let run = scene.plain().env("PATH", stub.path()).with_report().run(["touch", "ran"]);
        assert_launcher_failed(scene, run);
    });
}

#[test]
fn case_a07_without_any_layer_nothing_runs() {
    needs!(root, cc, landlock = 1);
    each(ROOT_AND_ORDINARY, &[Backend::Landlock], |scene| {
        let wrapper = program::compile("without_landlock", scene.base());
        let wrapper = wrapper.to_str().unwrap();
        let probe = scene.plain().verb(["--probe", "--json"]).under([wrapper]).env("PATH", "/nonexistent");
        let probe = probe.run(Vec::<String>::new()).exits(125);
        let answer: Value = serde_json::from_str(&probe.stdout).unwrap();
        let usable =
            answer["backends"].as_array().unwrap().iter().filter(|one| one["usable"] == true).count();
        assert_eq!(usable, 0, "{answer:#}");
        for confine in [scene.plain(), scene.confine()] {
            let run = confine
                .under([wrapper])
                .env("PATH", "/nonexistent")
                .with_report()
                .run(["/usr/bin/touch", "ran"]);
            assert_launcher_failed(scene, run);
        }
        // The twin: the same with Landlock.
        scene.confine().env("PATH", "/nonexistent").run(["/usr/bin/touch", "ran"]).exits(0);
        assert!(is_there(&scene.workspace().join("ran")));
    });
}

#[test]
fn case_a08_a_bare_truncate_leaves_the_file_as_it_is() {
    needs!(root, bwrap, landlock = 3, python3);
    each(EVERYBODY, Backend::ALL, |scene| {
        let file = scene.write(&scene.outside().join("O"), "kept");
        let code = format!("import os; os.truncate('{}', 0)", file.display());
        scene.confine().run(["python3", "-c", &code]).fails();
        assert_eq!(content(&file).as_deref(), Some("kept"));
        scene.confine().options(["--write".into(), scene.outside()]).run(["python3", "-c", &code]).exits(0);
        assert_eq!(content(&file).as_deref(), Some(""));
        fs::write(&file, "kept").unwrap();
        scene.control(["python3", "-c", &code]).exits(0);
        assert_eq!(content(&file).as_deref(), Some(""));
    });
}

#[test]
fn case_a08_without_the_accept_list_and_below_the_floor_landlock_refuses() {
    needs!(root, landlock = 3);
    let scene = Scene::new(User::Root, Backend::Landlock);
    let run = scene.plain().option("--backend", "landlock").with_report().run(["touch", "ran"]);
    assert_launcher_failed(&scene, run);

    let mut probe = builder().detect().expect("facts").probe().clone();
    probe.landlock = Ok(2);
    let confine = builder().probe(probe).detect().expect("facts");
    let everything =
        confine_core::Effect::ALL.iter().map(|effect| effect.name()).collect::<Vec<_>>().join(",");
    let policy = workspace_write(&scene.workspace(), &everything);
    let command = confine.command(["touch", "ran"]).cwd(absolute(&scene.workspace())).policy(&policy);
    let refused = command.backend(confine_core::BackendId::new("landlock")).run_blocking();
    assert!(refused.is_err(), "ABI 2 must not run: {refused:?}");
    assert!(!is_there(&scene.workspace().join("ran")));
}

#[test]
fn case_a09_only_the_child_is_restricted_whichever_thread_spawned_it() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Root], Backend::ALL, |scene| {
        let confine = builder().detect().expect("facts");
        let policy = workspace_write(&scene.workspace(), LANDLOCK_LOSSES);
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let elsewhere = scene.outside().join("by-a-thread");
        let bystander = thread::spawn({
            let elsewhere = elsewhere.clone();
            move || {
                wait.recv().unwrap();
                fs::write(elsewhere, "free")
            }
        });
        for round in ["first", "second"] {
            let (confine, policy) = (confine.clone(), policy.clone());
            let (workspace, out) = (scene.workspace(), scene.outside().join(round));
            let id = confine_core::BackendId::new(scene.backend.id());
            let worker = thread::spawn(move || {
                let script = format!("touch {round}; echo x > {}", out.display());
                let command =
                    confine.command(["sh", "-c", &script]).cwd(absolute(&workspace)).policy(&policy);
                command.backend(id).run_blocking().expect("it spawns")
            });
            let report = worker.join().unwrap();
            assert!(matches!(report.outcome, OutcomeNote::Exited { code } if code != 0), "{report:?}");
            assert!(is_there(&scene.workspace().join(round)));
            assert!(!is_there(&scene.outside().join(round)), "the child was not restricted");
        }
        go.send(()).unwrap();
        bystander.join().unwrap().expect("a thread of the host is as free as before");
        fs::write(scene.outside().join("by-main"), "free").expect("and so is the main thread");
        assert_eq!(content(&elsewhere).as_deref(), Some("free"));
    });
}

/// `confine run … -- confine run … -- echo ran`, `depth` times.
fn nested(scene: &Scene, depth: usize) -> Finished {
    let confine = confine_tests::installation::confine();
    let read_only = ["--policy", "read-only"];
    let mut words: Vec<std::ffi::OsString> = Vec::new();
    for _ in 1..depth {
        words.extend([confine.clone().into(), "run".into()]);
        words.extend(scene.backend.options().into_iter().chain(read_only).map(Into::into));
        words.push("--".into());
    }
    words.extend(["echo", "ran"].map(Into::into));
    scene.confine().options(read_only).run(words)
}

#[test]
fn case_a10_the_seventeenth_nested_domain_is_125_and_names_the_depth() {
    needs!(root, landlock = 6);
    each(ROOT_AND_ORDINARY, &[Backend::Landlock], |scene| {
        let deep = nested(scene, 20).exits(125);
        assert_eq!(deep.stdout, "", "it ran unconfined: {deep}");
        let said = deep.stderr.to_lowercase();
        assert!(said.contains("nest") || said.contains("16"), "the depth is not named: {deep}");
        assert_eq!(nested(scene, 16).exits(0).stdout, "ran\n");
    });
}

#[test]
fn case_a11_a_missing_protected_name_under_a_read_only_parent_needs_no_mount() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Nobody, User::Ordinary], Backend::ALL, |scene| {
        let workspace = scene.base().join("roots");
        fs::create_dir(&workspace).unwrap();
        fs::create_dir(workspace.join("repo")).unwrap();
        let run = scene.confine().in_directory(&workspace).run(["ls"]).exits(0);
        assert_eq!(run.stdout, "repo\n");
        assert_eq!(names(&workspace), ["repo"], "the set-up left something");
    });
}

#[test]
fn case_a14_root_keeps_no_capabilities() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        scene.confine().shell("grep ^Cap /proc/self/status > caps").exits(0);
        let caps = content(&scene.workspace().join("caps")).expect("it ran");
        assert_eq!(caps.lines().count(), 5, "{caps}");
        // Only who has CAP_SETPCAP, root or anybody in a namespace of bwrap's, can empty the bounding set; with
        // no_new_privs nothing can be gained from it.
        let bounded = scene.user == User::Root || scene.backend == Backend::Bwrap;
        for line in caps.lines().filter(|line| bounded || !line.starts_with("CapBnd")) {
            assert!(line.ends_with("\t0000000000000000"), "{line}");
        }
    });
}

#[test]
fn case_a14_root_cannot_unmount_or_remount_its_way_out() {
    needs!(root, bwrap, landlock = 6, unshare);
    let attempt = |inside: &Path, outside: &Path| {
        format!(
            "umount ro; echo umount=$? >> log; touch ro/x; echo ro=$? >> log; mount -o remount,rw /; \
             echo remount=$? >> log; mount -o remount,bind,rw /; echo rebind=$? >> log; touch {0}/x /root/{1}; \
             echo out=$? >> log",
            outside.display(),
            inside.file_name().unwrap().to_string_lossy(),
        )
    };
    each(&[User::Root], Backend::ALL, |scene| {
        let kept = scene.directory(&scene.workspace().join("ro"));
        let name = format!("confine-{}", marker());
        let script = attempt(Path::new(&name), &scene.outside());
        // Landlock cannot carve out of a grant; what it has instead is a narrower grant.
        let run = match scene.backend {
            Backend::Bwrap => scene.confine().option("--protect", "ro").shell(&script),
            Backend::Landlock => scene.confine().shell(&script.replace("touch ro/x", "false")),
        };
        let log = content(&scene.workspace().join("log")).unwrap_or_else(|| panic!("no log: {run}"));
        assert_eq!(log.lines().count(), 5, "{log}");
        for line in log.lines() {
            let failed = line.split_once('=').is_some_and(|(_, code)| !matches!(code, "0" | "127"));
            assert!(failed, "{line} in {run}");
        }
        assert_eq!(names(&kept), Vec::<String>::new());
        assert_eq!(names(&scene.outside()), Vec::<String>::new());
        assert!(!is_there(&Path::new("/root").join(&name)));
    });
    // The control: with capabilities, in a mount namespace of its own, the same tools do it.
    let scene = Scene::new(User::Root, Backend::Bwrap);
    scene.directory(&scene.workspace().join("ro"));
    let free = "mount --bind ro ro && mount -o remount,bind,ro ro && ! touch ro/x && umount ro && touch ro/x";
    scene.control(["unshare", "-m", "sh", "-c", free]).exits(0);
    assert_eq!(names(&scene.workspace().join("ro")), ["x"]);
}

#[test]
fn case_a15_a_hidden_directory_is_not_reached_through_another_process() {
    needs!(root, bwrap);
    each(EVERYBODY, &[Backend::Bwrap], |scene| {
        let secret = scene.directory(&scene.base().join("secret"));
        scene.write(&secret.join("name-of-a-secret"), "s3cret");
        let host = std::process::id();
        let script = format!(
            "for pid in 1 {host} self; do ls /proc/$pid/root{0}; ls /proc/$pid/cwd/../secret; done 2>&1; cat {0}/*; exit 0",
            secret.display()
        );
        let run = scene.confine().options(["--hide".into(), secret.clone()]).shell(&script).exits(0);
        assert!(!run.stdout.contains("name-of-a-secret") && !run.stdout.contains("s3cret"), "{run}");
        let control = scene.control(["ls", &format!("/proc/self/root{}", secret.display())]).exits(0);
        assert!(control.stdout.contains("name-of-a-secret"), "{control}");
        let twin = scene.confine().run(["ls", &format!("/proc/self/root{}", secret.display())]).exits(0);
        assert!(twin.stdout.contains("name-of-a-secret"), "{twin}");
    });
}

#[test]
fn case_a16_descriptors_that_the_caller_left_open_are_closed() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        let secret = scene.directory(&scene.base().join("secret"));
        scene.write(&secret.join("secret"), "s3cret");
        let open = format!("exec 7<{0}/secret 8<{0}; exec \"$@\"", secret.display());
        let leaky = ["sh", "-c", &open, "sh"];
        let confine = || scene.confine().options(["--hide".into(), secret.clone()]).under(leaky);
        for script in
            ["cat <&7", "cat /proc/self/fd/7", "cat /proc/self/fd/8/secret", "cat /proc/$PPID/fd/8/secret"]
        {
            let run = confine().shell(script).fails();
            assert!(!run.stdout.contains("s3cret"), "{run}");
        }
        // An exec failure is still told, and what is explicitly there still works.
        confine().run(["no-such-program"]).exits(127);
        let list = confine().shell("ls /proc/self/fd | wc -l").exits(0);
        // 0, 1, 2 and the one that reads the directory.
        assert_eq!(list.stdout.trim(), "4", "{list}");
        let control: Vec<_> =
            leaky.into_iter().chain(["sh", "-c", "cat <&7; cat /proc/self/fd/8/secret"]).collect();
        assert_eq!(scene.control(control).exits(0).stdout, "s3crets3cret");
    });
}

#[test]
fn case_a17_a_run_outlives_the_thread_that_spawned_it() {
    needs!(root, bwrap, landlock = 6);
    each(&[User::Root], Backend::ALL, |scene| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let confine = builder().detect().expect("facts");
        let policy = workspace_write(&scene.workspace(), LANDLOCK_LOSSES);
        let command = confine
            .command(["sh", "-c", "sleep 0.6; touch finished"])
            .cwd(absolute(&scene.workspace()))
            .policy(&policy)
            .backend(confine_core::BackendId::new(scene.backend.id()));
        let handle = runtime.handle().clone();
        let spawner = thread::spawn(move || handle.block_on(command.spawn()).expect("it spawns"));
        let run = spawner.join().expect("the thread ends");
        let report = runtime.block_on(run.wait());
        assert_eq!(report.outcome, OutcomeNote::from(&Outcome::Exited { code: 0 }), "{report:?}");
        assert!(is_there(&scene.workspace().join("finished")));
    });
}

#[test]
fn case_a18_nothing_survives_the_death_of_confine() {
    needs!(root, bwrap, landlock = 6);
    each(EVERYBODY, Backend::ALL, |scene| {
        let marker = marker();
        let script = format!(
            "setsid sleep {marker} & setsid sh -c 'while :; do echo {marker} >> tick; sleep 0.02; done' & sleep {marker}"
        );
        let run = scene.confine().start(["sh", "-c", &script]);
        let tick = scene.workspace().join("tick");
        let sleeping = || living(&marker).iter().filter(|line| line.contains(" sleep ")).count();
        assert!(within(Duration::from_secs(10), || sleeping() >= 2 && is_there(&tick)), "it does not start");
        run.signal(Signal::SIGKILL);
        assert_gone(&marker, Duration::from_secs(2));
        let after = content(&tick);
        thread::sleep(Duration::from_millis(100));
        assert_eq!(content(&tick), after, "written after the death of confine");
        assert_eq!(run.wait().signal(), Some(9));
    });
}
