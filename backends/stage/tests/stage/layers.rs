//! Each layer denies, and its twin with one more grant does not.

use std::process::Command;

use confine_stage::{Resource, Rule, Ruleset, status::Record};

use crate::rig::{BWRAP, Directory, Launch, ORDINARY, STAGE, everywhere, init, status, supervisor};

/// Every right of ABI 1, read rights among them.
const HANDLED: u64 = 0x1fff;
/// EXECUTE, READ_FILE, READ_DIR.
const READ: u64 = 0xd;
/// WRITE_FILE.
const WRITE: u64 = 0x2;

fn ruleset(rules: &[(u64, &str)]) -> Ruleset {
    let rules = rules.iter().map(|(access, path)| Rule { access: *access, path: path.into() }).collect();
    Ruleset { handled_fs: HANDLED, handled_net: 0, scoped: 0, rules }
}

const SYSTEM: [(u64, &str); 4] =
    [(READ, "/usr"), (READ, "/etc"), (READ, "/proc"), (WRITE | 0x4, "/dev/null")];

#[test]
fn a_write_outside_the_rules_is_denied_and_inside_is_not() {
    for mut launch in everywhere() {
        let directory = Directory::new("landlock");
        let file = directory.file("file", "old", 0o666);
        let path = directory.0.to_str().unwrap().to_owned();
        let script = format!("echo new > {file}");

        let mut rules = SYSTEM.to_vec();
        rules.push((READ, &path));
        launch.plan.landlock = Some(ruleset(&rules));
        let output = launch.output(&["sh", "-c", &script]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("Permission denied"), "{output:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");

        rules.push((WRITE, &path));
        launch.plan.landlock = Some(ruleset(&rules));
        let output = launch.output(&["sh", "-c", &script]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new\n");
    }
}

#[test]
fn the_program_is_in_a_domain_of_its_own_and_the_supervisor_is_not() {
    let mut launch = supervisor();
    launch.plan.landlock = Some(Ruleset { scoped: 0x2, ..ruleset(&SYSTEM) });
    let (_, output) = launch.records(&["sh", "-c", "kill -TERM $PPID; kill -KILL $PPID; exit 6"]);
    assert_eq!(output.status.code(), Some(6), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr).matches("not permitted").count(), 2, "{output:?}");
}

#[test]
fn a_redirected_file_can_be_opened_anew_with_stdio_access_and_not_without() {
    let directory = Directory::new("stdio");
    let file = directory.file("out", "", 0o666);
    let script = "exec \"$@\" 1>>\"$OUT\"";
    for (access, code, contents) in [(None, 2, ""), (Some(WRITE), 0, "x\n")] {
        let mut launch = supervisor();
        launch.plan.landlock = Some(ruleset(&SYSTEM));
        launch.plan.stdio_access = access;
        let output = Command::new("sh")
            .args(["-c", script, "sh", &STAGE])
            .args(launch.plan.encode())
            .args(["--", "sh", "-c", "echo x >> /dev/stdout"])
            .env("OUT", &file)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), contents);
    }
}

#[test]
fn stdio_access_takes_pipes_and_sockets_as_they_are() {
    let mut launch = supervisor();
    launch.plan.landlock = Some(ruleset(&SYSTEM));
    launch.plan.stdio_access = Some(WRITE);
    let output = launch.output(&["sh", "-c", "echo x > /dev/stdout"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"x\n"[..]), "{output:?}");
}

#[test]
fn the_scratch_directory_is_writable_and_its_neighbour_is_not() {
    let directory = Directory::new("neighbour");
    let mut launch = supervisor();
    launch.plan.landlock = Some(ruleset(&SYSTEM));
    launch.plan.scratch = Some(Rule { access: HANDLED, path: directory.join("tmp-").into() });
    let script = format!("echo x > $TMPDIR/x && cat $TMPDIR/x && echo x > {}", directory.join("y"));
    let output = launch.output(&["sh", "-c", &script]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b"x\n"[..]), "{output:?}");
    assert_eq!(std::fs::read_dir(&directory.0).unwrap().count(), 0);
}

/// `struct sock_filter` records: `call` answers `action`, all else is allowed.
fn filter(call: libc::c_long, action: u32) -> Vec<u8> {
    let record = |code: u16, jt: u8, jf: u8, k: u32| {
        [&code.to_ne_bytes()[..], &[jt, jf], &k.to_ne_bytes()[..]].concat()
    };
    let call = u32::try_from(call).unwrap();
    [
        record(0x20, 0, 0, 0),
        record(0x15, 0, 1, call),
        record(0x06, 0, 0, action),
        record(0x06, 0, 0, 0x7fff_0000),
    ]
    .concat()
}

#[test]
fn a_filtered_call_is_refused_or_kills_and_its_twin_passes() {
    let cases = [
        (filter(libc::SYS_uname, 0x0005_0001), 0x100),
        (filter(libc::SYS_uname, 0x8000_0000), 31 | 0x80),
        (filter(libc::SYS_reboot, 0x8000_0000), 0),
    ];
    for (program, expected) in cases {
        for mut launch in everywhere() {
            launch.plan.seccomp = program.clone();
            let (records, _) = launch.records(&["uname"]);
            assert_eq!(status(&records).map(|status| status & !0x80), Some(expected & !0x80), "{records:?}");
        }
    }
}

#[test]
fn no_capability_is_left_and_none_can_be_gained() {
    let script = "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs)' /proc/self/status";
    let expected = "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n\
                    CapAmb:\t0000000000000000\nNoNewPrivs:\t1\n";
    for launch in everywhere() {
        let output = launch.output(&["sh", "-c", script]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
    let output = supervisor().output(&["grep", "^CapBnd", "/proc/self/status"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "CapBnd:\t0000000000000000\n",
        "where the tests run as root"
    );
}

#[test]
fn the_stage_gives_its_own_capabilities_up() {
    let script = "sleep 0.1; grep CapEff /proc/1/status";
    let Some(launch) = init() else { return };
    let output = launch.output(&["sh", "-c", script]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "CapEff:\t0000000000000000\n");
}

#[test]
fn resources_are_limited_and_never_raised() {
    for mut launch in everywhere() {
        launch.plan.rlimits = vec![
            (Resource::Cpu, 100),
            (Resource::FileSize, 1024 * 512),
            (Resource::OpenFiles, 64),
            (Resource::OpenFiles, 1 << 50),
            (Resource::Processes, 99),
        ];
        let output =
            launch.output(&["sh", "-c", "ulimit -t; ulimit -f; ulimit -n; ulimit -H -n; ulimit -H -t"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "100\n1024\n64\n64\n101\n", "{output:?}");
    }
}

#[test]
fn the_limit_of_cpu_time_is_told_by_its_signal() {
    let mut launch = supervisor();
    launch.plan.rlimits = vec![(Resource::Cpu, 1)];
    let (records, _) = launch.records(&["sh", "-c", "while :; do :; done"]);
    assert_eq!(status(&records).map(|status| status & 0x7f), Some(libc::SIGXCPU));
}

#[test]
fn descriptors_above_2_are_closed() {
    for launch in everywhere() {
        let launch = Launch { redirections: "5</etc 9</etc/passwd 8</", ..launch };
        let output = launch.output(&["ls", "/proc/self/fd"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n1\n2\n3\n", "{output:?}");
    }
    let launch = Launch { redirections: "5</etc 9</etc/passwd 8</", ..supervisor() };
    let (_, output) = launch.records(&["ls", "/proc/self/fd"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n1\n2\n3\n", "{output:?}");
}

#[test]
fn the_standard_error_of_the_program_is_another_than_the_launchers() {
    let directory = Directory::new("stderr");
    let file = directory.file("err", "", 0o666);
    for mut launch in everywhere() {
        std::fs::write(&file, "").unwrap();
        launch.plan.stderr = Some(7);
        let mut command = launch.foreign(&["sh", "-c", "echo words >&2; ls /proc/self/fd"]);
        command.env("ERR", &file);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "exec \"$@\" 7>\"$ERR\"", "sh"])
            .arg(command.get_program())
            .args(command.get_args());
        let output = shell.env("ERR", &file).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n1\n2\n3\n");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "words\n");
    }
}

#[test]
fn ignored_signals_and_a_mask_do_not_reach_the_program() {
    for launch in everywhere() {
        let script = "trap '' PIPE TERM USR1; exec \"$@\"";
        let inner = launch.foreign(&["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]);
        let output = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(inner.get_program())
            .args(inner.get_args())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n", "{output:?}");
    }
}

#[test]
fn many_rules_are_quick() {
    let mut launch = supervisor();
    let mut rules = SYSTEM.to_vec();
    rules.extend(std::iter::repeat_n((READ, "/usr/share"), 5_000));
    launch.plan.landlock = Some(ruleset(&rules));
    let begin = std::time::Instant::now();
    let (records, _) = launch.records(&["true"]);
    assert_eq!(status(&records), Some(0));
    assert!(begin.elapsed().as_millis() < 1_000, "{:?}", begin.elapsed());
    assert!(records.contains(&Record::Started));
}

#[test]
fn the_wrappers_are_what_the_tests_take_them_for() {
    assert!(BWRAP.contains(&"--as-pid-1"));
    let output = Command::new(ORDINARY[0]).args(&ORDINARY[1..]).args(["id", "-u"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "12345\n");
}
