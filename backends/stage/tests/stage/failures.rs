//! What fails before the program starts is a 125, by name, and the program never runs.

use std::process::Command;

use confine_stage::{Bound, MESSAGE_PREFIX, Plan, Record, Role, Rule, Ruleset, Step};

use crate::rig::{BWRAP, Directory, Launch, STAGE, everywhere, init, supervisor};

/// Fails at `step`, about `detail`, with and without a control socket, and never runs the program.
fn assert_fails(launch: impl Fn() -> Launch, step: Step, errno: i32, detail: &str) {
    let mark = Directory::new(&format!("mark-{step:?}-{}", detail.len()));
    let command = ["touch", &mark.join("ran")];
    let (records, output) = launch().records(&command);
    let failed = records.iter().find_map(|record| match record {
        Record::Failed { step, errno, detail } => {
            Some((*step, *errno, String::from_utf8_lossy(detail).into_owned()))
        }
        _ => None,
    });
    assert_eq!(failed, Some((step, errno, detail.to_owned())));
    assert!(!records.iter().any(|record| matches!(record, Record::Staged { .. } | Record::Ended { .. })));
    assert_eq!(output.status.code(), Some(125));

    let output = launch().output(&command);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125));
    assert!(text.starts_with(MESSAGE_PREFIX) && text.contains(detail) && text.lines().count() == 1, "{text}");
    assert!(std::fs::read_dir(&mark.0).unwrap().next().is_none(), "the program ran");
}

#[test]
fn a_malformed_plan() {
    for words in [
        &["--nonsense", "--", "true"][..],
        &["--cwd", "/", "true"],
        &["--cwd", "/", "--"],
        &["--", "true"],
        &["--args", "77", "--", "true"],
        &["--args", "x", "--", "true"],
        &["--role", "supervisor", "--cwd", "/", "--control", "77", "--", "true"],
        &["--role", "supervisor", "--cwd", "/", "--stderr", "77", "--", "true"],
        &["--cwd", "/", "--scratch", "0x1", "/tmp/x", "--", "true"],
        &[],
    ] {
        let output = Command::new(STAGE.as_str()).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{words:?}");
        assert!(output.stderr.starts_with(MESSAGE_PREFIX.as_bytes()), "{words:?}: {output:?}");
    }
}

#[test]
fn a_plan_through_a_descriptor() {
    let plan = Plan { role: confine_stage::Role::Supervisor, cwd: "/usr".into(), ..Plan::default() };
    let directory = Directory::new("args");
    let file = directory.join("args");
    std::fs::write(&file, plan.encode_args().unwrap()).unwrap();
    let script = "exec \"$0\" --args 9 -- sh -c 'pwd; ls /proc/self/fd' 9<\"$1\"";
    let output = Command::new("sh").args(["-c", script, &STAGE, &file]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "/usr\n0\n1\n2\n3\n", "{output:?}");
}

#[test]
fn an_init_that_is_not_process_1() {
    let launch = || {
        let mut launch = supervisor();
        launch.plan.role = confine_stage::Role::Init;
        launch
    };
    assert_fails(launch, Step::Process, 0, "not process 1 of a namespace");
}

#[test]
fn a_missing_or_closed_directory() {
    for path in ["/nonexistent/directory", "/etc/passwd"] {
        let errno = if path == "/etc/passwd" { libc::ENOTDIR } else { libc::ENOENT };
        let at = |mut launch: Launch| {
            launch.plan.cwd = path.into();
            launch
        };
        assert_fails(|| at(supervisor()), Step::Verify, errno, path);
        if init().is_some() {
            assert_fails(|| at(init().unwrap()), Step::Verify, errno, path);
        }
    }
}

#[test]
fn a_directory_on_a_standard_descriptor() {
    for (redirections, name) in [("0</etc", "standard input"), ("2</etc", "standard error")] {
        let (records, output) = Launch { redirections, ..supervisor() }.records(&["true"]);
        let detail = format!("{name} is a directory").into_bytes();
        assert_eq!(records, [Record::Failed { step: Step::Stdio, errno: 0, detail }]);
        assert_eq!(output.status.code(), Some(125));
    }
}

#[test]
fn a_directory_as_the_standard_error_of_the_program() {
    let launch = || {
        let mut launch = Launch { redirections: "7</etc", ..supervisor() };
        launch.plan.stderr = Some(7);
        launch
    };
    assert_fails(launch, Step::Stdio, 0, "the program's standard error is a directory");
}

#[test]
fn a_closed_standard_descriptor_is_the_null_device() {
    for launch in everywhere() {
        let launch = Launch { redirections: "0<&- 1>&-", ..launch };
        let output = launch.output(&["sh", "-c", "cat; echo x && ls -l /proc/$$/fd >&2"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.matches("/dev/null").count(), 2, "{text}");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn plain_devices_are_those_of_the_sandbox() {
    // Each descriptor lies on a mount that is in view, and on the host's own it would lie on none.
    let script = "for fd in 0 2; do id=$(awk '/mnt_id/ { print $2 }' /proc/self/fdinfo/$fd) \
                  && grep -c \"^$id .* /dev/\" /proc/self/mountinfo; done; ls -l /proc/$$/fd";
    for launch in everywhere().into_iter().filter(|launch| launch.plan.role == Role::Init) {
        let mut launch = Launch { redirections: "0</dev/zero 7>/dev/full", ..launch };
        launch.plan.stderr = Some(7);
        let text = String::from_utf8(launch.output(&["sh", "-c", script]).stdout).unwrap();
        assert!(text.starts_with("1\n1\n"), "{text}");
        assert!(text.contains("0 -> /dev/zero") && text.contains("2 -> /dev/full"), "{text}");
    }
    for (device, word) in [("/dev/zero", "0<"), ("/dev/null", "0<")] {
        let script = "head -c 2 | wc -c; echo x >&0 || echo refused";
        let redirections: &'static str = format!("{word}{device}").leak();
        let output = Launch { redirections, ..supervisor() }.output(&["sh", "-c", script]);
        let count = if device == "/dev/zero" { "2" } else { "0" };
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{count}\nrefused\n"), "as it was open");
    }
}

#[test]
fn a_mask_that_does_not_mask() {
    let directory = Directory::new("mask");
    let file = directory.file("secret", "secret", 0o644);
    for path in [directory.0.to_str().unwrap(), &file, "/dev/zero", "/dev/shm"] {
        let launch = || {
            let mut launch = supervisor();
            launch.plan.masked = vec!["/dev/null".into(), path.into()];
            launch
        };
        if path == "/dev/shm" {
            std::fs::write(format!("/dev/shm/confine-stage-test-{}", std::process::id()), "x").unwrap();
        }
        assert_fails(launch, Step::Verify, 0, path);
    }
    let moved_away = || {
        let mut launch = supervisor();
        launch.plan.masked = vec!["/nonexistent".into()];
        launch
    };
    assert_fails(moved_away, Step::Verify, libc::ENOENT, "/nonexistent");
    let _ = std::fs::remove_file(format!("/dev/shm/confine-stage-test-{}", std::process::id()));
}

#[test]
fn a_mask_that_masks() {
    if init().is_none() {
        return;
    }
    let directory = Directory::new("masked");
    let file = directory.file("secret", "secret", 0o644);
    std::fs::create_dir(directory.join("hidden")).unwrap();
    std::fs::create_dir_all(directory.join("hidden/open")).unwrap();
    let output = Command::new("bwrap")
        .args(BWRAP.get(1..).unwrap())
        .args(["--tmpfs", &directory.join("hidden")])
        .args(["--bind", &directory.join("hidden/open"), &directory.join("hidden/open")])
        .args(["--ro-bind", "/dev/null", &file])
        .args([
            STAGE.as_str(),
            "--cwd",
            "/",
            "--masked",
            &file,
            "--masked",
            &directory.join("hidden"),
            "--",
            "true",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

fn seen(path: &str) -> Bound {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::symlink_metadata(path).unwrap();
    Bound { device: metadata.dev(), inode: metadata.ino(), path: path.into() }
}

#[test]
fn a_path_that_is_another_file_than_the_runner_saw() {
    let directory = Directory::new("bound");
    for name in ["there", "elsewhere"] {
        std::fs::create_dir(directory.join(name)).unwrap();
    }
    let there = seen(&directory.join("there"));
    std::os::unix::fs::symlink("elsewhere", directory.join("link")).unwrap();
    let link = Bound { path: directory.join("link").into(), ..there.clone() };
    for mut launch in everywhere() {
        launch.plan.bound = vec![link.clone()];
        assert_fails(move || launch.clone(), Step::Verify, libc::ESTALE, &directory.join("link"));
    }
    // The same file by a rule's own path.
    let mut launch = supervisor();
    launch.plan.bound = vec![there];
    assert_eq!(launch.output(&["true"]).status.code(), Some(0));
}

#[test]
fn mounts_that_are_not_those_of_the_plan() {
    if init().is_none() {
        return;
    }
    let directory = Directory::new("mounts");
    for name in ["n", "elsewhere"] {
        std::fs::create_dir(directory.join(name)).unwrap();
    }
    let (n, elsewhere) = (directory.join("n"), directory.join("elsewhere"));
    let [device, inode] = [seen(&n).device, seen(&n).inode].map(|number| number.to_string());
    let run = |mounts: &[&str], checks: &[&str]| {
        let mut bwrap = Command::new("bwrap");
        bwrap.args(["--unshare-user", "--unshare-pid", "--as-pid-1", "--die-with-parent"]);
        bwrap.args(mounts).args([STAGE.as_str(), "--cwd", "/"]);
        bwrap.args(checks).args(["--", "true"]).output().unwrap().status.code()
    };
    let bound = ["--bound", device.as_str(), inode.as_str(), n.as_str()];
    let checks = [&bound[..], &["--writable", "/dev", "--writable", "/proc", "--writable", &n]].concat();
    let with = |more: &[&str]| {
        let base = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"];
        run(&[&base[..], more].concat(), &checks)
    };
    assert_eq!(with(&["--bind", &n, &n]), Some(0));
    assert_eq!(with(&[]), Some(125), "not mounted");
    assert_eq!(with(&["--bind", &elsewhere, &n]), Some(125), "another directory");
    assert_eq!(with(&["--bind", &n, &n, "--bind", &elsewhere, &elsewhere]), Some(125), "writable elsewhere");
}

#[test]
fn a_rule_or_a_bit_that_the_kernel_does_not_take() {
    let ruleset = |handled_fs, access, path: &str| Ruleset {
        handled_fs,
        handled_net: 0,
        scoped: 0,
        rules: vec![Rule { access, path: path.into() }],
    };
    let cases = [
        (ruleset(0xf, 0x1, "/nonexistent"), libc::ENOENT, "/nonexistent"),
        (ruleset(0xf, 0x8, "/etc/passwd"), libc::EINVAL, "/etc/passwd"),
        (ruleset(1 << 40, 0x1, "/"), libc::EINVAL, "0x10000000000"),
        (ruleset(0xf, 1 << 40, "/"), libc::EINVAL, "0x10000000000"),
        (ruleset(0x1, 0x2, "/etc"), libc::EINVAL, "/etc"),
    ];
    for (ruleset, errno, detail) in cases {
        let launch = || {
            let mut launch = supervisor();
            launch.plan.landlock = Some(ruleset.clone());
            launch
        };
        assert_fails(launch, Step::Landlock, errno, detail);
    }
}

#[test]
fn a_filter_that_is_none() {
    for (program, detail) in [(vec![0; 7], "a part of a record"), (vec![0xff; 8], "seccomp")] {
        let launch = || {
            let mut launch = supervisor();
            launch.plan.seccomp = program.clone();
            launch
        };
        assert_fails(launch, Step::Seccomp, libc::EINVAL, detail);
    }
}

#[test]
fn a_scratch_directory_that_cannot_be_made() {
    let launch = || {
        let mut launch = supervisor();
        launch.plan.scratch = Some(Rule { access: 0x1, path: "/nonexistent/x-".into() });
        launch
    };
    assert_fails(launch, Step::Scratch, libc::ENOENT, "/nonexistent/x-");
}
